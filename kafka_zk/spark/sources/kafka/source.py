"""KafkaDataSource: the format `kafka_zk`.

Role        What Spark registers. Holds options only: sockets are made where they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from kafka_zk.spark.sources.errors import SourceOptionError
from kafka_zk.spark.sources.kafka.reader import KafkaReader
from kafka_zk.spark.sources.kafka.settings import batch_settings, stream_settings
from kafka_zk.spark.sources.kafka.stream_reader import KafkaStreamReader
from kafka_zk.spark.sources.options import read_flag
from kafka_zk.spark.sources.schema import source_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NAME = "kafka_zk"


class KafkaDataSource(DataSource):
    """Reads and writes topics, with the options and columns of Spark's own connector."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return source_schema(include_headers=read_flag(self.options, "includeHeaders", default=False))

    def reader(self, schema: StructType) -> DataSourceReader:
        self._check(schema)
        return KafkaReader(batch_settings(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        self._check(schema)
        return KafkaStreamReader(stream_settings(self.options))

    def _check(self, schema: StructType) -> None:
        if schema != self.schema():
            raise SourceOptionError(f"The format {NAME} has its own schema, another one cannot be given.")
