"""kafka_zk: Apache Kafka 3.9 in ZooKeeper mode, in Python."""

__version__ = "0.1.0"
KAFKA_VERSION = "3.9.1"
"""The Apache Kafka that this is to be taken for."""
