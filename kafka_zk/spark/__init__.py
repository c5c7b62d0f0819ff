"""PySpark data sources and the jobs of the data pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(session: SparkSession) -> None:
    """Make the formats `kafka_zk` and `kafka_zk_log` known to a session.

    Each session knows its own: one made by `newSession`, or reached from another thread, is registered by itself.
    """
    from kafka_zk.spark.sources.kafka.source import KafkaDataSource
    from kafka_zk.spark.sources.log.source import LogDataSource

    session.dataSource.register(KafkaDataSource)
    session.dataSource.register(LogDataSource)
