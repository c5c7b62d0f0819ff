"""The format `kafka_zk`: topics read and written through a cluster's brokers."""
