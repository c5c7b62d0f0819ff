"""LogDataSource: the format `kafka_zk_log`.

Role        What Spark registers. Holds options only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader

from kafka_zk.spark.sources.log.reader import LogReader
from kafka_zk.spark.sources.log.settings import log_settings
from kafka_zk.spark.sources.record_source import RecordSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class LogDataSource(RecordSource):
    """Reads segment files of a stopped broker, a copy or a backup, with the columns of `kafka_zk`."""

    NAME = "kafka_zk_log"

    def reader(self, schema: StructType) -> DataSourceReader:
        self.check(schema)
        return LogReader(log_settings(self.options))
