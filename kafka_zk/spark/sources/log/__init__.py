"""The format `kafka_zk_log`: reads segment files directly, without a broker."""
