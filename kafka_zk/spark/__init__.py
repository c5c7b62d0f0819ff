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
    _redact(session)


def _redact(session: SparkSession) -> None:
    """Options that hold secrets of clients do not show in plans, the UI and the event log."""
    from kafka_zk.spark.client_secrets import REDACTED

    name = "spark.sql.redaction.options.regex"
    given = session.conf.get(name, None)
    if not given or REDACTED not in given:
        session.conf.set(name, f"{given}|{REDACTED}" if given else REDACTED)
