from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

import gevent
import pytest

from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.segments import mending
from kafka_zk.log.segments.index_walk import Walk, walk_on
from kafka_zk.log.segments.retention import Limits, Reason, deletable
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET, has_no_room_for, is_too_old, segment_life_ms
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.batch import MAGIC_AT
from tests.unit.log.given import T0, Place, produced, topic_config

PATIENCE_S = 30

FITS = {
    "size_bytes": 900,
    "append_bytes": 100,
    "segment_bytes": 1000,
    "base_offset": 10,
    "last_offset": 20,
    "indexes_full": False,
}


@pytest.mark.parametrize(
    ("change", "rolls"),
    [
        ({}, False),
        ({"append_bytes": 101}, True),
        ({"indexes_full": True}, True),
        ({"indexes_full": True, "size_bytes": 0}, False),
        ({"last_offset": 10 + MAX_RELATIVE_OFFSET}, False),
        ({"last_offset": 11 + MAX_RELATIVE_OFFSET}, True),
    ],
)
def test_a_segment_rolls_before_it_would_outgrow_anything(change: dict[str, int], rolls: bool) -> None:
    assert has_no_room_for(**{**FITS, **change}) is rolls  # type: ignore[arg-type]


YOUNG = {
    "size_bytes": 1,
    "first_timestamp": 1000,
    "append_timestamp": 1500,
    "created_ms": 0,
    "now_ms": 10**9,
    "segment_ms": 500,
    "jitter_ms": 0,
}


@pytest.mark.parametrize(
    ("change", "rolls"),
    [
        ({}, False),
        ({"append_timestamp": 1501}, True),
        ({"append_timestamp": 1501, "size_bytes": 0}, False),
        ({"jitter_ms": 1}, True),
        ({"first_timestamp": -1}, True),  # no record time: the segment's own age counts
        ({"first_timestamp": -1, "now_ms": 500}, False),
    ],
)
def test_a_segment_rolls_by_the_time_of_its_records(change: dict[str, int], rolls: bool) -> None:
    assert is_too_old(**{**YOUNG, **change}) is rolls


def test_a_compacted_topic_rolls_in_time_for_its_compaction_lag() -> None:
    assert segment_life_ms(segment_ms=100, max_compaction_lag_ms=50, compact=True) == 50
    assert segment_life_ms(segment_ms=100, max_compaction_lag_ms=50, compact=False) == 100


class Facts(NamedTuple):
    base_offset: int
    size_bytes: int
    largest_timestamp: int


SEGMENTS = [Facts(0, 100, 1000), Facts(10, 100, 2000), Facts(20, 50, 1500)]
LIMITS = Limits(
    log_start_offset=0, high_watermark=30, log_end_offset=30, retention_bytes=-1, retention_ms=-1, now_ms=2000
)


@pytest.mark.parametrize(
    ("reason", "limits", "count"),
    [
        (Reason.TIME, {}, 0),
        (Reason.TIME, {"retention_ms": 999}, 1),
        (Reason.TIME, {"retention_ms": 1000}, 0),
        (Reason.TIME, {"retention_ms": 0, "now_ms": 3000}, 3),
        (Reason.TIME, {"retention_ms": 0, "now_ms": 3000, "high_watermark": 20}, 2),
        (Reason.SIZE, {}, 0),
        (Reason.SIZE, {"retention_bytes": 151}, 0),  # never below the limit
        (Reason.SIZE, {"retention_bytes": 150}, 1),
        (Reason.SIZE, {"retention_bytes": 0}, 3),
        (Reason.SIZE, {"retention_bytes": 0, "high_watermark": 9}, 0),
        (Reason.LOG_START, {"log_start_offset": 9}, 0),
        (Reason.LOG_START, {"log_start_offset": 10}, 1),
        (Reason.LOG_START, {"log_start_offset": 29}, 2),
        (Reason.LOG_START, {"log_start_offset": 30}, 3),
    ],
)
def test_segments_go_from_the_oldest_while_they_qualify(reason: Reason, limits: dict[str, int], count: int) -> None:
    assert deletable(SEGMENTS, reason, LIMITS._replace(**limits)) == count


def test_a_segment_behind_one_that_stays_stays_too() -> None:
    limits = LIMITS._replace(retention_ms=400, now_ms=2000)
    assert deletable([SEGMENTS[1], SEGMENTS[2]._replace(base_offset=20)], Reason.TIME, limits) == 0


def test_an_empty_last_segment_stays() -> None:
    empty = Facts(30, 0, 0)
    limits = LIMITS._replace(retention_ms=0, now_ms=10_000)
    assert deletable([*SEGMENTS, empty], Reason.TIME, limits) == 3
    assert deletable([empty], Reason.TIME, limits) == 0


def test_what_a_high_watermark_went_back_below_stays(tmp_path: Path) -> None:
    """A follower's may, while retention waits for a flush."""
    log = Place(tmp_path).open(topic_config(segment_bytes=150, retention_bytes=0))
    for _ in range(6):
        log.append_as_leader(produced("x" * 60), leader_epoch=0)
    log.update_high_watermark(6)
    with log.flusher.turn:
        retaining = gevent.spawn(delete_old_segments, log, T0)
        gevent.sleep(0)
        log.update_high_watermark(3)
    assert retaining.get(timeout=PATIENCE_S) == 3
    assert log.log_start_offset == log.high_watermark == 3


def damaged_in(log: UnifiedLog, segment: LogSegment, place: Place) -> UnifiedLog:
    """The log after a clean stop and a start, with a byte of a batch of that segment damaged."""
    found = segment.position_of(segment.base_offset + 5)
    assert found is not None
    end = log.log_end_offset
    log.close()
    with segment.file.path.open("r+b") as file:
        file.seek(found.position + MAGIC_AT)
        file.write(b"\x77")
    opened = place.open(log.config, clean=True, recovery_point=end)
    opened.update_high_watermark(end)
    return opened


def test_where_the_active_segment_is_damaged_the_others_go(tmp_path: Path) -> None:
    place = Place(tmp_path)
    log = place.open(topic_config(segment_bytes=1000, retention_ms=100_000, index_interval_bytes=4096))
    for number in range(30):
        log.append_as_leader(produced("x" * 50, timestamp=T0 - number), leader_epoch=0)
    log = damaged_in(log, log.active, place)
    os.utime(log.active.file.path, (0, 0))
    kept = log.active.base_offset
    assert delete_old_segments(log, T0 + 50_000_000) > 0
    assert [segment.base_offset for segment in log.segments] == [kept]
    assert delete_old_segments(log, T0 + 50_000_000) == 0


def test_a_damaged_segment_that_is_cut_off_while_it_is_walked_takes_no_directory_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, may_go_on = threading.Event(), threading.Event()

    def gated(file: SegmentFile, *arguments: Any) -> Walk:
        if threading.current_thread() is not threading.main_thread() and file.path == damaged.file.path:
            reached.set()
            assert may_go_on.wait(PATIENCE_S)
        return walk_on(file, *arguments)

    monkeypatch.setattr(mending, "walk_on", gated)
    place = Place(tmp_path)
    log = place.open(topic_config(segment_bytes=200_000, retention_ms=100_000, index_interval_bytes=4096))
    for number in range(26):
        log.append_as_leader(produced("x" * 20_000, timestamp=T0 - number), leader_epoch=0)
    log = damaged_in(log, list(log.segments)[1], place)
    damaged = list(log.segments)[1]
    retaining = gevent.spawn(delete_old_segments, log, T0 + 50_000_000)
    with gevent.Timeout(PATIENCE_S):
        while not reached.is_set():
            gevent.sleep(0.001)
    log.truncate_to(damaged.base_offset - 2)
    may_go_on.set()
    retaining.get(timeout=PATIENCE_S)
    assert not place.directory.is_offline
