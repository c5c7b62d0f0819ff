"""NNN.log: the batches of one segment, one after another.

Role        Plain. One descriptor, shared by the writer and by every slice that a response still has to send.
Layout      Record batches of any magic (record/batch.py), back to back from byte 0. With preallocation, and after a
            crash, zeros may follow; they cannot be a batch because a batch's length is at least 14.
Invariants  `size_bytes` is where the next batch is written; the file is at least that long. A failed write leaves the
            file cut back to it. The descriptor stays open while the file is held (`retain`), even after
            `close`: its number would be given to another file, and that file's bytes would be sent.
            `generation` grows with each truncation, so a holder can tell that its position may hold other bytes.
Source      FileRecords.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from kafka_zk.log.files.disk import DISK, Disk, short_write
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import HEADER_SIZE, LOG_OVERHEAD, Batch, BatchHeader, batch_size, read_header

_skim = struct.Struct(">qi4xb6xi").unpack_from
"""Of a magic 2 batch: base offset, length, magic, last offset delta."""

SCAN_BYTES = 16 * 1024
"""One read of a header scan: a few index intervals, so most look-ups need one."""

WHOLE_SCAN_BYTES = 1024 * 1024
"""Size of a read when every byte is checked (recovery)."""


class SegmentFile:
    """Opened on first use. `was_used` lets a caller close files that are not in use."""

    __slots__ = (
        "_closed",
        "_descriptor",
        "_disk",
        "_holders",
        "generation",
        "path",
        "pwrite",
        "size_bytes",
        "was_used",
    )

    def __init__(self, path: Path, size_bytes: int, disk: Disk = DISK) -> None:
        """A file of `size_bytes` valid bytes; it need not exist while that is 0."""
        self.path = path
        self.size_bytes = size_bytes
        self.generation = 0
        self.was_used = False
        self.pwrite = disk.pwrite
        self._disk = disk
        self._descriptor = -1
        self._holders = 0
        self._closed = False

    def fileno(self) -> int:
        """The descriptor, opened if need be. Raises OSError."""
        self.was_used = True
        if self._descriptor < 0:
            self._descriptor = self._disk.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return self._descriptor

    @property
    def is_open(self) -> bool:
        return self._descriptor >= 0

    @property
    def is_given_up(self) -> bool:
        """Whether `close` was called: nothing of this segment is to be changed any more."""
        return self._closed

    def write(self, data: Buffer) -> None:
        """Write `data` behind the last batch; the size stays the caller's to move. Raises OSError after cutting back.

        Touches no state but the file's, so a pool thread may run it while the caller holds the log's turn.
        """
        self.was_used = True
        descriptor = self._descriptor if self._descriptor >= 0 else self.fileno()
        try:
            # Disk.write_whole without its call: this is every produce.
            written = self.pwrite(descriptor, data, self.size_bytes)
            if written != len(data):
                raise short_write(written, len(data))
        except OSError:
            self.cut_back()
            raise

    def cut_back(self) -> None:
        """Make the file end where the last whole write ended. Never raises: the first error is the one to tell."""
        try:
            self._disk.ftruncate(self.fileno(), self.size_bytes)
        except OSError:
            return

    def preallocate(self, size_bytes: int) -> None:
        """Give the file its final length; the batches still begin at 0. Raises OSError."""
        self._disk.ftruncate(self.fileno(), size_bytes)

    def truncate(self, size_bytes: int) -> None:
        """Cut the file. Raises OSError."""
        self.generation += 1
        self._disk.ftruncate(self.fileno(), size_bytes)
        self.size_bytes = size_bytes

    def trim(self) -> bool:
        """Drop preallocated space behind the last batch; returns whether there was any. Raises OSError."""
        descriptor = self.fileno()
        if os.fstat(descriptor).st_size == self.size_bytes:
            return False
        self._disk.ftruncate(descriptor, self.size_bytes)
        return True

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """At most `size_bytes`; less only at the end of the file. Raises OSError."""
        return os.pread(self.fileno(), size_bytes, position)

    def flush(self) -> None:
        """fsync. Raises OSError."""
        if self._descriptor >= 0:
            self._disk.fsync(self._descriptor)
        elif self.path.exists():
            self._disk.sync_path(self.path)

    def retain(self) -> None:
        """Hold the descriptor open until `release`."""
        self._holders += 1

    def release(self) -> None:
        self._holders -= 1
        if self._closed and not self._holders:
            self._close_descriptor()

    def close(self) -> None:
        """Give the descriptor back, at once or when the last holder releases it."""
        self._closed = True
        if not self._holders:
            self._close_descriptor()

    def close_if_idle(self) -> bool:
        """Close the descriptor unless it is held; the next use reopens it."""
        if self._holders:
            return False
        self._close_descriptor()
        return True

    def headers(self, position: int, end: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of every whole batch from `position` to `end` (the size by default).

        Reads little more than the headers. Raises CorruptMessage, OSError.
        """
        limit = self.size_bytes if end is None else end
        chunk, start = b"", position
        while limit - position >= LOG_OVERHEAD:
            at = position - start
            if at + HEADER_SIZE > len(chunk) and start + len(chunk) < limit:
                chunk, start, at = self.read_at(position, min(SCAN_BYTES, limit - position)), position, 0
                if not chunk:
                    raise CorruptMessage(f"{self.path} ends at {position}, before its size {limit}")
            size = batch_size(chunk, at)
            if size is None or position + size > limit:
                return
            yield position, read_header(chunk, at)
            position += size

    def first_reaching(self, position: int, offset: int) -> tuple[int, BatchHeader] | None:
        """Position and header of the first batch from `position` on whose last offset is >= `offset`.

        Skims over magic 2 batches without reading their headers whole. Raises CorruptMessage, OSError.
        """
        limit = self.size_bytes
        while limit - position >= HEADER_SIZE:
            chunk = self.read_at(position, min(SCAN_BYTES, limit - position))
            at, last = 0, len(chunk) - HEADER_SIZE
            while at <= last:
                base_offset, length, magic, delta = _skim(chunk, at)
                if magic != 2 or length < HEADER_SIZE - LOG_OVERHEAD:
                    return self._first_by_headers(position + at, offset)
                if base_offset + delta >= offset:
                    whole = position + at + length + LOG_OVERHEAD <= limit
                    return (position + at, read_header(chunk, at)) if whole else None
                at += length + LOG_OVERHEAD
            if not at:
                break
            position += at
        return self._first_by_headers(position, offset)

    def _first_by_headers(self, position: int, offset: int) -> tuple[int, BatchHeader] | None:
        for found, header in self.headers(position):
            if header.base_offset + header.last_offset_delta >= offset:
                return found, header
        return None

    def batches(self, position: int = 0, end: int | None = None) -> Iterator[Batch]:
        """Every whole batch with its bytes. `Batch.position` is inside its buffer, not in the file.

        Raises CorruptMessage, OSError. A batch larger than one read gets its own buffer.
        """
        limit = self.size_bytes if end is None else end
        while (window := self.window(position, limit)) is not None:
            at = 0
            while (size := batch_size(window, at)) is not None and at + size <= len(window):
                yield Batch(window, at, read_header(window, at))
                at += size
            position += at

    def window(self, position: int, limit: int) -> memoryview | None:
        """Bytes from `position` on, not beyond `limit`, with at least one whole batch; None when there is none.

        Raises CorruptMessage, OSError.
        """
        left = limit - position
        if left < LOG_OVERHEAD:
            return None
        window = memoryview(self.read_at(position, min(WHOLE_SCAN_BYTES, left)))
        size = batch_size(window)
        if size is None or size > left:
            return None
        if size > len(window):
            window = memoryview(self.read_at(position, size))
            if len(window) < size:
                raise CorruptMessage(f"{self.path} ends at {position + len(window)}, before its size {limit}")
        return window

    def read_batch(self, position: int, size_bytes: int) -> Batch:
        """The batch of known size at `position`. Raises CorruptMessage, OSError."""
        data = memoryview(self.read_at(position, size_bytes))
        return Batch(data, 0, read_header(data))

    def __del__(self) -> None:
        # A log that could not be loaded, or whose directory failed, is never closed explicitly.
        self._close_descriptor()

    def _close_descriptor(self) -> None:
        if self._descriptor >= 0:
            self._disk.close(self._descriptor)
            self._descriptor = -1

    def __repr__(self) -> str:
        return f"{self.path.name} size={self.size_bytes} holders={self._holders} generation={self.generation}"
