from kafka_zk.record.runs import index_run as index_run
from kafka_zk.record.runs import plain_run as plain_run
