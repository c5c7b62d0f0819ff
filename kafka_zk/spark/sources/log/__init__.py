"""The format `kafka_zk_log`: segment files read where they lie, without a broker."""
