"""The interop suite uses the same real ZooKeeper as the integration suite."""

from tests.integration.conftest import zookeeper, zookeeper_connect

__all__ = ["zookeeper", "zookeeper_connect"]
