"""Down-converts part of a segment file into another file: run by a helper process for old fetchers.

Role        Plain. Reads and writes by descriptor and position, a little at a time, so that the process stays small.
Invariants  At least one batch is converted, however large. Started again it writes the same bytes to the same place.
Source      Kafka 3.9 LazyDownConversionRecords, LazyDownConversionRecordsSend.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import HEADER_SIZE_UP_TO_MAGIC, Batch, batch_size, batches
from kafka_zk.record.conversion import DownConversion

CHUNK_BYTES = 256 * 1024


class ConversionCost(NamedTuple):
    """What Kafka counts of a conversion; `size_bytes` is the answer's size."""

    size_bytes: int
    record_count: int
    temporary_bytes: int
    duration_ns: int


def down_convert(
    source: Descriptor,
    position: int,
    size_bytes: int,
    target: Descriptor,
    target_position: int,
    magic: int,
    first_offset: int,
    limit_bytes: int,
) -> ConversionCost:
    """Blocks. Convert what lies in source[position : position + size_bytes], at most about `limit_bytes` of it.

    Raises what `DownConversion.parts` raises, CorruptMessage, OSError.
    """
    started_ns = time.monotonic_ns()
    if limit_bytes < size_bytes:
        first = batch_size(os.pread(source.fileno, HEADER_SIZE_UP_TO_MAGIC, position)) or 0
        size_bytes = min(size_bytes, max(limit_bytes, first))
    conversion = DownConversion(magic=magic, first_offset=first_offset)
    parts = conversion.parts(stored_batches(source.fileno, position, size_bytes), size_bytes)
    written = _write_all(target.fileno, target_position, parts)
    duration_ns = time.monotonic_ns() - started_ns
    return ConversionCost(written, conversion.record_count, conversion.temporary_bytes, duration_ns)


def stored_batches(fileno: int, position: int, size_bytes: int) -> Iterator[Batch]:
    """The whole batches of a stretch of a file, which may have become shorter. Raises CorruptMessage, OSError."""
    end = position + size_bytes
    chunk_bytes = CHUNK_BYTES
    while position < end:
        chunk = memoryview(os.pread(fileno, min(chunk_bytes, end - position), position))
        at = 0
        for batch in batches(chunk):
            yield batch
            at = batch.end
        position += at
        if at:
            chunk_bytes = CHUNK_BYTES
            continue
        size = batch_size(chunk)
        if size is None or size <= len(chunk) or size > end - position:
            return
        chunk_bytes = size


def _write_all(fileno: int, position: int, parts: Iterator[Buffer]) -> int:
    """How many bytes were written."""
    start, gathered, gathered_bytes = position, [], 0
    for part in parts:
        gathered.append(part)
        gathered_bytes += len(part)
        if gathered_bytes >= CHUNK_BYTES:
            position += _write(fileno, b"".join(gathered), position)
            gathered, gathered_bytes = [], 0
    return position + _write(fileno, b"".join(gathered), position) - start


def _write(fileno: int, data: bytes, position: int) -> int:
    written = 0
    while written < len(data):
        written += os.pwrite(fileno, memoryview(data)[written:], position + written)
    return written
