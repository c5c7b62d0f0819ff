from kafka_zk.record.walker import Columns as Columns
from kafka_zk.record.walker import assign_offsets as assign_offsets
from kafka_zk.record.walker import columns as columns
from kafka_zk.record.walker import decode as decode
from kafka_zk.record.walker import decode_headers as decode_headers
from kafka_zk.record.walker import encode as encode
from kafka_zk.record.walker import plain_header as plain_header
from kafka_zk.record.walker import walk as walk
