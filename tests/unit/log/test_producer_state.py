from __future__ import annotations

import sys
import tracemalloc
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_zk.log.files import producer_snapshot
from kafka_zk.log.files.producer_snapshot import SnapshotEntry
from kafka_zk.log.state.producer_state import ProducerState
from kafka_zk.protocol.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.control import ControlType, EndTransactionMarker
from kafka_zk.record.produced import Origin

T0 = 1_700_000_000_000
DAY = 86_400_000
COMMIT = EndTransactionMarker(ControlType.COMMIT, 0)
ABORT = EndTransactionMarker(ControlType.ABORT, 0)


def batch(
    sequence: int,
    *,
    count: int = 1,
    producer: int = 1,
    epoch: int = 0,
    transactional: bool = False,
    control: bool = False,
    timestamp: int = T0,
) -> BatchHeader:
    attributes = 0x10 * transactional | 0x20 * control
    return BatchHeader(0, 100, 0, 2, 0, attributes, count - 1, timestamp, timestamp, producer, epoch, sequence, count)


class Log:
    """A log of batches as far as producers care."""

    def __init__(self) -> None:
        self.state = ProducerState("t-0")
        self.end = 0

    def append(self, header: BatchHeader, *, origin: Origin = Origin.CLIENT) -> int:
        first = self.end
        self.state.check(header, first, origin)
        self.state.update(header, first)
        self.end = self.state.map_end_offset = first + header.last_offset_delta + 1
        return first

    def end_transaction(self, marker: EndTransactionMarker, *, producer: int = 1, epoch: int = 0) -> int | None:
        """The last stable offset that the aborted index would record."""
        header = batch(-1, producer=producer, epoch=epoch, transactional=True, control=True)
        self.state.check_marker(header, marker, self.end)
        completed = self.state.update_marker(header, marker, self.end)
        self.end += 1
        if completed is None:
            return None
        stable = self.state.last_stable_offset_after(completed)
        self.state.complete(completed)
        return stable


@pytest.fixture
def log() -> Log:
    return Log()


def test_sequences_follow_one_another(log: Log) -> None:
    log.append(batch(0, count=3))
    log.append(batch(3))
    with pytest.raises(
        OutOfOrderSequenceNumber, match=r"6 \(incoming seq. number\), 3 \(current end sequence number\)"
    ):
        log.append(batch(6))


def test_an_unknown_producer_may_begin_anywhere(log: Log) -> None:
    assert log.append(batch(77)) == 0


def test_after_the_largest_sequence_comes_zero(log: Log) -> None:
    log.append(batch(2**31 - 2, count=2))
    log.append(batch(0))
    log2 = Log()
    log2.append(batch(2**31 - 1, count=3))  # wraps inside the batch: ends with sequence 1
    log2.append(batch(2))
    assert log2.state.find_duplicate(batch(2**31 - 1, count=3)) is not None


def test_a_new_epoch_begins_with_sequence_zero(log: Log) -> None:
    log.append(batch(0))
    with pytest.raises(OutOfOrderSequenceNumber, match="Invalid sequence number for new epoch"):
        log.append(batch(1, epoch=1))
    log.append(batch(0, epoch=1))


def test_an_older_epoch_is_refused(log: Log) -> None:
    log.append(batch(0, epoch=3))
    with pytest.raises(InvalidProducerEpoch, match="smaller than the last seen epoch 3"):
        log.append(batch(1, epoch=2))


def test_a_coordinator_is_held_to_epochs_only(log: Log) -> None:
    log.append(batch(0, epoch=3))
    log.append(batch(9, epoch=3), origin=Origin.COORDINATOR)
    with pytest.raises(InvalidProducerEpoch):
        log.append(batch(10, epoch=2), origin=Origin.COORDINATOR)


def test_the_last_five_batches_are_recognised_when_they_come_again(log: Log) -> None:
    for sequence in range(7):
        log.append(batch(sequence))
    found = [log.state.find_duplicate(batch(sequence)) for sequence in range(8)]
    assert [each.first_offset if each else None for each in found] == [None, None, 2, 3, 4, 5, 6, None]


def test_a_duplicate_has_the_same_epoch_and_both_sequences(log: Log) -> None:
    log.append(batch(0, count=3))
    assert log.state.find_duplicate(batch(0, count=3)) is not None
    assert log.state.find_duplicate(batch(0, count=2)) is None
    assert log.state.find_duplicate(batch(1, count=2)) is None
    assert log.state.find_duplicate(batch(0, count=3, epoch=1)) is None
    assert log.state.find_duplicate(batch(0, count=3, producer=2)) is None


def test_plain_data_may_not_interrupt_a_transaction(log: Log) -> None:
    log.append(batch(0, transactional=True))
    with pytest.raises(InvalidTxnState):
        log.append(batch(1))
    log.end_transaction(COMMIT)
    log.append(batch(1))


def test_the_oldest_open_transaction_is_the_first_unstable_offset(log: Log) -> None:
    log.append(batch(0, producer=9))
    log.append(batch(0, transactional=True))
    log.append(batch(0, producer=2, transactional=True))
    assert log.state.first_unstable_offset == 1
    log.end_transaction(COMMIT)
    assert log.state.first_unstable_offset == 1  # its marker may still be lost
    log.state.on_high_watermark(3)
    assert log.state.first_unstable_offset == 1
    log.state.on_high_watermark(4)
    assert log.state.first_unstable_offset == 2
    log.end_transaction(ABORT, producer=2)
    log.state.on_high_watermark(5)
    assert log.state.first_unstable_offset is None


@example([("write", 0), ("write", 1), ("end", 1), ("move", 5)])
@given(st.lists(st.tuples(st.sampled_from(["write", "end", "move", "restart"]), st.integers(0, 5)), max_size=40))
def test_in_whatever_order_they_begin_and_end_the_oldest_one_counts(steps: list[tuple[str, int]]) -> None:
    log, high_watermark = Log(), 0
    opened: dict[int, int] = {}
    ended: list[tuple[int, int]] = []
    for step, producer in steps:
        if step == "write":
            sequence = log.state.producers[producer].last_sequence + 1 if producer in log.state.producers else 0
            first = log.append(batch(sequence, producer=producer, transactional=True))
            opened.setdefault(producer, first)
        elif step == "end":
            first = opened.pop(producer, -1)
            stable = log.end_transaction(COMMIT, producer=producer)
            assert stable == (None if first < 0 else min(opened.values(), default=log.end))
            if first >= 0:
                ended.append((first, log.end - 1))
        elif step == "move":
            high_watermark = min(log.end, high_watermark + producer)
            log.state.on_high_watermark(high_watermark)
            ended = [each for each in ended if each[1] >= high_watermark]
        else:
            saved = [SnapshotEntry._make(each) for each in log.state.snapshot()]
            log.state.load(saved[producer:] + saved[:producer], log.end, T0, DAY)
            ended = []
        oldest = min([*opened.values(), *(first for first, _ in ended)], default=None)
        assert log.state.first_unstable_offset == oldest
        assert log.state.has_transactions == (oldest is not None)


@pytest.mark.interpreted
def test_however_many_transactions_are_open_the_oldest_one_is_found_at_once(log: Log) -> None:
    """For each produce that all replicas have, and for each marker: no list of them is made."""
    for producer in range(10_000):
        log.append(batch(0, producer=producer, transactional=True))
    header = batch(-1, producer=7, transactional=True, control=True)
    completed = log.state.update_marker(header, ABORT, log.end)
    assert completed is not None
    tracemalloc.start()
    try:
        log.state.on_high_watermark(log.end)
        assert log.state.first_unstable_offset == log.state.last_stable_offset_after(completed) == 0
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 4_096


def test_the_aborted_index_records_what_still_holds_the_last_stable_offset(log: Log) -> None:
    log.append(batch(0, transactional=True))
    log.append(batch(0, producer=2, transactional=True))
    assert log.end_transaction(ABORT, producer=2) == 0
    assert log.end_transaction(ABORT) == 4
    assert log.end_transaction(ABORT) is None  # nothing was written since


def test_a_marker_of_an_older_coordinator_is_fenced(log: Log) -> None:
    log.append(batch(0, transactional=True))
    log.end_transaction(EndTransactionMarker(ControlType.COMMIT, 5))
    with pytest.raises(TransactionCoordinatorFenced):
        log.end_transaction(EndTransactionMarker(ControlType.COMMIT, 4))


def test_a_marker_of_a_newer_epoch_lets_the_producer_begin_again(log: Log) -> None:
    log.append(batch(0, transactional=True))
    log.end_transaction(ABORT, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        log.append(batch(1, transactional=True))


def test_silent_producers_expire_unless_a_transaction_is_open(log: Log) -> None:
    log.append(batch(0))
    log.append(batch(0, producer=2, transactional=True))
    log.state.remove_expired(T0 + DAY - 1, DAY)
    assert set(log.state.producers) == {1, 2}
    log.state.remove_expired(T0 + DAY, DAY)
    assert set(log.state.producers) == {2}


def test_a_snapshot_keeps_the_last_batch_the_epochs_and_the_open_transaction(log: Log) -> None:
    for sequence in range(3):
        log.append(batch(sequence))
    log.append(batch(0, producer=2, epoch=4, transactional=True))
    loaded = ProducerState("t-0")
    loaded.load(map(SnapshotEntry._make, log.state.snapshot()), log.end, T0, DAY)
    assert loaded.map_end_offset == 4
    assert loaded.find_duplicate(batch(2)) is not None
    assert loaded.find_duplicate(batch(1)) is None
    assert loaded.first_unstable_offset == 3
    assert list(loaded.snapshot()) == list(log.state.snapshot())


def test_producers_that_expired_are_left_out_of_a_load(log: Log) -> None:
    log.append(batch(0))
    log.append(batch(0, producer=2, transactional=True))
    loaded = ProducerState("t-0")
    loaded.load(map(SnapshotEntry._make, log.state.snapshot()), log.end, T0 + DAY, DAY)
    assert set(loaded.producers) == {2}


@pytest.mark.interpreted
def test_a_snapshot_costs_two_calls_for_each_producer(log: Log) -> None:
    """A roll takes it on the loop, with all that wait meanwhile."""
    for producer in range(1000):
        log.append(batch(0, producer=producer))
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        producer_snapshot.encode(log.state.snapshot())
    finally:
        sys.setprofile(None)
    assert calls < 2 * 1000 + 20
