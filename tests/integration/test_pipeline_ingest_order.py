"""Files on their way to a topic keep their order, whole and from the middle on. Spark alone, no broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_zk.spark.jobs.rows_in_order import MARK, file_mark, unsent, whole_file_conf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT, TASKS = 3_000, 2
EACH_BYTES = 5


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Iterator[DataFrame]:
    """Two files with the same rows: a number of 4 digits a line, the key its last digit; no more than 4 keys alike."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("".join(f"{number % 1000 + 1000}\n" for number in range(COUNT)))
    # What a file costs to open would hide that it is divided.
    conf = {"spark.sql.files.openCostInBytes": "1", **whole_file_conf([COUNT * EACH_BYTES] * 2, TASKS)}
    for name, value in conf.items():
        spark.conf.set(name, value)
    lines = spark.read.schema("value STRING").csv(str(tmp_path))
    yield lines.selectExpr("substring(value, 4) AS key", "value").withColumn(MARK, file_mark("run/0"))
    for name in conf:
        spark.conf.unset(name)


def files_of(frame: DataFrame) -> list[list[str]]:
    """The values of each file, in the order in which their task has them; fails where a file has two tasks."""
    from pyspark.sql import functions as F

    found: dict[bytes, list[tuple[int, str]]] = {}
    for row in frame.select("value", MARK, F.spark_partition_id()).collect():
        found.setdefault(bytes(row[1]), []).append((row[2], row[0]))
    assert all(len({task for task, _ in values}) == 1 for values in found.values()), "a file in two tasks"
    return [[value for _, value in values] for _, values in sorted(found.items())]


def test_what_is_left_of_a_file_keeps_its_order(rows: DataFrame) -> None:
    whole = files_of(rows)
    assert whole == [[f"{number % 1000 + 1000}" for number in range(COUNT)]] * 2
    first = sorted({bytes(row[0]) for row in rows.select(MARK).distinct().collect()})[0]
    # Of the one file half had arrived, of the other nothing: equal rows of the two are told apart.
    arrived = rows.where(rows[MARK] == first).limit(COUNT // 2)
    left = files_of(unsent(rows, arrived, TASKS))
    assert left == [whole[0][COUNT // 2 :], whole[1]]
