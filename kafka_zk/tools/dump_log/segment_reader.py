"""The batches of a segment in any state: no stored value is trusted before it is printed.

Role        Reads by descriptor and position, a chunk at a time; a batch that is larger than a chunk is mapped, so that
            a wrong length costs address space, not memory. The broker's own reader (log/files) refuses what it cannot
            serve; this one shows it, and stops where Apache's tool stops.
Source      Kafka 3.9 FileRecords.slice, FileLogInputStream, RecordBatchIterator.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import (
    CRC_FROM,
    HEADER,
    HEADER_SIZE,
    HEADER_SIZE_UP_TO_MAGIC,
    LEGACY_MIN_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    NO_COUNT,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
)
from kafka_zk.record.crc import crc32c
from kafka_zk.tools.common.java_output import JavaError, illegal_argument
from kafka_zk.tools.dump_log.java_file import ILLEGAL_ARGUMENT, KAFKA_EXCEPTION, Damaged, JavaFile, java_error

CHUNK_BYTES = 1024 * 1024
MAX_INT32 = 2**31 - 1

_LENGTH_MAGIC = struct.Struct(">8xi4xb")
_LEGACY_HEADS = {0: struct.Struct(">qiIbb"), 1: struct.Struct(">qiIbbq")}


class StoredBatch(NamedTuple):
    """A batch as stored in the file. `data` is its own bytes, of the length that it states."""

    position: int
    header: BatchHeader
    data: memoryview

    @property
    def is_valid(self) -> bool:
        """Whether it is long enough for its magic and its crc matches."""
        if self.header.magic < 2:
            return self.header.crc == zlib.crc32(self.data[MAGIC_AT:])
        return len(self.data) >= HEADER_SIZE and self.header.crc == crc32c(self.data[CRC_FROM:])


class SegmentReader:
    """An open .log file. Use as a context manager."""

    def __init__(self, file: JavaFile) -> None:
        """Raises JavaError as Java does where the file cannot be opened."""
        self.file = file
        try:
            self._descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise java_error(error, file) from error
        self.size_bytes = os.fstat(self._descriptor).st_size
        if self.size_bytes > MAX_INT32:
            self.close()
            raise JavaError(
                f"The size of segment {file} ({self.size_bytes}) is larger than the maximum allowed segment size "
                f"of {MAX_INT32}",
                KAFKA_EXCEPTION,
            )

    def __enter__(self) -> SegmentReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)

    def __str__(self) -> str:
        return f"FileRecords(size={self.size_bytes}, file={self.file}, start=0, end={MAX_INT32})"

    def end_of_slice(self, position: int, size_bytes: int) -> int:
        """Where a slice of at most `size_bytes` from `position` ends. Raises JavaError."""
        if position < 0:
            raise Damaged(f"Invalid position: {position} in read from {self}", ILLEGAL_ARGUMENT)
        if position > self.size_bytes:
            raise Damaged(f"Slice from position {position} exceeds end position of {self}", ILLEGAL_ARGUMENT)
        if size_bytes < 0:
            raise illegal_argument(f"Invalid size: {size_bytes} in read from {self}")
        return min(position + size_bytes, self.size_bytes)

    def batches(self, position: int, end: int) -> Iterator[StoredBatch]:
        """The whole batches in [position, end). Raises CorruptMessage for a length no batch can have, JavaError."""
        chunk, chunk_at = memoryview(b""), position
        while position < end - HEADER_SIZE_UP_TO_MAGIC:
            at = position - chunk_at
            if at + HEADER_SIZE > len(chunk):
                chunk, chunk_at, at = self._read(position, CHUNK_BYTES), position, 0
            length, magic = self._head(chunk, at)
            if position > end - LOG_OVERHEAD - length:
                return
            size = length + LOG_OVERHEAD
            if at + size > len(chunk):
                # The header may be longer than the batch's stated length.
                chunk, chunk_at, at = self._read(position, max(size, CHUNK_BYTES)), position, 0
            if magic == 2 and at + HEADER_SIZE <= len(chunk):
                header: BatchHeader = tuple.__new__(BatchHeader, HEADER.unpack_from(chunk, at))
            else:
                header = self._unusual_header(chunk, at, magic, position, end)
            yield StoredBatch(position, header, chunk[at : at + size])
            position += size

    def headers(self, position: int, end: int) -> Iterator[BatchHeader]:
        """The headers of the same batches, reading little more than the headers."""
        while position < end - HEADER_SIZE_UP_TO_MAGIC:
            chunk = self._read(position, HEADER_SIZE)
            length, magic = self._head(chunk, 0)
            if position > end - LOG_OVERHEAD - length:
                return
            yield self._unusual_header(chunk, 0, magic, position, end)
            position += length + LOG_OVERHEAD

    def _head(self, chunk: memoryview, at: int) -> tuple[int, int]:
        if at + HEADER_SIZE_UP_TO_MAGIC > len(chunk):
            raise CorruptMessage("Unexpected EOF while attempting to read the next batch")
        length, magic = _LENGTH_MAGIC.unpack_from(chunk, at)
        if length < LEGACY_MIN_SIZE:
            raise CorruptMessage(
                f"Found record size {length} smaller than minimum record overhead ({LEGACY_MIN_SIZE}) "
                f"in file {self.file}."
            )
        return length, magic

    def _unusual_header(self, chunk: memoryview, at: int, magic: int, position: int, end: int) -> BatchHeader:
        """Of any magic, at the end of a file too. Below 2 it is read as a message, from 2 on as a batch."""
        try:
            if magic >= 2:
                return BatchHeader(*HEADER.unpack_from(chunk, at))
            timestamp = NO_TIMESTAMP
            fields = _LEGACY_HEADS[0 if magic == 0 else 1].unpack_from(chunk, at)
            offset, length, crc, _, attributes = fields[:5]
            if magic != 0:
                timestamp = fields[5]
        except struct.error:
            raise Damaged(
                f"Failed to load record batch at position {position} from {self._slice_text(end)}", KAFKA_EXCEPTION
            ) from None
        return BatchHeader(
            offset,
            length,
            NO_LEADER_EPOCH,
            magic,
            crc,
            attributes,
            0,
            timestamp,
            timestamp,
            NO_PRODUCER_ID,
            NO_PRODUCER_EPOCH,
            NO_SEQUENCE,
            NO_COUNT,
        )

    def _slice_text(self, end: int) -> str:
        return f"FileRecords(size={end}, file={self.file}, start=0, end={end})"

    def _read(self, position: int, size_bytes: int) -> memoryview:
        size_bytes = min(size_bytes, self.size_bytes - position)
        try:
            if size_bytes > CHUNK_BYTES:
                return self._map(position, size_bytes)
            return memoryview(os.pread(self._descriptor, size_bytes, position))
        except OSError as error:
            raise java_error(error, self.file) from error

    def _map(self, position: int, size_bytes: int) -> memoryview:
        shift = position % mmap.ALLOCATIONGRANULARITY
        mapped = mmap.mmap(
            self._descriptor, size_bytes + shift, mmap.MAP_SHARED, mmap.PROT_READ, offset=position - shift
        )
        return memoryview(mapped)[shift:]
