from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
import pytest
from gevent.event import Event

from kafka_zk.log.errors import UnexpectedAppendOffset
from kafka_zk.log.files import names, offset_index
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.local.local_log import POOLED_BYTES
from kafka_zk.log.produce.checking import INLINE_BYTES, POOLED_LIMIT_BYTES
from kafka_zk.log.retention import delete_old_segments
from kafka_zk.log.segments.open_segments import FEW_SEGMENTS
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import (
    BrokerError,
    CorruptMessage,
    InconsistentTopicId,
    InvalidProducerEpoch,
    InvalidRecord,
    KafkaStorageError,
    MessageTooLarge,
    OffsetOutOfRange,
    OutOfOrderSequenceNumber,
    RecordListTooLarge,
    UnknownServerError,
)
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.record.batch import batches
from kafka_zk.record.builder import build_batch
from kafka_zk.record.compression import Codec
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.record.types import Record
from tests.unit.log.given import T0, Place, all_records, produced, read_slices, topic_config, values

ONE_RECORD = len(produced("v"))


def append(log: UnifiedLog, *texts: str, epoch: int = 0, **options: Any) -> int:
    return log.append_as_leader(produced(*texts, **options), leader_epoch=epoch).first_offset


def mark(log: UnifiedLog, control_type: ControlType, *, producer_id: int = 1, epoch: int = 0) -> None:
    marker = build_marker(
        EndTransactionMarker(control_type, 0), producer_id=producer_id, producer_epoch=epoch, timestamp_ms=T0
    )
    log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)


# Appending


def test_records_get_the_next_offsets_and_the_leader_epoch(place: Place) -> None:
    log = place.open()
    first = log.append_as_leader(produced("a", "b"), leader_epoch=3)
    second = log.append_as_leader(produced("c"), leader_epoch=3)
    assert (first.first_offset, first.last_offset) == (0, 1)
    assert (second.first_offset, second.last_offset, second.is_duplicate) == (2, 2, False)
    assert (second.log_append_time_ms, second.log_start_offset, second.max_timestamp) == (-1, 0, T0)
    assert [batch.header.partition_leader_epoch for batch in batches(read_slices(log, 0))] == [3, 3]
    assert values(log) == ["a", "b", "c"]
    assert log.leader_epochs.entries == [(3, 0)]


def test_log_append_time_replaces_the_producers_time(place: Place) -> None:
    log = place.open(topic_config(message_timestamp_type="LogAppendTime"))
    info = log.append_as_leader(produced("a", timestamp=5), leader_epoch=0, now_ms=T0 + 7)
    assert (info.log_append_time_ms, info.max_timestamp) == (T0 + 7, T0 + 7)
    assert [record.timestamp for record in all_records(log)] == [T0 + 7]


def test_a_topic_with_a_codec_of_its_own_recompresses(place: Place) -> None:
    log = place.open(topic_config(compression_type="zstd"))
    append(log, *["same text"] * 50)
    (batch,) = batches(read_slices(log, 0))
    assert batch.header.codec_id == Codec.ZSTD
    assert values(log) == ["same text"] * 50


def test_a_batch_that_grows_over_the_bound_when_recompressed_is_written_by_a_thread(place: Place) -> None:
    log = place.open(topic_config(compression_type="uncompressed"))
    small = produced("x" * (2 * POOLED_BYTES), codec=Codec.GZIP)
    assert len(small) < POOLED_BYTES
    log.append_as_leader(small, leader_epoch=0)
    assert values(log) == ["x" * (2 * POOLED_BYTES)]


def test_a_batch_that_repeats_an_earlier_one_is_answered_with_its_offsets(place: Place) -> None:
    log = place.open()
    append(log, "x")
    first = log.append_as_leader(produced("a", "b", producer_id=1, epoch=0, sequence=0), leader_epoch=0)
    again = log.append_as_leader(produced("a", "b", producer_id=1, epoch=0, sequence=0), leader_epoch=0)
    assert not first.is_duplicate
    assert (again.first_offset, again.last_offset, again.is_duplicate) == (1, 2, True)
    assert (again.log_append_time_ms, again.log_start_offset, again.max_timestamp) == (T0 + 1, 0, T0 + 1)
    assert values(log) == ["x", "a", "b"]


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (produced("c", producer_id=1, epoch=5, sequence=3), OutOfOrderSequenceNumber),
        (produced("c", producer_id=1, epoch=4, sequence=1), InvalidProducerEpoch),
        (produced("x" * 2000), MessageTooLarge),
        (produced("c")[:-1], InvalidRecord),
    ],
)
def test_a_refused_batch_leaves_the_log_as_it_was(place: Place, batch: memoryview, error: type[Exception]) -> None:
    log = place.open(topic_config(max_message_bytes=1000))
    log.append_as_leader(produced("a", producer_id=1, epoch=5, sequence=0), leader_epoch=0)
    with pytest.raises(error):
        log.append_as_leader(memoryview(bytearray(batch)), leader_epoch=0)
    assert values(log) == ["a"]
    assert log.append_as_leader(produced("b", producer_id=1, epoch=5, sequence=1), leader_epoch=0).first_offset == 1


def test_a_batch_larger_than_a_segment_is_refused(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=200))
    with pytest.raises(RecordListTooLarge):
        append(log, "x" * 300)
    assert log.log_end_offset == 0


def test_a_damaged_batch_is_refused(place: Place) -> None:
    batch = produced("a")
    batch[-1] ^= 1
    with pytest.raises(CorruptMessage):
        place.open().append_as_leader(batch, leader_epoch=0)


def test_replicated_batches_stay_as_they_are(place: Place, tmp_path: Path) -> None:
    (tmp_path / "leader").mkdir()
    leader, follower = Place(tmp_path / "leader").open(), place.open()
    append(leader, "a", "b")
    append(leader, "c", epoch=2)
    info = follower.append_as_follower(read_slices(leader, 0) + b"a torn rest")
    assert (info.first_offset, info.last_offset) == (0, 2)
    assert read_slices(follower, 0) == read_slices(leader, 0)
    assert follower.leader_epochs.entries == [(0, 0), (2, 2)]
    with pytest.raises(UnexpectedAppendOffset) as caught:
        follower.append_as_follower(read_slices(leader, 0))
    assert (caught.value.first_offset, caught.value.last_offset) == (0, 2)


def test_what_a_larger_segment_held_is_replicated_into_several(place: Place, tmp_path: Path) -> None:
    """The leader's segments are from before segment.bytes was made smaller."""
    (tmp_path / "leader").mkdir()
    leader, follower = Place(tmp_path / "leader").open(), place.open(topic_config(segment_bytes=3 * ONE_RECORD))
    for number in range(8):
        append(leader, str(number), epoch=number // 4)
    info = follower.append_as_follower(read_slices(leader, 0))
    assert (info.first_offset, info.last_offset) == (0, 7)
    assert [segment.base_offset for segment in follower.segments] == [0, 3, 6]
    assert values(follower) == values(leader)
    assert follower.leader_epochs.entries == leader.leader_epochs.entries


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (Record(4, T0, b"k", bytes(4 * ONE_RECORD)), RecordListTooLarge),
        (Record(4, T0, b"?", None), InvalidRecord),
    ],
)
def test_of_what_a_larger_segment_held_nothing_is_written_where_some_is_refused(
    place: Place, tmp_path: Path, refused: Record, error: type[BrokerError]
) -> None:
    """A follower asks for all of it again from where it began, which must be where the log ends."""
    (tmp_path / "leader").mkdir()
    leader, follower = Place(tmp_path / "leader").open(), place.open(topic_config(segment_bytes=3 * ONE_RECORD))
    for number in range(4):
        append(leader, str(number))
    good = bytes(read_slices(leader, 0))
    is_marker = error is InvalidRecord
    bad = build_batch([refused], base_offset=4, producer_id=7, producer_epoch=0, transactional=True, control=is_marker)
    with pytest.raises(error):
        follower.append_as_follower(good + bytes(bad))
    assert (follower.log_end_offset, follower.size_bytes, follower.leader_epochs.entries) == (0, 0, [])
    follower.append_as_follower(good)
    assert values(follower) == ["0", "1", "2", "3"]


def test_replicated_offsets_must_increase(place: Place, tmp_path: Path) -> None:
    (tmp_path / "leader").mkdir()
    leader = Place(tmp_path / "leader").open()
    append(leader, "a")
    with pytest.raises(UnknownServerError, match="Out of order offsets"):
        place.open().append_as_follower(read_slices(leader, 0) * 2)


def test_a_replica_may_begin_behind_a_gap(place: Place, tmp_path: Path) -> None:
    (tmp_path / "leader").mkdir()
    leader, follower = Place(tmp_path / "leader").open(), place.open()
    for text in "abc":
        append(leader, text)
    follower.append_as_follower(read_slices(leader, 2))
    assert (follower.log_end_offset, values(follower, 0)) == (3, ["c"])


def test_a_large_append_switches_and_those_that_come_meanwhile_wait_their_turn(place: Place) -> None:
    log = place.open(topic_config(max_message_bytes=10_000_000))
    large = "x" * POOLED_BYTES
    order: list[str] = []

    def appender(text: str) -> None:
        append(log, text)
        order.append(text[:2])

    greenlets = [gevent.spawn(appender, text) for text in (large, "1", "2", large, "3")]
    gevent.joinall(greenlets, raise_error=True)
    assert order == ["xx", "1", "2", "xx", "3"]
    assert [value[:2] for value in values(log)] == order


def test_while_a_thread_writes_the_log_end_does_not_move(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    log = place.open(topic_config(max_message_bytes=10_000_000))
    write = SegmentFile.write
    seen: list[int] = []

    def slow_write(file: SegmentFile, data: memoryview) -> None:
        seen.append(log.log_end_offset)
        write(file, data)

    monkeypatch.setattr(SegmentFile, "write", slow_write)
    append(log, "x" * POOLED_BYTES)
    assert seen == [0]
    assert log.log_end_offset == 1


def test_a_killed_append_leaves_nothing_behind(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    log = place.open(topic_config(max_message_bytes=10_000_000))
    append(log, "a")
    started, may_write = Event(), threading.Event()
    write = SegmentFile.write

    def slow_write(file: SegmentFile, data: memoryview) -> None:
        wake.send()
        may_write.wait()
        write(file, data)

    hub = gevent.get_hub()
    wake = hub.loop.async_()
    wake.start(started.set)
    monkeypatch.setattr(SegmentFile, "write", slow_write)
    killed = gevent.spawn(append, log, "x" * POOLED_BYTES)
    started.wait()
    killed.kill(block=False)
    waiting = gevent.spawn(append, log, "b")
    gevent.sleep(0)
    assert not killed.dead  # the thread still writes: nobody else may
    assert not waiting.dead
    may_write.set()
    gevent.joinall([killed, waiting])
    wake.stop()
    assert values(log) == ["a", "b"]


@pytest.mark.parametrize("plain_size", [INLINE_BYTES + 1, POOLED_LIMIT_BYTES + 1])
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_small_batch_that_holds_very_much_is_decompressed_off_the_loop(
    place: Place, codec: Codec, plain_size: int
) -> None:
    log = place.open()
    batch = memoryview(build_batch([Record(0, T0, None, bytes(plain_size), ())], codec=codec))
    assert len(batch) < POOLED_BYTES
    others = gevent.spawn(lambda: None)
    assert log.append_as_leader(batch, leader_epoch=0).first_offset == 0
    assert others.dead, "nobody else ran meanwhile"
    found = log.offset_for_timestamp(T0)
    assert found is not None
    assert found.offset == 0


def test_a_small_compressed_batch_is_checked_at_once(place: Place) -> None:
    log = place.open()
    others = gevent.spawn(lambda: None)
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        append(log, *["value"] * 100, codec=codec)
    assert not others.dead
    others.kill()


def test_flush_messages_syncs_before_the_append_is_answered(place: Place) -> None:
    log = place.open(topic_config(flush_messages=2))
    append(log, "a")
    assert log.recovery_point == 0
    append(log, "b")
    assert log.recovery_point == 2


def test_a_flush_asked_for_before_a_truncation_vouches_for_nothing_behind_the_end(place: Place) -> None:
    log = place.open()
    append(log, "a", "b", "c")
    asked_for = log.log_end_offset
    log.truncate_to(0)
    append(log, "d")
    log.flush_up_to(asked_for)
    assert log.recovery_point == log.log_end_offset == 1


# Rolling


def test_a_segment_never_outgrows_segment_bytes(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=3 * ONE_RECORD))
    for _ in range(7):
        append(log, "v")
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6]
    assert all(segment.size_bytes <= 3 * ONE_RECORD for segment in log.segments)
    log.flusher.wait()
    assert log.recovery_point == 6
    assert log.producers.snapshot_offsets() == [3, 6]


def test_a_segment_rolls_when_the_records_time_passes_segment_ms(place: Place) -> None:
    log = place.open(topic_config(segment_ms=1000))
    for timestamp in (T0, T0 + 1000, T0 + 1001, T0 + 500):
        append(log, "v", timestamp=timestamp)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_a_reopened_segment_remembers_the_time_of_its_first_record(place: Place) -> None:
    config = topic_config(segment_ms=1000)
    log = place.open(config)
    append(log, "v", timestamp=T0)
    log.close()
    log = place.open(config, clean=True, recovery_point=1)
    append(log, "v", timestamp=T0 + 1001)
    assert [segment.base_offset for segment in log.segments] == [0, 1]


def test_a_segment_rolls_when_an_index_is_full(place: Place) -> None:
    log = place.open(topic_config(segment_index_bytes=48, index_interval_bytes=0))
    for _ in range(12):
        append(log, "v", timestamp=T0 + log.log_end_offset)
    # 48 bytes hold four time index entries and one is kept free; the first append of a segment is not indexed.
    assert [segment.base_offset for segment in log.segments] == [0, 4, 8]


@pytest.mark.parametrize("index_bytes", [4, 8, 12, 23])
def test_where_an_index_has_no_space_for_an_entry_each_append_gets_a_segment(place: Place, index_bytes: int) -> None:
    config = topic_config(segment_index_bytes=index_bytes, index_interval_bytes=0)
    log = place.open(config)
    for number in range(4):
        append(log, str(number))
    log.truncate_to(3)
    append(log, "3")
    append(log, "4")
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2, 3, 4]
    log.roll()
    log.close()
    log = place.open(config, clean=True, recovery_point=5)
    append(log, "5")
    append(log, "6")
    place.crash(log)
    log = place.open(config)
    append(log, "7")
    assert values(log) == [str(number) for number in range(8)]


def test_a_rolled_segment_is_trimmed_and_its_time_index_complete(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=2 * ONE_RECORD, preallocate="true"))
    for timestamp in (T0 + 5, T0 + 3, T0):
        append(log, "v", timestamp=timestamp)
    first, active = log.segments
    assert first.indexes.time.entries() == [(T0 + 5, 0)]
    assert first.indexes.time.file.path.stat().st_size == 12
    assert first.file.path.stat().st_size == 2 * ONE_RECORD
    assert active.file.path.stat().st_size == 2 * ONE_RECORD  # preallocated
    assert active.indexes.offset.file.path.stat().st_size == 2048


# Reading


def test_a_read_gives_slices_from_the_batch_that_holds_the_offset(place: Place) -> None:
    log = place.open()
    append(log, "a", "b", "c")
    append(log, "d")
    assert [batch.header.base_offset for batch in batches(read_slices(log, 1))] == [0, 3]
    assert [batch.header.base_offset for batch in batches(read_slices(log, 3))] == [3]
    assert read_slices(log, 4) == b""


def test_a_read_ends_before_the_batch_that_holds_its_bound(place: Place) -> None:
    log = place.open()
    for texts in ("ab", "cd", "ef"):
        append(log, *texts)
    for up_to, last in ((0, -1), (1, -1), (2, 1), (3, 1), (4, 3), (6, 5)):
        found = [batch.header.last_offset for batch in batches(read_slices(log, 0, up_to=up_to))]
        assert (found or [-1])[-1] == last


def test_the_first_batch_comes_whole_if_one_is_wanted_at_least(place: Place) -> None:
    log = place.open()
    append(log, "a" * 500)
    append(log, "b")
    assert len(read_slices(log, 0, max_bytes=1)) == 500 + ONE_RECORD - 1 + 2
    none = log.read(0, max_bytes=0, up_to=2, min_one=False)
    assert (none.slices, none.size_bytes) == ([], 0)
    (part,) = log.read(0, max_bytes=100, up_to=2, min_one=False).slices
    assert part.size_bytes == 100
    part.release()


def test_a_read_outside_the_log_is_out_of_range(place: Place) -> None:
    log = place.open()
    append(log, "a", "b")
    log.update_high_watermark(2)
    log.increment_log_start_offset(1)
    assert log.read(2, max_bytes=10, up_to=2, min_one=True).slices == []
    for offset in (0, 3):
        with pytest.raises(OffsetOutOfRange, match=f"offset {offset} .* from offset 1 up to 2"):
            log.read(offset, max_bytes=10, up_to=2, min_one=True)


def test_a_read_goes_on_in_the_next_segment(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=2 * ONE_RECORD))
    assert read_slices(log, 0) == b""
    for text in "abcde":
        append(log, text)
        assert values(log, log.log_end_offset - 1) == [text]
    assert values(log) == list("abcde")


def test_only_what_this_process_wrote_is_taken_to_be_in_memory(place: Place) -> None:
    def cold_at(log: UnifiedLog, offset: int) -> bool:
        (piece,) = log.read(offset, max_bytes=1000, up_to=log.log_end_offset, min_one=True).slices
        piece.release()
        return piece.is_cold

    log = place.open()
    append(log, "a")
    assert not cold_at(log, 0)
    log.close()
    again = place.open(clean=True)
    append(again, "b")
    assert cold_at(again, 0), "it was on disk when the log was loaded"
    assert not cold_at(again, 1)


def test_the_first_batch_comes_whole_however_often_it_is_asked_for(place: Place) -> None:
    log = place.open()
    for _ in range(3):
        append(log, "x" * 1000)
    for offset in (0, 1, 2, 1, 0):
        (piece,) = log.read(offset, max_bytes=1, up_to=3, min_one=True).slices
        assert [batch.header.base_offset for batch in batches(piece.read())] == [offset]
        piece.release()


def test_a_slice_keeps_its_file_until_it_is_released(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=ONE_RECORD))
    for text in "ab":
        append(log, text)
    (held,) = log.read(0, max_bytes=1000, up_to=2, min_one=True).slices
    log.update_high_watermark(2)
    log.increment_log_start_offset(1)
    assert delete_old_segments(log, T0) == 1
    log.close()
    assert held.is_intact
    assert [batch.header.base_offset for batch in batches(held.read())] == [0]
    file = held._file
    held.release()
    assert not file.is_open


def test_a_slice_knows_when_the_log_was_cut_under_it(place: Place) -> None:
    log = place.open()
    append(log, "a")
    append(log, "b")
    (held,) = log.read(0, max_bytes=1000, up_to=2, min_one=True).slices
    assert held.is_intact
    log.truncate_to(1)
    assert not held.is_intact
    held.release()


def test_reading_at_the_log_end_needs_no_look_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    log = place.open()
    append(log, "a")
    assert read_slices(log, 1) == b""

    def no_scan(*_: object) -> None:
        raise AssertionError("the file was scanned")

    append(log, "b")
    monkeypatch.setattr(SegmentFile, "headers", no_scan)
    assert values(log, 1) == ["b"]


def test_files_of_idle_segments_are_closed_and_come_again_when_needed(tmp_path: Path) -> None:
    log = Place(tmp_path, open_segments=2).open(topic_config(segment_bytes=ONE_RECORD))
    texts = [str(number) for number in range(6)]
    for text in texts:
        append(log, text)
    log.flusher.wait()
    assert values(log) == texts
    assert sum(segment.is_open for segment in log.segments) <= 2
    append(log, "6")
    assert values(log) == [*texts, "6"]


def test_segments_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    place = Place(tmp_path, open_segments=1000)
    log = place.open(topic_config(segment_bytes=ONE_RECORD, retention_ms=0, file_delete_delay_ms=0))
    for _ in range(3 * FEW_SEGMENTS):
        append(log, "v")
        log.update_high_watermark(log.log_end_offset)
        delete_old_segments(log, T0 + 10_000)
        place.clock.advance(1)
    assert len(place.directory.open_segments) <= FEW_SEGMENTS


# Times


def test_a_time_is_found_at_the_first_record_that_is_not_earlier(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=400, index_interval_bytes=0))
    times = [T0 + 10, T0 + 30, T0 + 20, T0 + 40, T0 + 40, T0 + 15, T0 + 60]
    for timestamp in times:
        append(log, "v", timestamp=timestamp, codec=Codec.GZIP)
    for wanted in range(T0, T0 + 62):
        expected = next((offset for offset, timestamp in enumerate(times) if timestamp >= wanted), None)
        found = log.offset_for_timestamp(wanted)
        assert (found and found.offset) == expected
        assert found is None or (found.timestamp, found.leader_epoch) == (times[found.offset], 0)


def test_a_time_is_found_inside_a_compressed_batch(place: Place) -> None:
    log = place.open()
    append(log, *["v"] * 100, codec=Codec.ZSTD)
    assert log.offset_for_timestamp(T0 + 63) == (T0 + 63, 63, 0)


def test_the_largest_time_is_that_of_the_first_record_that_has_it(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=3 * ONE_RECORD))
    assert log.max_timestamp_offset() is None
    for timestamp in (T0 + 5, T0 + 9, T0 + 9, T0 + 2):
        append(log, "v", timestamp=timestamp)
    assert log.max_timestamp_offset() == (T0 + 9, 1, 0)


# Offsets and transactions


def test_the_high_watermark_stays_inside_the_log(place: Place) -> None:
    log = place.open()
    append(log, "a", "b")
    assert log.update_high_watermark(5) == 2
    assert log.update_high_watermark(1) == 1
    assert log.last_stable_offset == 1


def test_the_last_stable_offset_waits_for_the_marker_to_be_replicated(place: Place) -> None:
    log = place.open()
    append(log, "plain")
    log.append_as_leader(produced("a", producer_id=1, epoch=0, sequence=0, transactional=True), leader_epoch=0)
    log.update_high_watermark(2)
    assert log.last_stable_offset == 1
    mark(log, ControlType.ABORT)
    assert (log.update_high_watermark(2), log.last_stable_offset) == (2, 1)
    assert (log.update_high_watermark(3), log.last_stable_offset) == (3, 3)
    result = log.read(0, max_bytes=1000, up_to=3, min_one=True)
    assert [entry[:3] for entry in result.aborted_transactions()] == [(1, 1, 2)]
    for piece in result.slices:
        piece.release()


def test_the_log_start_moves_up_to_the_high_watermark_only(place: Place) -> None:
    log = place.open()
    append(log, "a", "b")
    append(log, "c", epoch=4)
    log.update_high_watermark(2)
    with pytest.raises(OffsetOutOfRange, match="larger than the high watermark 2"):
        log.increment_log_start_offset(3)
    assert log.increment_log_start_offset(2)
    assert not log.increment_log_start_offset(1)
    assert log.leader_epochs.entries == [(4, 2)]


def test_a_topic_id_is_written_once(place: Place) -> None:
    log, topic_id = place.open(), UUID(int=77)
    log.assign_topic_id(NULL_UUID)
    log.assign_topic_id(topic_id)
    log.assign_topic_id(topic_id)
    assert (place.partition / names.PARTITION_METADATA).stat().st_size == 43
    with pytest.raises(InconsistentTopicId):
        log.assign_topic_id(UUID(int=78))


# Truncation and retention


def test_truncation_drops_whole_batches_with_all_that_is_known_of_them(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=200))
    for number in range(6):
        batch = produced("a", "b", producer_id=1, epoch=0, sequence=2 * number)
        log.append_as_leader(batch, leader_epoch=number)
    log.update_high_watermark(12)
    assert log.truncate_to(5)
    assert (log.log_end_offset, log.high_watermark, log.latest_epoch) == (5, 5, 2)
    assert [record.offset for record in all_records(log)] == [0, 1, 2, 3]
    assert log.producers.state.producers[1].last_sequence == 3
    assert log.append_as_leader(produced("c", producer_id=1, epoch=0, sequence=4), leader_epoch=9).first_offset == 5


def test_truncating_to_the_end_or_behind_changes_only_the_epochs(place: Place) -> None:
    log = place.open()
    append(log, "a")
    log.assign_epoch_start(7, 1)
    assert not log.truncate_to(1)
    assert log.leader_epochs.entries == [(0, 0)]
    assert values(log) == ["a"]


def test_truncating_below_the_first_segment_starts_again_there(place: Place) -> None:
    log = place.open()
    log.truncate_fully_and_start_at(10)
    append(log, "a")
    assert log.truncate_to(5)
    assert (log.log_start_offset, log.log_end_offset, log.leader_epochs.entries) == (5, 5, [])
    assert append(log, "b") == 5


def test_starting_again_elsewhere_forgets_everything(place: Place) -> None:
    log = place.open()
    log.append_as_leader(produced("a", producer_id=1, epoch=0, sequence=0), leader_epoch=0)
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (100, 100, 100)
    assert log.producers.state.producers == {}
    assert append(log, "b") == 100


def test_retention_deletes_from_the_oldest_and_moves_the_log_start(place: Place) -> None:
    log = place.open(topic_config(segment_bytes=ONE_RECORD, retention_ms=1000, file_delete_delay_ms=50))
    for number in range(4):
        append(log, "v", timestamp=T0 + number * 1000)
    log.update_high_watermark(3)
    assert delete_old_segments(log, T0 + 2001) == 2
    assert (log.log_start_offset, len(log.segments)) == (2, 2)
    gone = {path.name for path in place.partition.iterdir() if path.suffix == names.DELETED}
    assert {"00000000000000000000.log.deleted", "00000000000000000001.snapshot.deleted"} <= gone
    place.clock.advance(50)
    assert not any(path.suffix == names.DELETED for path in place.partition.iterdir())


def test_when_everything_may_go_an_empty_segment_stays(place: Place) -> None:
    log = place.open(topic_config(retention_ms=0))
    append(log, "a", "b")
    log.update_high_watermark(2)
    assert delete_old_segments(log, T0 + 10_000) == 1
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (2, 2, 1)
    assert append(log, "c") == 2
    assert values(log) == ["c"]


def test_a_compacted_topic_keeps_what_is_old(place: Place) -> None:
    log = place.open(topic_config(cleanup_policy="compact", retention_ms=0))
    append(log, "a")
    log.update_high_watermark(1)
    assert delete_old_segments(log, T0 + 10_000) == 0


def test_a_closed_log_refuses_everything(place: Place) -> None:
    log = place.open()
    append(log, "a")
    log.close()
    log.close()
    with pytest.raises(KafkaStorageError):
        append(log, "b")
    with pytest.raises(KafkaStorageError):
        log.read(0, max_bytes=10, up_to=1, min_one=True)
    with pytest.raises(KafkaStorageError):
        log.truncate_to(0)


def test_files_of_a_log_that_nobody_has_any_more_are_closed(tmp_path: Path) -> None:
    """A load that failed, a directory that went offline: nobody closes what they had open."""

    def open_files() -> list[str]:
        links = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
        return [os.readlink(each) for each in links if str(tmp_path) in os.path.realpath(each)]

    log = Place(tmp_path).open(topic_config(index_interval_bytes=0))
    log.append_as_leader(produced("a"), leader_epoch=0)
    log.append_as_leader(produced("b"), leader_epoch=0)
    assert len(open_files()) >= 3
    del log
    gc.collect()
    assert open_files() == []


def test_a_wrong_index_entry_behind_what_is_read_hides_no_aborted_transaction(place: Place) -> None:
    config = topic_config(index_interval_bytes=100)
    log = place.open(config)
    append(log, "plain")
    for number in range(10):
        batch = produced("a", producer_id=1, epoch=0, sequence=number, transactional=True)
        log.append_as_leader(batch, leader_epoch=0)
    mark(log, ControlType.ABORT)
    for number in range(10):
        append(log, f"later {number}")
    end, wanted_bytes = log.log_end_offset, 500
    log.close()
    path = place.partition / names.offset_file_name(0, names.OFFSET_INDEX)
    entries = list(offset_index.ENTRY.iter_unpack(path.read_bytes()))
    behind = next(slot for slot, (_, position) in enumerate(entries) if position >= wanted_bytes)
    assert entries[0][0] > 1
    entries[behind] = (1, entries[behind][1])
    path.write_bytes(b"".join(offset_index.ENTRY.pack(*entry) for entry in entries))
    log = place.open(config, clean=True, recovery_point=end)
    result = log.read(0, max_bytes=wanted_bytes, up_to=end, min_one=True)
    for piece in result.slices:
        piece.release()
    assert [entry[:3] for entry in result.aborted_transactions()] == [(1, 1, 11)]
