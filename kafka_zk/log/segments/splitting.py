"""Splits a segment whose offsets overflow its base offset.

Role        Acts on files, plain and synchronous. A start and the cleaner share it; each puts the parts in its place.
            Such segments were written by old brokers, or made by their cleaners.
Invariants  Every batch is copied unchanged, into the last of the new segments or one that begins with it. What follows
            the last whole batch stays after it, to be checked later. Entries of the transaction index go to the
            part that holds their marker.
            Differs from Kafka: there those entries are lost, and records of aborted transactions are committed then.
Source      Kafka 3.9 LocalLog.splitOverflowedSegment, LogSegment.appendFromFile; KAFKA-6264.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import BatchHeader

BATCHES_BYTES = 1024 * 1024
"""How much is copied in one write."""


class OverflowedSegment(Exception):
    """An offset of `segment` lies so far behind its base that no index entry can say it."""

    def __init__(self, segment: LogSegment, offset: int) -> None:
        super().__init__(f"Detected offset overflow at offset {offset} in segment {segment}")
        self.segment = segment


def may_overflow(segment: LogSegment, next_base_offset: int) -> bool:
    """Whether an offset out of reach of the base may exist before the next segment. Reads nothing."""
    return next_base_offset - 1 - segment.base_offset > MAX_RELATIVE_OFFSET


def overflowing_offset(segment: LogSegment) -> int | None:
    """The first offset out of reach of the base; None when there is none.

    Offsets are not under the crc: one that is not below the next is damaged, not out of reach. Raises OSError.
    """
    overflowing, next_offset = None, segment.base_offset
    for _, header in _whole_batches(segment):
        if header.base_offset < next_offset:
            return None
        next_offset = header.next_offset
        if overflowing is None and header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
            overflowing = header.last_offset
    return overflowing


def split(segment: LogSegment, directory: Path, config: LogConfig, *, now_ms: int, disk: Disk) -> list[LogSegment]:
    """The parts of `segment`, as .cleaned files, synced and as old as it. Raises OSError, and leaves nothing then."""
    parts: list[LogSegment] = []
    try:
        end = 0
        for chunk in _chunks(segment):
            if chunk.begins_part:
                parts.append(_new_part(directory, chunk.headers[0].base_offset, config, now_ms, disk))
            end = chunk.position + chunk.size_bytes
            _copy(segment, parts[-1], chunk)
        _copy_rest(segment, parts[-1], end)
        _share_aborted(segment, parts)
        modified_ns = os.stat(segment.file.path).st_mtime_ns
        for part in parts:
            part.become_inactive()
            part.flush()
            for path in (part.file.path, part.indexes.offset.file.path, part.indexes.time.file.path):
                os.utime(path, ns=(modified_ns, modified_ns))
    except BaseException:
        discard(parts, disk)
        raise
    return parts


def discard(parts: list[LogSegment], disk: Disk) -> None:
    """Leave nothing of parts that are not in place yet. After a failed swap a start looks after what is left."""
    for part in parts:
        part.close_files()
        for path in part.paths():
            if path.name.endswith(names.CLEANED):
                with suppress(OSError):
                    disk.remove_if_exists(path)


class _Chunk:
    """Adjacent whole batches that belong to the same part."""

    __slots__ = ("begins_part", "headers", "position", "size_bytes")

    def __init__(self, position: int, *, begins_part: bool) -> None:
        self.position = position
        self.begins_part = begins_part
        self.headers: list[BatchHeader] = []
        self.size_bytes = 0

    def take(self, header: BatchHeader) -> None:
        self.headers.append(header)
        self.size_bytes += header.size_bytes


def _chunks(segment: LogSegment) -> Iterator[_Chunk]:
    chunk: _Chunk | None = None
    base_offset = -1
    for position, header in _whole_batches(segment):
        begins_part = base_offset < 0 or header.last_offset - base_offset > MAX_RELATIVE_OFFSET
        if chunk is None or begins_part or chunk.size_bytes >= BATCHES_BYTES:
            if chunk is not None:
                yield chunk
            chunk = _Chunk(position, begins_part=begins_part)
            base_offset = header.base_offset if begins_part else base_offset
        chunk.take(header)
    if chunk is not None:
        yield chunk


def _whole_batches(segment: LogSegment) -> Iterator[tuple[int, BatchHeader]]:
    """Up to the first that cannot be one. Raises OSError."""
    with suppress(CorruptMessage):
        yield from segment.file.headers(0)


def _copy(source: LogSegment, part: LogSegment, chunk: _Chunk) -> None:
    part.file.write(source.file.read_at(chunk.position, chunk.size_bytes))
    part.appended_batches(chunk.headers)


def _copy_rest(source: LogSegment, part: LogSegment, position: int) -> None:
    while position < source.size_bytes:
        data = source.file.read_at(position, min(BATCHES_BYTES, source.size_bytes - position))
        part.file.write(data)
        part.file.size_bytes += len(data)
        position += len(data)


def _share_aborted(source: LogSegment, parts: list[LogSegment]) -> None:
    for entry in source.aborted_transactions():
        holder = [part for part in parts if part.base_offset <= entry.last_offset]
        if holder:
            holder[-1].indexes.transaction.append(entry)


def _new_part(directory: Path, base_offset: int, config: LogConfig, now_ms: int, disk: Disk) -> LogSegment:
    for kind in names.SEGMENT_FILES:
        disk.remove_if_exists(directory / names.offset_file_name(base_offset, kind, names.CLEANED))
    part = LogSegment(directory, base_offset, config, created_ms=now_ms, disk=disk, suffix=names.CLEANED)
    part.create_files()
    return part
