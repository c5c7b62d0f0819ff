from kafka_zk.record.appender import BatchAppender as BatchAppender
