"""The interop suite uses the same real ZooKeeper as the integration suite."""

from tests.integration.conftest import kafka, zookeeper, zookeeper_connect

__all__ = ["kafka", "zookeeper", "zookeeper_connect"]
