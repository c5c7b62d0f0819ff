"""The interop suite uses the same real ZooKeeper as the integration suite; its Spark has Spark's own connector, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.integration.conftest import kafka, zookeeper, zookeeper_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["kafka", "zookeeper", "zookeeper_connect"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from tests.support.spark import connector_jars, start_spark

    jars = ",".join(map(str, connector_jars()))
    session = start_spark(tmp_path_factory.mktemp("spark"), **{"spark.jars": jars})
    yield session
    session.stop()
