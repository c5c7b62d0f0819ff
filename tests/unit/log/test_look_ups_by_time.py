"""Look-ups by time that wait while segments go or are replaced: nothing is passed over, nothing is opened again."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import gevent
import pytest

from kafka_zk import giving_way
from kafka_zk.log import unified_log
from kafka_zk.log.cleaner.swap import replace_segments
from kafka_zk.log.files import names
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record import Codec, Record, build_batch
from kafka_zk.record.batch import Batch, batches

from .given import T0, Place, topic_config

PATIENCE_S = 30
EARLY, LATE = T0, T0 + 100


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    monkeypatch.setattr(unified_log, "times_of", made.times_of)
    yield made
    made.may_go_on.set()


class Gate:
    """Where the first batch that is looked into, in a thread, stops until it may go on."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self.may_go_on = threading.Event()
        self._times_of = unified_log.times_of

    def times_of(self, batch: Batch) -> Iterator[tuple[int, int]]:
        if not self.is_reached.is_set():
            self.is_reached.set()
            assert self.may_go_on.wait(PATIENCE_S)
        return self._times_of(batch)

    def wait_until_reached(self) -> None:
        """The loop runs meanwhile."""
        with gevent.Timeout(PATIENCE_S):
            while not self.is_reached.is_set():
                gevent.sleep(0.001)


def append(log: UnifiedLog, *times: int) -> None:
    """A compressed batch: which of its records has a time shows only inside it."""
    first = log.log_end_offset
    records = [Record(index, time, b"k%d" % (first + index), b"v" * 20, ()) for index, time in enumerate(times)]
    log.append_as_leader(memoryview(build_batch(records, codec=Codec.GZIP)), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)


def replace(log: UnifiedLog, old: Sequence[LogSegment]) -> None:
    """As the cleaner does where it has nothing to take out."""
    config = log.config
    cleaned = LogSegment(
        log.directory, old[0].base_offset, config, created_ms=T0, disk=log.log_dir.disk, suffix=names.CLEANED
    )
    cleaned.create_files()
    data = b"".join(segment.file.read_at(0, segment.size_bytes) for segment in old)
    cleaned.file.write(data)
    cleaned.restart()
    position = 0
    for batch in batches(data):
        cleaned.recovered(batch.header, position)
        position += batch.header.size_bytes
    cleaned.file.size_bytes = position
    cleaned.become_inactive()
    cleaned.flush()
    with log.turn:
        replace_segments(log, [cleaned], list(old))


def test_what_the_cleaner_replaces_meanwhile_is_looked_into(tmp_path: Path, gate: Gate) -> None:
    log = Place(tmp_path).open(topic_config(segment_bytes=400, cleanup_policy="compact"))
    append(log, LATE, EARLY, EARLY)
    append(log, EARLY, EARLY, EARLY)
    append(log, EARLY, EARLY, EARLY)
    for later in range(12):
        append(log, LATE + 100 + later)
    # The record that is late is below the log's start.
    log.increment_log_start_offset(2)
    segments = list(log.segments)
    assert segments[1].base_offset <= 9 < segments[3].base_offset
    found = gevent.spawn(log.offset_for_timestamp, LATE - 50)
    gate.wait_until_reached()
    replace(log, segments[1:3])
    gate.may_go_on.set()
    answer = found.get(timeout=PATIENCE_S)
    assert answer is not None and answer.offset == 9


def test_a_segment_that_goes_while_a_batch_of_it_is_looked_into_is_not_opened_again(tmp_path: Path, gate: Gate) -> None:
    place = Place(tmp_path)
    log = place.open(topic_config(segment_bytes=2000, retention_bytes=2500))
    append(log, LATE, EARLY, EARLY)
    for _ in range(60):
        append(log, LATE + 100, EARLY, EARLY)
    log.increment_log_start_offset(2)
    found = gevent.spawn(log.offset_for_timestamp, LATE - 50)
    gate.wait_until_reached()
    assert delete_old_segments(log, T0) > 0
    gate.may_go_on.set()
    answer = found.get(timeout=PATIENCE_S)
    assert answer is not None and answer.offset == log.log_start_offset
    assert place.failures == []
    first = names.offset_file_name(0, "")
    left = [path.name for path in place.partition.iterdir() if not path.name.endswith(".deleted")]
    assert not [name for name in left if name.startswith(first)]


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> Pause:
    made = Pause()
    monkeypatch.setattr(giving_way, "SLICE_S", -math.inf)
    monkeypatch.setattr(giving_way._turn, "pause", made)
    return made


class Pause:
    """Every turn of the others that loops in slices give."""

    def __init__(self) -> None:
        self.count = 0
        self.work: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        self.count += 1
        self.work()


@pytest.mark.parametrize("by_max", [False, True])
def test_others_have_a_turn_between_segments(tmp_path: Path, pause: Pause, by_max: bool) -> None:
    place = Place(tmp_path)
    config = topic_config(segment_bytes=300)
    log = place.open(config)
    for number in range(40):
        append(log, EARLY + number)
    log.close()
    log = place.open(config, clean=True, recovery_point=40)
    assert len(log.segments) > 10
    found = log.max_timestamp_offset() if by_max else log.offset_for_timestamp(EARLY + 39)
    assert found is not None and found.offset == 39
    assert pause.count >= len(log.segments) - 1


def test_others_have_a_turn_where_much_of_a_segment_is_looked_through(tmp_path: Path, pause: Pause) -> None:
    log = Place(tmp_path).open()
    for time in [EARLY] * 30 + [LATE]:
        append(log, time)
    found = log.offset_for_timestamp(EARLY + 1)
    assert found is not None and found.offset == 30
    assert pause.count >= 30


def test_what_is_cut_and_appended_in_such_a_turn_is_looked_into(tmp_path: Path, pause: Pause) -> None:
    log = Place(tmp_path).open()
    for time in [EARLY] * 30 + [LATE]:
        append(log, time)

    def cut() -> None:
        pause.work = lambda: None
        log.truncate_to(1)
        append(log, EARLY, EARLY)
        append(log, LATE)

    pause.work = cut
    found = log.offset_for_timestamp(EARLY + 1)
    assert found is not None and found.offset == 3
