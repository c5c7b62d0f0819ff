"""KafkaDataSource: the format `kafka_zk`.

Role        What Spark registers. Holds options only: sockets are made where they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from kafka_zk.spark.sources.kafka.reader import KafkaReader
from kafka_zk.spark.sources.kafka.settings import batch_settings, stream_settings
from kafka_zk.spark.sources.kafka.stream_reader import KafkaStreamReader
from kafka_zk.spark.sources.kafka.write_settings import write_settings
from kafka_zk.spark.sources.kafka.writer import KafkaStreamWriter, KafkaWriter
from kafka_zk.spark.sources.record_source import RecordSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class KafkaDataSource(RecordSource):
    """Reads and writes topics, with the options and columns of Spark's own connector."""

    NAME = "kafka_zk"

    def reader(self, schema: StructType) -> DataSourceReader:
        self.check(schema)
        return KafkaReader(batch_settings(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        self.check(schema)
        return KafkaStreamReader(stream_settings(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return KafkaWriter(write_settings(self.options, schema, overwrite=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        # Spark says overwrite for the output mode complete, whose rows replace earlier ones only where the reader
        # takes the last record of a key: as its own connector it is allowed.
        return KafkaStreamWriter(write_settings(self.options, schema, overwrite=False))
