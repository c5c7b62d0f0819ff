"""Where a batch ends that cuts no transaction, held against a search through all places of random logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.record.batch import BatchHeader, batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from kafka_zk.spark.sources.whole_transactions import whole_end

PLAIN = -1


class Entry(NamedTuple):
    """A batch of a log: of a producer, or PLAIN. `number` is that of the transaction; `outcome` a marker's."""

    producer: int
    first: int
    count: int
    number: int = -1
    outcome: str = ""

    @property
    def next(self) -> int:
        return self.first + self.count


def log_of(steps: Iterable[tuple[str, int, int]]) -> list[Entry]:
    """What producers do, in order: `data` of a transaction, `plain` records, or the end of one."""
    found: list[Entry] = []
    offset, numbers, count = 0, dict[int, int](), 0
    for kind, producer, size in steps:
        if kind == "plain":
            found.append(Entry(PLAIN, offset, size))
        elif kind == "data":
            if producer not in numbers:
                numbers[producer] = count
                count += 1
            found.append(Entry(producer, offset, size, numbers[producer]))
        elif producer in numbers:
            found.append(Entry(producer, offset, 1, numbers.pop(producer), kind))
        else:
            continue
        offset = found[-1].next
    return found


def last_stable_offset(log: Sequence[Entry]) -> int:
    ended = {each.number for each in log if each.outcome}
    open_since = [each.first for each in log if each.number >= 0 and each.number not in ended]
    return min(open_since, default=log[-1].next if log else 0)


def compacted(log: Sequence[Entry], removed: set[int], end: int) -> list[Entry]:
    """Without some batches that are decided; a marker goes with the last batch of its transaction, or stays."""
    left = [each for n, each in enumerate(log) if n not in removed or each.outcome or each.first >= end]
    there = {each.number for each in left if not each.outcome}
    return [each for n, each in enumerate(left) if not each.outcome or each.number in there or n % 2]


def headers(
    log: Iterable[Entry], start: int, end: int, seen: list[int] | None = None
) -> Iterable[tuple[BatchHeader, bool]]:
    log = list(log)
    aborted = {each.number for each in log if each.outcome == "abort"}
    for each in log:
        if each.next <= start or each.first >= end:
            continue
        if seen is not None:
            seen.append(each.first)
        records = [Record(each.first + n, -1, b"", b"") for n in range(each.count)]
        is_control = bool(each.outcome)
        data = build_batch(
            records,
            base_offset=each.first,
            producer_id=each.producer,
            producer_epoch=0,
            base_sequence=-1 if is_control else 0,
            transactional=each.producer != PLAIN,
            control=is_control,
        )
        (batch,) = batches(memoryview(data))
        yield batch.header, each.number in aborted and not is_control


def is_whole(log: Sequence[Entry], start: int, place: int) -> bool:
    """Of each committed transaction with a batch in `start` to `place`, the marker is before `place`, too."""
    committed = {each.number for each in log if each.outcome == "commit"}
    for number in committed:
        marker = next(each.first for each in log if each.number == number and each.outcome)
        data = [each for each in log if each.number == number and not each.outcome]
        if any(start < each.next and each.first < place for each in data) and marker >= place:
            return False
    return True


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("data"), st.integers(1, 3), st.integers(1, 4)),
        st.tuples(st.sampled_from(("commit", "abort")), st.integers(1, 3), st.just(1)),
        st.tuples(st.just("plain"), st.just(0), st.integers(1, 4)),
    ),
    max_size=25,
)


@given(steps=STEPS, removed=st.sets(st.integers(0, 24)), chance=st.randoms(use_true_random=False))
def test_a_batch_ends_at_the_last_whole_place_or_the_first_one(steps, removed, chance) -> None:
    log = log_of(steps)
    end = last_stable_offset(log)
    log = compacted(log, removed, end)
    if end < 2:
        return
    start = chance.randrange(end - 1)
    limit = chance.randrange(start + 1, end + 1)
    found = whole_end(headers(log, start, end), start=start, limit=limit, end=end)
    whole = [place for place in range(start + 1, end + 1) if is_whole(log, start, place)]
    assert found == max([p for p in whole if p <= limit], default=min(whole, default=start))


@given(steps=STEPS, share=st.integers(1, 9))
def test_a_stream_comes_to_the_last_whole_place_in_steps(steps, share) -> None:
    """Each batch begins where the last one ended, so none has a part of a transaction."""
    log = log_of(steps)
    end = last_stable_offset(log)
    position, bounds = 0, [0]
    while position < end:
        limit = min(end, position + share)
        position = whole_end(headers(log, position, end), start=position, limit=limit, end=end)
        if position == bounds[-1]:
            break
        bounds.append(position)
    committed = {each.number for each in log if each.outcome == "commit"}
    for number in committed:
        parts = {
            sum(each.first >= bound for bound in bounds) for each in log if each.number == number and not each.outcome
        }
        assert len(parts) == 1, "a transaction is in two batches"
    assert bounds[-1] == max(place for place in range(end + 1) if is_whole(log, 0, place))


A, B = 1, 2


@pytest.mark.parametrize(
    ("steps", "limit", "expected"),
    [
        # The limit is in the second transaction: it waits for the next batch.
        ([("data", A, 3), ("commit", A, 1), ("data", A, 3), ("commit", A, 1)], 6, 4),
        # The first one is larger than the limit: the batch takes it with its marker.
        ([("data", A, 3), ("commit", A, 1), ("data", A, 3), ("commit", A, 1)], 2, 4),
        # A limit just before a marker is in the transaction.
        ([("data", A, 3), ("commit", A, 1)], 3, 4),
        # Two that overlap are as one.
        ([("data", A, 2), ("data", B, 2), ("commit", A, 1), ("commit", B, 1), ("plain", 0, 9)], 5, 6),
        # One that is open holds those up that overlap with it, and nothing before them.
        ([("plain", 0, 4), ("data", A, 2), ("data", B, 2), ("commit", A, 1)], 6, 4),
        ([("data", A, 2), ("data", B, 2), ("commit", A, 1)], 2, 0),
        # What was aborted, and what is of no transaction, may be divided.
        ([("data", A, 4), ("abort", A, 1), ("plain", 0, 4)], 2, 2),
        ([("data", A, 4), ("abort", A, 1), ("plain", 0, 4)], 7, 7),
    ],
)
def test_the_end(steps: list[tuple[str, int, int]], limit: int, expected: int) -> None:
    log = log_of(steps)
    end = last_stable_offset(log)
    assert limit <= end
    assert whole_end(headers(log, 0, end), start=0, limit=limit, end=end) == expected


def test_no_more_is_read_than_the_end_takes() -> None:
    seen: list[int] = []
    log = log_of([("data", A, 2), ("commit", A, 1)] * 20)
    assert whole_end(headers(log, 0, 60, seen), start=0, limit=7, end=60) == 6
    assert seen == [0, 2, 3, 5, 6]
