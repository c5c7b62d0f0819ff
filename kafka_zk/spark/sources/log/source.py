"""LogDataSource: the format `kafka_zk_log`.

Role        What Spark registers. Holds options only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader

from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.log.reader import LogReader
from kafka_zk.spark.sources.log.settings import log_settings
from kafka_zk.spark.sources.options import read_flag
from kafka_zk.spark.sources.schema import source_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NAME = "kafka_zk_log"


class LogDataSource(DataSource):
    """Reads segment files of a stopped broker, a copy or a backup, with the columns of `kafka_zk`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return source_schema(include_headers=read_flag(self.options, "includeHeaders", default=False))

    def reader(self, schema: StructType) -> DataSourceReader:
        if schema != self.schema():
            raise SourceOptionError(f"The format {NAME} has its own schema, another one cannot be given.")
        return LogReader(log_settings(self.options))
