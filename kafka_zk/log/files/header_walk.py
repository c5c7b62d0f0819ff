"""Walks batch headers to count the records in part of a segment.

Role        Plain and synchronous: for the loop where the bytes are in the page cache, for a thread where they are not.
Source      FileLogInputStream; the count is DefaultRecordBatch's, which the cleaner keeps right.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from kafka_zk.record.batch import HEADER_SIZE, Batch, BatchHeader, read_header
from kafka_zk.record.record import decode_records

WINDOW_BYTES = 4096
"""Read at a time: many small batches at once, and not much in vain of a large one."""

MAGIC_WITH_COUNT = 2


class CountedBatch(NamedTuple):
    """`record_count` are a consumer's: the marker in a control batch is none."""

    position: int
    header: BatchHeader
    record_count: int


def walk(fileno: int, position: int, end: int, limit: int) -> list[CountedBatch]:
    """Blocks. The batches from `position` on that end at or before `end`, at most `limit`.

    Raises OSError, CorruptMessage, and what a batch of before magic 2 that must be decoded raises.
    """
    found: list[CountedBatch] = []
    window, window_at = b"", position
    while position + HEADER_SIZE <= end and len(found) < limit:
        at = position - window_at
        if at + HEADER_SIZE > len(window):
            window, window_at, at = os.pread(fileno, WINDOW_BYTES, position), position, 0
        header = read_header(window, at)
        if position + header.size_bytes > end:
            break
        found.append(CountedBatch(position, header, _count(fileno, position, header)))
        position += header.size_bytes
    return found


def _count(fileno: int, position: int, header: BatchHeader) -> int:
    if header.magic == MAGIC_WITH_COUNT:
        return 0 if header.is_control else header.record_count
    return len(decode_records(read_batch(fileno, position, header)))


def read_batch(fileno: int, position: int, header: BatchHeader) -> Batch:
    """Blocks. The batch whose header is at `position`. Raises OSError."""
    return Batch(memoryview(os.pread(fileno, header.size_bytes, position)), 0, header)


def count_below(fileno: int, position: int, offset: int) -> int:
    """Blocks. The records below `offset` in the batch at `position`. Raises as `walk` does."""
    header = read_header(os.pread(fileno, WINDOW_BYTES, position), 0)
    if header.magic == MAGIC_WITH_COUNT:
        if header.base_offset >= offset or header.is_control:
            return 0
        if header.record_count == header.last_offset_delta + 1:
            return min(offset - header.base_offset, header.record_count)
    return sum(record.offset < offset for record in decode_records(read_batch(fileno, position, header)))
