"""What becomes of a task whose topic is compacted, loses its beginning, is deleted or made anew between two fetches.

Real fetches of a real log; what happens is done by the broker's own cleaner, retention and orders of the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_zk.spark.jobs.outcome import JobError
from kafka_zk.spark.sources.errors import DataLossError, SourceError
from tests.unit.log.cleaner.given import clean
from tests.unit.log.given import all_records
from tests.unit.spark.copied_topic import State, Target, copied, target
from tests.unit.spark.live_source import LiveFrame, LiveSource

__all__ = ["target"]

COUNT, MIDDLE = 30, 10
Make = Callable[..., LiveSource]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[LiveSource] = []

    def make(**configs: str) -> LiveSource:
        made.append(LiveSource(tmp_path / "log", **configs))
        made[-1].produce(COUNT)
        return made[-1]

    yield make
    for each in made:
        each.close()


def left(source: LiveSource) -> list[int]:
    return [record.offset for record in all_records(source.log)]


@pytest.mark.parametrize("end", [COUNT, 20])
def test_a_task_reads_on_in_what_compaction_leaves(make: Make, end: int) -> None:
    """To the end of its range, also where that lies in a hole by then."""
    source = make(cleanup_policy="compact")
    source.before_fetch_from(MIDDLE, lambda: clean(source.log))
    read = source.offsets(end)
    there = left(source)
    assert len(there) < COUNT
    assert read == [offset for offset in range(end) if offset < MIDDLE or offset in there]


def test_a_copy_of_what_is_compacted_meanwhile_ends_and_goes_on(make: Make, target: Target) -> None:
    """Planned with records that are gone when they are to be sent."""
    source = make(cleanup_policy="compact")
    state, frame = State(), LiveFrame(source, COUNT)
    looks = 0

    def second_look() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            clean(source.log)
        else:
            source.before_fetch_from(MIDDLE, second_look)

    source.before_fetch_from(MIDDLE, second_look)
    with pytest.raises(JobError, match=r"offset 1\d of t-0 was deleted or replaced since this batch was planned"):
        source.run(lambda: copied(state, frame))
    assert looks == 2
    rows = source.run(lambda: copied(state, frame))
    sent = [int(value or b"") for value in target.values]
    assert sent == sorted(set(sent))
    assert set(left(source)) <= set(sent)
    assert [offset + n for _, _, offset, _, count in rows for n in range(count)] == sent


def test_what_retention_takes_before_a_task_is_lost_and_told(make: Make) -> None:
    source = make(retention_bytes="1000", retention_ms="-1")
    source.before_fetch_from(MIDDLE, source.broker.log_manager.clean_up_logs)
    with pytest.raises(DataLossError, match=f"Offsets {MIDDLE} to .* of partition t-0 are gone"):
        source.offsets(COUNT)
    assert MIDDLE < source.log.log_start_offset < COUNT


def test_a_task_that_may_lose_data_reads_all_that_retention_leaves(make: Make) -> None:
    source = make(retention_bytes="1000", retention_ms="-1")
    source.before_fetch_from(MIDDLE, source.broker.log_manager.clean_up_logs)
    read = source.offsets(COUNT, failOnDataLoss="false")
    start = source.log.log_start_offset
    assert MIDDLE < start < COUNT
    assert read == [*range(MIDDLE), *range(start, COUNT)]


@pytest.mark.parametrize("may_lose", ["true", "false"])
def test_a_task_whose_topic_is_deleted_ends_with_a_sentence(make: Make, may_lose: str) -> None:
    source = make()
    source.before_fetch_from(MIDDLE, source.delete)
    with pytest.raises(SourceError, match="t-0"):
        source.offsets(COUNT, failOnDataLoss=may_lose)


def test_a_task_reads_nothing_of_another_topic_of_that_name(make: Make) -> None:
    source = make()
    source.before_fetch_from(MIDDLE, lambda: source.make_anew(COUNT))
    with pytest.raises(DataLossError, match=f"the planned offsets {MIDDLE} to {COUNT - 1} of partition t-0 are gone"):
        source.offsets(COUNT)


def test_nor_where_it_may_lose_data(make: Make) -> None:
    source = make()
    source.before_fetch_from(MIDDLE, lambda: source.make_anew(COUNT))
    assert source.offsets(COUNT, failOnDataLoss="false") == list(range(MIDDLE))
