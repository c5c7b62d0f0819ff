"""kafka_zk: Apache Kafka 3.9 in ZooKeeper mode, in Python."""

__version__ = "0.1.0"
