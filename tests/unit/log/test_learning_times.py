"""The largest timestamp of a segment that was cut, or found by a start: always right, and never looked for at length on
the loop."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from kafka_zk.log.files import names, time_index
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.segments import mending
from kafka_zk.log.segments.segment import SHORT_WALK_BYTES, LogSegment
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import CorruptMessage, KafkaStorageError
from kafka_zk.record.batch import MAGIC_AT
from tests.unit.log.given import T0, Place, produced, topic_config, values
from tests.unit.log.test_mending import PATIENCE_S, Gate

CONFIG = topic_config(index_interval_bytes=100)
AHEAD = T0 + 60_000
LARGE = "x" * (SHORT_WALK_BYTES // 2)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    monkeypatch.setattr(mending, "walk_on", made.walk_on)
    yield made
    made.may_go_on.set()


def append(log: UnifiedLog, timestamp: int, text: str = "") -> None:
    log.append_as_leader(produced(text, timestamp=timestamp), leader_epoch=0)


def learnt(segment: LogSegment) -> tuple[int, int, int]:
    """First timestamp, largest timestamp and its offset."""
    segment.load_times()
    return segment.first_timestamp, segment.max_timestamp, segment.offset_of_max_timestamp


def found_in(segment: LogSegment) -> tuple[int, int, int]:
    """The same from a walk over all of it."""
    headers = [header for _, header in segment.file.headers(0)]
    largest = max(headers, key=lambda header: header.max_timestamp)
    return headers[0].max_timestamp, largest.max_timestamp, largest.last_offset


@pytest.mark.parametrize("seed", range(8))
def test_whatever_was_appended_and_cut_and_lost_by_the_time_index_the_largest_timestamp_is_known(
    place: Place, seed: int
) -> None:
    chance = random.Random(seed)
    config = topic_config(index_interval_bytes=chance.choice([0, 100, 300]), segment_bytes=3000, segment_ms=10**12)
    log = place.open(config)
    for _ in range(150):
        step = chance.random()
        if step < 0.75:
            append(log, T0 + chance.choice([0, chance.randrange(20), -log.log_end_offset, log.log_end_offset]))
        elif step < 0.93:
            log.truncate_to(max(log.segments.first.base_offset, log.log_end_offset - chance.randrange(1, 12)))
        else:
            end = log.log_end_offset
            log.close()
            for path in place.partition.glob(f"*{names.TIME_INDEX}"):
                if chance.random() < 0.5:
                    kept = chance.randrange(path.stat().st_size // time_index.ENTRY_SIZE_BYTES + 1)
                    path.write_bytes(path.read_bytes()[: kept * time_index.ENTRY_SIZE_BYTES])
            log = place.open(config, clean=True, recovery_point=end)
        if chance.random() < 0.7:
            assert [learnt(each) for each in log.segments if each.size_bytes] == [
                found_in(each) for each in log.segments if each.size_bytes
            ]
    log.close()


def test_behind_a_cut_only_what_follows_the_last_index_entry_is_walked(place: Place) -> None:
    log = place.open(CONFIG)
    append(log, AHEAD)
    for number in range(40):
        append(log, T0 + number)
    log.truncate_to(40)
    last = log.active.indexes.last
    assert last.offset > 30
    at_20 = log.active.position_of(20)
    assert at_20 is not None
    with log.active.file.path.open("r+b") as file:
        file.seek(at_20.position + MAGIC_AT)
        file.write(b"\x7f")  # Who looks at its header finds it damaged.
    append(log, T0)
    assert (log.active.max_timestamp, log.active.offset_of_max_timestamp) == (AHEAD, 0)
    log.close()


def given_found_log(path: Path, *, last_timestamp: int = T0) -> UnifiedLog:
    """As a start has found it: the last entry of the time index is for the first record, far before the end."""
    place = Place(path)
    log = place.open(topic_config())
    append(log, AHEAD)
    for timestamp in (T0, T0, last_timestamp):
        append(log, timestamp, LARGE)
    log.close()
    index = place.partition / names.offset_file_name(0, names.TIME_INDEX)
    index.write_bytes(time_index.ENTRY.pack(AHEAD, 0))
    return place.open(topic_config(), clean=True, recovery_point=4)


def test_what_a_start_has_found_is_walked_once_and_in_a_thread(tmp_path: Path, gate: Gate) -> None:
    log = given_found_log(tmp_path)
    waiting = [gevent.spawn(append, log, T0, "last"), gevent.spawn(log.offset_for_timestamp, T0)]
    waiting += [gevent.spawn(log.max_timestamp_offset), gevent.spawn(append, log, T0, "later")]
    gate.wait_until_reached()
    assert values(log, 3) == [LARGE]
    gate.may_go_on.set()
    gevent.joinall(waiting, timeout=PATIENCE_S, raise_error=True)
    assert [each.value.offset for each in waiting[1:3]] == [0, 0]
    assert gate.walks == 1
    assert values(log, 4) == ["last", "later"]
    assert learnt(log.active) == found_in(log.active) == (AHEAD, AHEAD, 0)


def test_what_was_walked_once_is_not_walked_again_behind_a_cut(tmp_path: Path, gate: Gate) -> None:
    log = given_found_log(tmp_path)
    gate.may_go_on.set()
    append(log, T0)
    log.truncate_to(4)
    append(log, T0)
    assert gate.walks == 1
    assert learnt(log.active) == (AHEAD, AHEAD, 0)


@pytest.mark.parametrize("is_cut_under_the_walk", [False, True])
def test_a_walk_over_what_was_cut_meanwhile_is_begun_anew(
    tmp_path: Path, gate: Gate, is_cut_under_the_walk: bool
) -> None:
    log = given_found_log(tmp_path, last_timestamp=AHEAD + 1)
    found = gevent.spawn(log.max_timestamp_offset)
    gate.is_behind = True
    gate.wait_until_reached()
    log.truncate_to(3)
    if is_cut_under_the_walk:
        gate.failures = [CorruptMessage()]
    gate.may_go_on.set()
    assert found.get(timeout=PATIENCE_S).offset == 0
    assert learnt(log.active) == found_in(log.active) == (AHEAD, AHEAD, 0)


def fail_directory(log: UnifiedLog) -> None:
    """As LogManager does when a file of another log cannot be written."""
    log.log_dir.fail("no disk", OSError("no disk"))
    log.close_files()


@pytest.mark.parametrize("what", ["append", "retention", "close"])
def test_whose_directory_fails_while_a_segment_is_walked_opens_nothing_again(
    tmp_path: Path, gate: Gate, what: str
) -> None:
    log = given_found_log(tmp_path)
    if what == "retention":
        log.update_high_watermark(log.log_end_offset)
        log.apply_config(topic_config(retention_ms=1000))
        waiting = gevent.spawn(delete_old_segments, log, T0)
    elif what == "close":
        log.truncate_to(3)
        waiting = gevent.spawn(log.close)
    else:
        waiting = gevent.spawn(append, log, T0)
    gate.wait_until_reached()
    fail_directory(log)
    gate.may_go_on.set()
    gevent.joinall([waiting], timeout=PATIENCE_S)
    assert isinstance(waiting.exception, KafkaStorageError)
    assert len(log.segments) == 1
    assert not log.active.is_open


def test_nobody_waits_for_the_turn_while_retention_learns_how_old_a_segment_is(tmp_path: Path, gate: Gate) -> None:
    place = Place(tmp_path)
    config = topic_config(segment_bytes=3 * len(LARGE), retention_ms=1000)
    log = place.open(config)
    append(log, AHEAD)
    for _ in range(3):
        append(log, T0, LARGE)
    log.close()
    assert len(log.segments) == 2
    place.clock.advance(100_000)
    log = place.open(config, clean=True, recovery_point=4)
    log.update_high_watermark(4)
    retention = gevent.spawn(delete_old_segments, log, place.clock.wall_ms())
    gate.wait_until_reached()
    assert not log.turn.is_taken
    append(log, place.clock.wall_ms(), "new")
    gate.may_go_on.set()
    assert retention.get(timeout=PATIENCE_S) == 1
    assert values(log)[-1] == "new"
