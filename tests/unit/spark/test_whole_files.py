"""What Spark is told so that no file is divided among tasks, and small ones share a task."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.spark.jobs.rows_in_order import whole_file_conf

OPEN_COST_BYTES = 4 << 20
MIB = 1 << 20


def split_bytes(sizes: list[int], tasks: int, open_cost_bytes: int = OPEN_COST_BYTES) -> int:
    """How much Spark reads in one piece. Source: Spark 4.2 FilePartition.maxSplitBytes."""
    conf = whole_file_conf(sizes, tasks)
    share = sum(size + open_cost_bytes for size in sizes) // int(conf["spark.sql.files.minPartitionNum"])
    return min(int(conf["spark.sql.files.maxPartitionBytes"]), max(open_cost_bytes, share))


def tasks_of(sizes: list[int], tasks: int) -> int:
    """How many tasks the files come to. Source: Spark 4.2 FilePartition.getFilePartitions."""
    limit, count, held = split_bytes(sizes, tasks), 1, 0
    for size in sorted(sizes, reverse=True):
        if held and held + size > limit:
            count, held = count + 1, 0
        held += size + OPEN_COST_BYTES
    return count


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=40), st.integers(1, 64), st.integers(0, 1 << 24))
def test_no_file_is_divided(sizes: list[int], tasks: int, open_cost_bytes: int) -> None:
    assert split_bytes(sizes, tasks, open_cost_bytes) >= max(sizes)


def test_small_files_share_a_task() -> None:
    assert tasks_of([10_000] * 64, 4) == 4
    assert tasks_of([10_000] * 3, 4) == 3


def test_large_files_have_a_task_each() -> None:
    assert tasks_of([200 * MIB] * 4, 4) == 4
    assert tasks_of([600 * MIB, *[MIB] * 20], 4) == 2
