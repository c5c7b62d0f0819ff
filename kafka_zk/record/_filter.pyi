from kafka_zk.record.filter import filter_run as filter_run
from kafka_zk.record.filter import find_key as find_key
from kafka_zk.record.filter import map_run as map_run
from kafka_zk.record.filter import put_key as put_key
from kafka_zk.record.filter import put_keys as put_keys
from kafka_zk.record.filter import rewrite as rewrite
from kafka_zk.record.filter import select as select
