"""What cleaning leaves of batches of each kind, and with small tables, small reads and old formats."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from kafka_zk.log.cleaner import splitting
from kafka_zk.log.cleaner.splitting import split_segment
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.segments.splitting import overflowing_offset, split
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.batch import batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.legacy import build_message_set
from kafka_zk.record.types import Record
from tests.unit.log.cleaner.given import SETTINGS, clean, cleaning_of
from tests.unit.log.given import T0, Place, all_records, produced, read_slices, topic_config

DELETE_RETENTION_MS = 1000
CONFIG = topic_config(cleanup_policy="compact", delete_retention_ms=DELETE_RETENTION_MS)


def close_segment(log: UnifiedLog) -> None:
    log.roll()
    log.update_high_watermark(log.log_end_offset)


def keys_and_values(log: UnifiedLog) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in all_records(log)]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4])
def test_old_formats_are_compacted_in_their_own_format(place: Place, magic: int, codec: Codec) -> None:
    log = place.open(CONFIG)
    timestamp = T0 if magic else -1
    sets = [
        [Record(0, timestamp, b"a", b"1"), Record(1, timestamp, b"b", b"1"), Record(2, timestamp, None, b"no key")],
        [Record(3, timestamp, b"a", b"2"), Record(4, timestamp, b"c", None)],
    ]
    for records in sets:
        log.append_as_follower(memoryview(build_message_set(records, magic=magic, codec=codec)))
    close_segment(log)
    clean(log)
    kept = all_records(log)
    assert [(record.offset, record.key, record.value) for record in kept] == [
        (1, b"b", b"1"), (3, b"a", b"2"), (4, b"c", None),
    ]  # fmt: skip
    stored = list(batches(read_slices(log, 0)))
    assert {batch.header.magic for batch in stored} == {magic}
    assert {batch.header.codec_id for batch in stored} == {codec}
    assert all(batch.is_valid() for batch in stored)


def test_a_tombstone_of_an_old_format_goes_by_the_age_of_its_segment(place: Place) -> None:
    log = place.open(CONFIG)
    records = [Record(0, T0, b"a", b"1"), Record(1, T0, b"a", None)]
    log.append_as_follower(memoryview(build_message_set(records, magic=1)))
    close_segment(log)
    log.append_as_follower(memoryview(build_message_set([Record(2, T0, b"b", b"1")], magic=1)))
    close_segment(log)
    first, second, _ = log.segments
    os.utime(first.file.path, ns=(10**18, 10**18))
    os.utime(second.file.path, ns=(10**18 + 5 * 10**9, 10**18 + 5 * 10**9))
    assert clean(log) == 3
    assert [record.offset for record in all_records(log)] == [1, 2], "kept, for nothing was clean before"
    log.append_as_follower(memoryview(build_message_set([Record(3, T0, b"c", b"1")], magic=1)))
    close_segment(log)
    # All that is clean is one segment by now, as old as its newest part: not old enough.
    clean(log, 3)
    assert [record.offset for record in all_records(log)] == [1, 2, 3]


def test_a_tombstone_lives_for_its_retention_after_the_first_cleaning(place: Place) -> None:
    log = place.open(CONFIG)
    for value in (b"1", None):
        log.append_as_leader(memoryview(build_batch([Record(0, T0, b"a", value)])), leader_epoch=0)
    close_segment(log)
    checkpoint = clean(log)
    (batch,) = batches(read_slices(log, 0))
    assert batch.header.delete_horizon_ms == place.clock.wall_ms() + DELETE_RETENTION_MS
    assert keys_and_values(log) == [(b"a", None)]
    for wait_ms, left in ((DELETE_RETENTION_MS - 1, [(b"a", None)]), (1, [])):
        place.clock.advance(wait_ms)
        log.append_as_leader(produced("x", keys=[b"other"]), leader_epoch=0)
        close_segment(log)
        checkpoint = clean(log, checkpoint)
        assert [row for row in keys_and_values(log) if row[0] == b"a"] == left


@pytest.mark.parametrize("codec", list(Codec))
def test_append_time_stays_that_of_all_records(place: Place, codec: Codec) -> None:
    config = topic_config(cleanup_policy="compact", message_timestamp_type="LogAppendTime")
    log = place.open(config)
    for _ in range(2):
        records = [Record(index, T0 + index, b"k%d" % index, b"v") for index in range(3)]
        batch = build_batch([*records, Record(3, T0, b"only-%d" % log.log_end_offset, b"v")], codec=codec)
        log.append_as_leader(memoryview(batch), leader_epoch=0)
        place.clock.advance(10)
    before = {record.offset: record for record in all_records(log)}
    close_segment(log)
    clean(log)
    after = all_records(log)
    assert [record.offset for record in after] == [3, 4, 5, 6, 7]
    assert after == [before[record.offset] for record in after]


@pytest.mark.parametrize("lie", [-1, 1 << 20])
def test_an_index_that_says_too_much_skips_no_key(place: Place, lie: int) -> None:
    log = place.open(topic_config(cleanup_policy="compact", index_interval_bytes=1 << 20))
    for value in (b"old", b"new"):
        for number in range(10):
            record = Record(0, T0, b"k%d" % number, value)
            log.append_as_leader(memoryview(build_batch([record])), leader_epoch=0)
    last = log.active.size_bytes * 19 // 20
    log.active.indexes.offset.append(10, last if lie < 0 else lie)
    close_segment(log)
    clean(log, 10)
    assert [record.offset for record in all_records(log)] == list(range(10, 20))


def test_a_full_table_cleans_as_far_as_it_reaches(place: Place) -> None:
    log = place.open(CONFIG)
    for number in range(12):
        log.append_as_leader(produced(f"{number}", keys=[b"k%d" % (number % 6)]), leader_epoch=0)
    close_segment(log)
    small = SETTINGS._replace(table_slots=8, table_keys=4)
    assert clean(log, settings=small) == 4
    assert len(all_records(log)) == 12
    checkpoint, rounds = 4, 0
    while checkpoint < 12:
        checkpoint, rounds = clean(log, checkpoint, settings=small), rounds + 1
    assert rounds == 2
    assert {record.key: record.value for record in all_records(log)} == {
        b"k%d" % number: b"%d" % (number + 6) for number in range(6)
    }


def test_reads_grow_for_a_batch_that_is_larger(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = place.open(CONFIG)
    for number in range(3):
        log.append_as_leader(produced("v" * 5000, f"{number}", keys=[b"large", b"small"]), leader_epoch=0)
    close_segment(log)
    cleaning = cleaning_of(log, settings=SETTINGS._replace(buffer_bytes=32), chunk_bytes=1)
    assert cleaning.run() == 6
    assert keys_and_values(log) == [(b"large", b"v" * 5000), (b"small", b"2")]
    assert cleaning.stats.read_count == 6
    assert cleaning.stats.written_count == 2
    assert "Growing cleaner I/O buffers from 32 bytes to 64 bytes." in caplog.messages


@pytest.mark.parametrize("max_message_bytes", [0, 1000])
def test_reads_grow_that_are_too_short_to_tell_a_batch(place: Place, max_message_bytes: int) -> None:
    """With log.cleaner.io.buffer.size as small as it may be."""
    log = place.open(CONFIG)
    for number in range(9):
        log.append_as_leader(produced("v", f"{number}", keys=[b"a", b"b"]), leader_epoch=0)
    close_segment(log)
    log.apply_config(
        topic_config(
            cleanup_policy="compact", delete_retention_ms=DELETE_RETENTION_MS, max_message_bytes=max_message_bytes
        )
    )
    assert cleaning_of(log, settings=SETTINGS._replace(buffer_bytes=1), chunk_bytes=1).run() == 18
    assert keys_and_values(log) == [(b"a", b"v"), (b"b", b"8")]


def test_segments_with_offsets_out_of_reach_are_split(place: Place) -> None:
    """As old brokers left them: batches far behind the base of their segment."""
    log = place.open(CONFIG)
    far = 2**31 + 5
    for offset in (0, 10, far, far + 1):
        batch = memoryview(build_batch([Record(offset, T0, b"k%d" % offset, b"v")], base_offset=offset))
        segment = log.active
        segment.file.write(batch)
        segment.file.size_bytes += len(batch)
    log.log_end_offset = far + 2
    log.roll()
    log.update_high_watermark(far + 2)
    before = read_slices(log, 0)
    split_segment(log)
    assert [each.base_offset for each in log.segments] == [0, far, far + 2]
    assert read_slices(log, 0) + read_slices(log, far) == before
    assert not [file for file in log.directory.iterdir() if file.suffix in (".cleaned", ".swap")]
    assert clean(log) == far + 2
    assert [record.offset for record in all_records(log)] == [0, 10, far, far + 1]


def test_a_segment_stays_open_while_a_thread_splits_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its descriptor would be another file's when it is closed for one that is opened elsewhere."""
    gave_way: list[bool] = []

    def split_while_files_are_short(segment: LogSegment, *given: Any, **more: Any) -> list[LogSegment]:
        gave_way.append(segment.close_if_idle())
        return split(segment, *given, **more)

    monkeypatch.setattr(splitting, "split", split_while_files_are_short)
    log = place.open(CONFIG)
    for offset in (0, 2**31 + 5):
        batch = memoryview(build_batch([Record(offset, T0, b"k", b"v")], base_offset=offset))
        log.active.file.write(batch)
        log.active.file.size_bytes += len(batch)
    log.log_end_offset = 2**31 + 6
    log.roll()
    split_segment(log)
    assert gave_way == [False]
    assert [each.base_offset for each in log.segments] == [0, 2**31 + 5, 2**31 + 6]


def test_only_segments_that_may_need_it_are_looked_through_for_a_split_and_in_a_thread(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_through: list[tuple[int, bool]] = []

    def look(segment: LogSegment) -> int | None:
        looked_through.append((segment.base_offset, threading.current_thread() is threading.main_thread()))
        return overflowing_offset(segment)

    monkeypatch.setattr(splitting, "overflowing_offset", look)
    log = place.open(CONFIG)
    for offset in (0, 10, 20, 2**32):
        log.append_as_follower(build_batch([Record(offset, T0, b"k", b"v")], base_offset=offset))
    log.roll(2**32 + 10)
    assert [each.base_offset for each in log.segments] == [0, 2**32, 2**32 + 10]
    split_segment(log)
    assert looked_through == [(0, False)]
