"""Splitting a segment whose offsets no longer fit behind its base.

Role        Acts on files. Such segments were written by old brokers, or made by their cleaners.
Invariants  Every batch is copied as it is, into the last of the new segments or one that begins with it. The swap is
            that of a cleaning; what a crash leaves a start undoes or completes in the same way.
Source      Kafka 3.9 LocalLog.splitOverflowedSegment, UnifiedLog.splitOverflowedSegment; KAFKA-6264.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kafka_zk.log.cleaner.swap import replace_segments
from kafka_zk.log.files import names
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET
from kafka_zk.log.segments.segment import LogSegment

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.UnifiedLog")

BATCHES_BYTES = 1024 * 1024
"""How much is copied in one append."""


def split_segment(log: UnifiedLog) -> None:
    """Blocks. Split the first segment of `log` that needs it. Raises CorruptMessage, KafkaStorageError."""
    with log.turn, log.log_dir.guard(f"Error while splitting a segment of {log.topic_partition}"):
        log.refuse_if_closed()
        segment = next((each for each in log.segments if each is not log.active and _overflows(each)), None)
        if segment is None:
            return
        log_lines.info("%s Splitting overflowed segment %s", log.prefix, segment)
        pools = log.log_dir.pools
        parts: list[LogSegment] = []
        try:
            pools.run_to_end(pools.maintenance, _copy_parts, log, segment, parts)
            log_lines.info("%s Replacing overflowed segment %s with split segments %s", log.prefix, segment, parts)
            replace_segments(log, parts, [segment])
        except BaseException:
            for part in parts:
                part.close_files()
                for path in part.paths():
                    if path.name.endswith(names.CLEANED) and not log.log_dir.is_offline:
                        with suppress(OSError):
                            log.log_dir.disk.remove_if_exists(path)
            raise


def _overflows(segment: LogSegment) -> bool:
    return any(header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET for _, header in segment.file.headers(0))


def _copy_parts(log: UnifiedLog, source: LogSegment, parts: list[LogSegment]) -> None:
    """Fill `parts`, synced and as old as the source. Raises CorruptMessage, OSError."""
    start, appended = 0, None
    for position, header in source.file.headers(0):
        size = position + header.size_bytes - start
        part = parts[-1] if parts else None
        if part is None or header.last_offset - part.base_offset > MAX_RELATIVE_OFFSET:
            if part is not None and appended is not None:
                _append(part, source, start, position, appended)
            part = _new_part(log, header.base_offset)
            parts.append(part)
            start, size, appended = position, header.size_bytes, None
        newest = header if appended is None or header.max_timestamp > appended[1] else None
        appended = (
            header.last_offset,
            header.max_timestamp if newest is not None or appended is None else appended[1],
            header.last_offset if newest is not None or appended is None else appended[2],
        )
        if size >= BATCHES_BYTES:
            _append(part, source, start, position + header.size_bytes, appended)
            start, appended = position + header.size_bytes, None
    if parts and appended is not None:
        _append(parts[-1], source, start, source.size_bytes, appended)
    modified_ns = os.stat(source.file.path).st_mtime_ns
    for part in parts:
        part.become_inactive()
        part.flush()
        for path in (part.file.path, part.offset_index.file.path, part.time_index.file.path):
            os.utime(path, ns=(modified_ns, modified_ns))


def _append(part: LogSegment, source: LogSegment, start: int, end: int, appended: tuple[int, int, int]) -> None:
    data = source.file.read_at(start, end - start)
    part.file.write(data)
    part.appended(len(data), *appended)


def _new_part(log: UnifiedLog, base_offset: int) -> LogSegment:
    for kind in names.SEGMENT_FILES:
        log.log_dir.disk.remove_if_exists(log.directory / names.offset_file_name(base_offset, kind, names.CLEANED))
    part = LogSegment(
        log.directory,
        base_offset,
        log.config,
        created_ms=log.log_dir.clock.wall_ms(),
        disk=log.log_dir.disk,
        state=names.CLEANED,
    )
    part.create_files()
    return part
