"""One partition's segments: their ends, and the position of an offset.

Role        Plain: opens files for reading only, so a copy on a read-only disk works.
Invariants  Data after the first incomplete or wrong batch is never read. An index only tells where to
            start looking, and the batch there must confirm it; a missing or wrong one costs time, not records.
Source      LogSegment.translateOffset, UnifiedLog recovery.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kafka_zk.log.doctor.partition_files import SegmentOnDisk, list_partition, read_sparse
from kafka_zk.log.doctor.walk import Walked, is_zero, next_batch, walk
from kafka_zk.log.files import names, offset_index
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import HEADER_SIZE, BatchHeader, read_header
from kafka_zk.spark.sources.errors import SourceError
from kafka_zk.spark.sources.log.directories import LogPlace


class Segment(NamedTuple):
    """A segment up to `size_bytes`, where its last whole batch ends; `end_offset` is behind its last record."""

    path: Path
    base_offset: int
    end_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Log:
    """A partition as it can be read. `damage` says what was left out at its end, if anything was."""

    place: LogPlace
    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    damage: str = ""
    is_torn: bool = True
    """Whether a crash explains the damage: a broker's start would cut it off."""


def open_log(place: LogPlace) -> Log:
    """Blocks. Scans what no clean stop guarantees. Raises SourceError."""
    try:
        files = list_partition(place.directory)
        swaps = files.of_kind(names.LOG, names.SWAP)
        if swaps:
            raise SourceError(
                f"{place.directory} holds {names.offset_file_name(swaps[0], names.LOG, names.SWAP)}, of an "
                "unfinished compaction; start the broker once, which completes it."
            )
        return _opened(place, files.segments)
    except OSError as error:
        raise SourceError(f"Cannot read {place.directory}: {error.strerror}") from error


def _opened(place: LogPlace, on_disk: list[SegmentOnDisk]) -> Log:
    segments: list[Segment] = []
    damage, is_torn = "", True
    for each in on_disk:
        path = place.directory / each.name()
        trusted = each.next_base_offset is not None and (
            place.stopped_cleanly or place.recovery_point is None or each.next_base_offset <= place.recovery_point
        )
        if trusted and each.next_base_offset is not None:
            segments.append(Segment(path, each.base_offset, each.next_base_offset, each.size_bytes))
            continue
        end = _end_of(path, each.base_offset, each.size_bytes)
        segments.append(Segment(path, each.base_offset, end.offset, end.position))
        if end.damage:
            damage = f"{path} is damaged from byte {end.position} on, after offset {end.offset - 1}: {end.damage}"
            is_torn = not place.stopped_cleanly and (place.recovery_point is not None or not end.goes_on)
            break
    first = segments[0].base_offset if segments else 0
    start = max(first, place.log_start_offset or 0)
    return Log(place, segments, start, max(start, segments[-1].end_offset if segments else 0), damage, is_torn)


class _End(NamedTuple):
    position: int
    offset: int
    damage: str
    goes_on: bool


def _end_of(path: Path, base_offset: int, size_bytes: int) -> _End:
    """Where the whole and right batches of a segment end."""
    position, offset, damage = 0, base_offset, ""
    with opened(path) as descriptor:
        try:
            for each in walk(descriptor, 0, size_bytes):
                if not each.is_intact:
                    damage = "a checksum is wrong"
                    break
                position, offset = each.position + each.header.size_bytes, each.header.next_offset
        except CorruptMessage as error:
            damage = str(error)
        if position < size_bytes and not damage:
            damage = "the last batch is incomplete"
        if damage and is_zero(descriptor, position, size_bytes):
            return _End(position, offset, "", False)  # Preallocated space.
        goes_on = bool(damage) and next_batch(descriptor, position + 1, size_bytes, offset) is not None
        return _End(position, offset, damage, goes_on)


def batches_from(segment: Segment, offset: int) -> Iterator[Walked]:
    """Blocks in each step. The batches from the one that holds `offset` on. Raises SourceError."""
    with _read(segment) as descriptor:
        for each in _walked(descriptor, segment, _first_position(descriptor, segment, offset)):
            if each.header.last_offset >= offset:
                yield each


def batch_at(segment: Segment, position: int) -> Walked:
    """Blocks. Returns the batch at that byte. Raises SourceError."""
    with _read(segment) as descriptor:
        for each in _walked(descriptor, segment, position):
            return each
    raise SourceError(f"{segment.path} is damaged at byte {position}: there is no complete batch.")


def headers_of(segment: Segment) -> Iterator[tuple[int, BatchHeader]]:
    """Blocks in each step. Position and header of each batch; checksums are not checked. Raises SourceError."""
    with _read(segment) as descriptor:
        position = 0
        while position < segment.size_bytes:
            try:
                header = read_header(os.pread(descriptor, HEADER_SIZE, position))
            except CorruptMessage:
                if is_zero(descriptor, position, segment.size_bytes):
                    return
                raise
            if position + header.size_bytes > segment.size_bytes:
                raise SourceError(f"{segment.path} is damaged at byte {position}: there is no complete batch.")
            yield position, header
            position += header.size_bytes


def _walked(descriptor: int, segment: Segment, position: int) -> Iterator[Walked]:
    for each in walk(descriptor, position, segment.size_bytes):
        if not each.is_intact:
            raise SourceError(
                f"{segment.path} is damaged at byte {each.position}: the checksum of the batch of offsets "
                f"{each.header.base_offset} to {each.header.last_offset} is wrong."
            )
        position = each.position + each.header.size_bytes
        yield each
    if position < segment.size_bytes and not is_zero(descriptor, position, segment.size_bytes):
        raise SourceError(f"{segment.path} is damaged at byte {position}: there is no complete batch.")


@contextmanager
def _read(segment: Segment) -> Iterator[int]:
    """A descriptor for reading; what goes wrong with it, or with the batches, is a SourceError."""
    try:
        with opened(segment.path) as descriptor:
            yield descriptor
    except CorruptMessage as error:
        raise SourceError(f"{segment.path} is damaged: {error}") from error
    except OSError as error:
        raise SourceError(f"Cannot read {segment.path}: {error.strerror}") from error


def _first_position(descriptor: int, segment: Segment, offset: int) -> int:
    """Where to begin looking for `offset`; 0 where the index does not lead to a batch that fits."""
    entries = _entries(segment)
    slot = bisect_right(entries, offset - segment.base_offset, key=lambda entry: entry[0]) - 1
    if slot < 0:
        return 0
    position = entries[slot][1]
    try:
        found = next(walk(descriptor, position, segment.size_bytes), None)
    except CorruptMessage:
        return 0
    fits = found is not None and found.is_intact and segment.base_offset <= found.header.base_offset <= offset
    return position if fits else 0


def _entries(segment: Segment) -> list[tuple[int, int]]:
    """The offset index's entries as far as they rise; nothing for one that is not there."""
    try:
        content, _ = read_sparse(segment.path.with_suffix(names.OFFSET_INDEX))
    except OSError:
        return []
    # Zeros at the end were left out: the last entry may have had some.
    content += bytes(-len(content) % offset_index.ENTRY.size)
    entries: list[tuple[int, int]] = []
    for entry in offset_index.ENTRY.iter_unpack(content):
        if entries and (entry[0] <= entries[-1][0] or entry[1] < entries[-1][1]):
            break
        entries.append(entry)
    return entries


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor for reading."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
