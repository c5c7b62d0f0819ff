"""A mirror's table of offsets, as Spark reads it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.spark.jobs.carried_groups import TABLE, read_table
from kafka_zk.spark.jobs.copy_plan import Span

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("has_other", [True, False])
def test_a_table_in_a_folder_whose_name_is_a_pattern_is_read_and_no_other(
    spark: SparkSession, tmp_path: Path, has_other: bool
) -> None:
    for name, target_offset in (("off[1]", 5), *((("off1", 100),) if has_other else ())):
        table = spark.createDataFrame([("t", 0, 0, target_offset, 10, "t")], TABLE)
        table.write.parquet(f"{tmp_path}/{name}/batch=0")
    assert read_table(spark, f"{tmp_path}/off[1]", {}) == {TopicPartition("t", 0): [Span(0, 5, 10)]}
