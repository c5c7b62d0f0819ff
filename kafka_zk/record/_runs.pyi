from kafka_zk.record.runs import plain_run as plain_run
