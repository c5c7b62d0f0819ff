"""Sends rows of files to a topic in file order, also when some were sent before.

Role        Builds plans.
Rule        A task reads whole files, one after the other, and sends them with its own producer: what arrived of a
            file is identified by its mark, and of equal rows of a file the first ones are those that arrived.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MARK = "mark"
DEFAULT_SPLIT_BYTES = 128 << 20
"""Spark's setting: how much it reads in one task, if that is not less than a processor's share."""


def whole_file_conf(sizes: Collection[int], tasks: int) -> dict[str, str]:
    """Settings of Spark's with which it divides none of the files, of so many bytes each, among its tasks.

    It divides what is larger than a task's share of all, or than maxPartitionBytes. Small files share a task.
    """
    largest = max([*sizes, 1])
    return {
        "spark.sql.files.maxPartitionBytes": str(max(largest, DEFAULT_SPLIT_BYTES)),
        "spark.sql.files.minPartitionNum": str(max(1, min(tasks, sum(sizes) // largest))),
    }


def file_mark(batch_mark: str) -> Column:
    """Of rows that are read from files, a name for batch and file, as bytes."""
    from pyspark.sql import functions as F

    return F.concat(F.lit(f"{batch_mark}/"), F.hex(F.xxhash64(F.input_file_name()))).cast("binary")


def unsent(rows: DataFrame, sent: DataFrame, tasks: int) -> DataFrame:
    """`rows` less those that were sent, as often as each is there, each file's in its order and in one task.

    Both have the columns key, value and mark.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    same = ("key", "value", MARK)
    placed = rows.withColumn("position", F.monotonically_increasing_id())
    numbered = placed.withColumn("number", F.row_number().over(Window.partitionBy(*same).orderBy("position")))
    there = sent.groupBy(*same).agg(F.count(F.lit(1)).alias("count")).alias("there")
    alike = F.lit(True)
    for name in same:
        alike = alike & F.col(f"numbered.{name}").eqNullSafe(F.col(f"there.{name}"))
    joined = numbered.alias("numbered").join(there, alike, "left")
    left = joined.where(F.col("number") > F.coalesce("there.count", F.lit(0))).select("numbered.*")
    return left.repartition(tasks, MARK).sortWithinPartitions("position").select(*same)
