"""How many records are left: what a consumer gets, on logs with holes, markers, cuts and many segments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kafka_zk.clock import SimClock
from kafka_zk.coordinator.lag import record_counts
from kafka_zk.coordinator.lag.record_counts import RecordCounts
from kafka_zk.log.files import header_walk
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from tests.unit.log.cleaner.given import clean
from tests.unit.log.given import T0, Place, all_records, produced, topic_config

PRODUCERS = 3
COMPACTED = topic_config(
    cleanup_policy="compact", segment_bytes=2_000, index_interval_bytes=300, min_cleanable_dirty_ratio="0"
)


def no_pause() -> None:
    """Nobody else is here."""


def counts_of(log: UnifiedLog, counts: RecordCounts, offsets: list[int]) -> dict[int, int | None]:
    counts.begin_look()
    found = {offset: counts.between(log, offset, log.high_watermark) for offset in offsets}
    counts.end_look()
    return found


def truth(log: UnifiedLog, offsets: list[int]) -> dict[int, int]:
    there = [record.offset for record in all_records(log) if record.offset < log.high_watermark]
    return {offset: sum(each >= offset for each in there) for offset in offsets}


class Life:
    """Random things happen to a log. `sequences` are the producers', `is_open` their transactions."""

    def __init__(self, path: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.log = Place(path).open(COMPACTED)
        self.sequences = [0] * PRODUCERS
        self.is_open = [False] * PRODUCERS
        self.checkpoint: int | None = None

    def go_on(self) -> None:
        what = self.random.choices(("write", "end", "roll", "clean", "truncate"), (12, 4, 2, 1, 1))[0]
        getattr(self, what)()
        self.log.update_high_watermark(self.log.log_end_offset)

    def write(self) -> None:
        count = self.random.randint(1, 12)
        keys: list[bytes | None] = [b"%d" % self.random.randrange(6) for _ in range(count)]
        values = ["v" * self.random.randrange(30) for _ in range(count)]
        producer = self.random.randrange(-1, PRODUCERS)
        codec = self.random.choice((Codec.NONE, Codec.NONE, Codec.GZIP))
        if producer < 0:
            batch = produced(*values, keys=keys, codec=codec)
        else:
            sequence = self.sequences[producer]
            batch = produced(*values, keys=keys, producer_id=producer, epoch=0, sequence=sequence, transactional=True)
            self.sequences[producer] += count
            self.is_open[producer] = True
        self.log.append_as_leader(batch, leader_epoch=0)

    def end(self) -> None:
        producer = self.random.randrange(PRODUCERS)
        marker = EndTransactionMarker(self.random.choice((ControlType.COMMIT, ControlType.ABORT)), 0)
        batch = build_marker(marker, producer_id=producer, producer_epoch=0, timestamp_ms=T0)
        self.log.append_as_leader(memoryview(batch), leader_epoch=0, origin=Origin.COORDINATOR)
        self.is_open[producer] = False

    def roll(self) -> None:
        if self.log.active.size_bytes:
            self.log.roll()

    def clean(self) -> None:
        self.checkpoint = clean(self.log, self.checkpoint)

    def truncate(self) -> None:
        """Only where nobody's transaction or sequence is cut: what a leader's log looks like after."""
        if not any(self.is_open) and not any(self.sequences):
            self.log.truncate_to(self.random.randint(self.log.log_start_offset, self.log.log_end_offset))
            self.checkpoint = None


@pytest.mark.parametrize("seed", range(12))
def test_the_count_is_what_a_consumer_gets(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_counts, "BATCHES_PER_READ", 3)
    monkeypatch.setattr(header_walk, "WINDOW_BYTES", 200)
    life, counts = Life(tmp_path, seed), RecordCounts(no_pause, SimClock())
    for _ in range(12):
        for _ in range(life.random.randint(1, 8)):
            life.go_on()
        start, end = life.log.log_start_offset, life.log.high_watermark
        offsets = sorted(life.random.randint(start, end) for _ in range(6))
        if life.random.random() < 0.2:
            offsets.reverse()
        assert counts_of(life.log, counts, offsets) == truth(life.log, offsets), f"seed {seed}"


def test_an_earlier_end_counts_less_than_a_later_one(tmp_path: Path) -> None:
    log, counts = Place(tmp_path).open(), RecordCounts(no_pause, SimClock())
    for _ in range(5):
        log.append_as_leader(produced("a", "b"), leader_epoch=0)
    counts.begin_look()
    assert [counts.between(log, 1, up_to) for up_to in (10, 4, 2, 1)] == [9, 3, 1, 0]


def test_what_was_counted_once_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, counts = Place(tmp_path).open(topic_config(segment_bytes=1_000)), RecordCounts(no_pause, SimClock())
    for _ in range(40):
        log.append_as_leader(produced("a" * 50), leader_epoch=0)
    log.update_high_watermark(40)
    assert counts_of(log, counts, [0]) == {0: 40}
    monkeypatch.setattr(record_counts, "BATCHES_PER_LOOK", 1)
    log.append_as_leader(produced("a"), leader_epoch=0)
    log.update_high_watermark(41)
    assert counts_of(log, counts, [0]) == {0: 41}
    assert counts_of(log, RecordCounts(no_pause, SimClock()), [0]) == {0: None}, "a look reads no more than it may"


def test_one_look_after_the_other_counts_the_longest_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_counts, "BATCHES_PER_LOOK", 10)
    monkeypatch.setattr(record_counts, "BATCHES_PER_READ", 4)
    log, counts = Place(tmp_path).open(topic_config(segment_bytes=1_000)), RecordCounts(no_pause, SimClock())
    for _ in range(40):
        log.append_as_leader(produced("a" * 50), leader_epoch=0)
    log.update_high_watermark(40)
    looks = [counts_of(log, counts, [0])[0] for _ in range(5)]
    assert looks[0] is None and looks[-1] == 40
    assert set(looks) == {None, 40}, "a count is exact or there is none"


def test_a_look_at_a_slow_disk_ends_and_the_next_one_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, walks = SimClock(), 0

    def slow_walk(fileno: int, position: int, end: int, limit: int) -> list[header_walk.CountedBatch]:
        nonlocal walks
        walks += 1
        clock.advance(record_counts.DISK_MS_PER_LOOK)
        return header_walk.walk(fileno, position, end, limit)

    monkeypatch.setattr(record_counts, "walk", slow_walk)
    log, counts = Place(tmp_path).open(topic_config(segment_bytes=1_000)), RecordCounts(no_pause, clock)
    for _ in range(40):
        log.append_as_leader(produced("a" * 50), leader_epoch=0)
    log.update_high_watermark(40)
    assert counts_of(log, counts, [0]) == {0: None} and walks == 1
    assert [counts_of(log, counts, [0])[0] for _ in range(20)][-1] == 40


def test_a_log_that_cannot_be_read_is_not_counted(tmp_path: Path) -> None:
    log, counts = Place(tmp_path).open(), RecordCounts(no_pause, SimClock())
    log.append_as_leader(produced("a"), leader_epoch=0)
    log.update_high_watermark(1)
    log.close()
    assert counts_of(log, counts, [0]) == {0: None}
