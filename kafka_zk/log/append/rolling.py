"""When and how a log gets a new active segment.

Role        Acts on files, never switches: a roll is one step of an append. The decision is in roll.py.
Invariants  The new base offset is the log end offset, or the first offset of the append that needs it if that is
            larger. What came before is complete and trimmed, its producers are in a snapshot at the new base, and a
            thread syncs it soon; only then the recovery point passes it.
Source      UnifiedLog.maybeRoll, roll; LocalLog.roll.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka_zk.log.files import names
from kafka_zk.log.removal.deletion import remove_segments
from kafka_zk.log.segments.roll import drawn_jitter_ms, has_no_room_for, is_too_old, segment_life_ms
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.errors import CorruptMessage, RecordListTooLarge

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.UnifiedLog")


def roll_if_due(
    log: UnifiedLog, size: int, first_offset: int, last_offset: int, max_timestamp: int, now_ms: int
) -> LogSegment:
    """The segment for an append: the active one, or a new one. Raises RecordListTooLarge, KafkaStorageError."""
    if size > log.segment_bytes:
        raise RecordListTooLarge(
            f"Message batch size is {size} bytes in append to partition {log.topic_partition}, "
            f"which exceeds the maximum configured segment size of {log.segment_bytes}."
        )
    segment, life_ms = log.active, _life_ms(log)
    with log.log_dir.guard(f"Error while rolling log segment for {log.topic_partition}"):
        log.log_dir.open_segments.track(segment)
        segment.load_times()
        no_room = has_no_room_for(
            size_bytes=segment.size_bytes,
            append_bytes=size,
            segment_bytes=log.segment_bytes,
            base_offset=segment.base_offset,
            last_offset=last_offset,
            indexes_full=segment.indexes_full,
        )
        too_old = is_too_old(
            size_bytes=segment.size_bytes,
            first_timestamp=segment.first_timestamp,
            append_timestamp=max_timestamp,
            created_ms=segment.created_ms,
            now_ms=now_ms,
            segment_ms=life_ms,
            jitter_ms=segment.jitter_ms,
        )
        if no_room or too_old:
            return roll(log, first_offset)
    if segment.size_bytes and segment.first_timestamp >= 0:
        segment.roll_after_timestamp = segment.first_timestamp + life_ms - segment.jitter_ms
    return segment


def roll(log: UnifiedLog, expected_next_offset: int = 0) -> LogSegment:
    """Start a new active segment at the log end offset, or behind it if the next append begins there.

    The caller has the turn or does not switch. What came before is synced in the background. Raises OSError.
    Source: LocalLog.roll, UnifiedLog.roll.
    """
    base_offset = max(expected_next_offset, log.log_end_offset)
    old = log.active
    if old.base_offset == base_offset:
        assert old.size_bytes == 0, f"a second segment at {base_offset} of {log.topic_partition}"
        remove_segments(log, [old])
    else:
        old.become_inactive()
        log.producers.state.map_end_offset = base_offset
        snapshot = log.producers.take_snapshot(durable=False)
        log.flusher.flush_soon(old, base_offset, snapshot, is_gap=not _reaches(old, base_offset))
    for kind in names.SEGMENT_FILES:
        log.log_dir.disk.remove_if_exists(log.directory / names.offset_file_name(base_offset, kind))
    add_segment(log, base_offset)
    log_lines.info("%s Rolled new log segment at offset %d.", log.prefix, base_offset)
    return log.active


def skip_to(log: UnifiedLog, offset: int) -> None:
    """Go on at `offset`, behind the end: in a log that this one is a copy of, what stood in between was cleaned away.

    The caller has the turn. Raises KafkaStorageError.
    """
    with log.log_dir.guard(f"Error while rolling log segment for {log.topic_partition}"):
        log.refuse_if_closed()
        roll(log, offset)
        log.log_end_offset = offset


def _reaches(old: LogSegment, base_offset: int) -> bool:
    """Whether the next segment begins where `old` ends. A leader's log was once cleaned, or a batch was cut in two."""
    try:
        return old.next_offset() == base_offset
    except CorruptMessage:
        return False


def add_segment(log: UnifiedLog, base_offset: int) -> None:
    """Make an empty active segment. Raises OSError."""
    config = log.config
    segment = LogSegment(
        log.directory,
        base_offset,
        config,
        created_ms=log.log_dir.clock.wall_ms(),
        jitter_ms=drawn_jitter_ms(
            jitter_ms=config.segment_jitter_ms, segment_ms=config.segment_ms, draw_below=log.jitter_below
        ),
        disk=log.log_dir.disk,
    )
    log.log_dir.open_segments.track(segment)
    segment.create_files(preallocate_bytes=config.segment_bytes if config.preallocate else 0)
    log.segments.add(segment)
    log.active = segment


def _life_ms(log: UnifiedLog) -> int:
    config = log.config
    return segment_life_ms(
        segment_ms=config.segment_ms, max_compaction_lag_ms=config.max_compaction_lag_ms, compact=config.compact
    )
