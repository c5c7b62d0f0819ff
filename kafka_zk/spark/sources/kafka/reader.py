"""A batch read of topics.

Role        Plans on the driver, reads in workers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader

from kafka_zk.spark.sources.kafka.planner import Planner
from kafka_zk.spark.sources.kafka.reading import KafkaInputPartition, input_partitions, read_piece
from kafka_zk.spark.sources.kafka.settings import ReadSettings


class KafkaReader(DataSourceReader):
    """Holds settings only."""

    def __init__(self, settings: ReadSettings) -> None:
        self._settings = settings

    def partitions(self) -> list[KafkaInputPartition]:
        """Blocks. Raises SourceError, SourceOptionError, DataLossError."""
        with Planner(self._settings) as planner:
            return input_partitions(*planner.batch_plan())

    def read(self, partition: KafkaInputPartition | None) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        # Without any partition Spark asks for one that is none.
        if not isinstance(partition, KafkaInputPartition):
            return iter(())
        return read_piece(self._settings, partition)
