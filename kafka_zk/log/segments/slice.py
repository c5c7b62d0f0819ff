"""FileSlice: part of a segment that a response still has to send.

Invariants  The segment's descriptor stays open until `release`, which is called exactly once.
            `is_intact` is asked before each chunk: after a truncation this position may hold other bytes.
Source      FileRecords.slice, DefaultFileRegion.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from kafka_zk.log.files.segment_file import SegmentFile

WARM_BYTES = 64 * 1024 * 1024
"""How much of the end of an active segment is taken to be in the page cache, if this process wrote it."""


class FileSlice:
    """`size_bytes` bytes from `position` on. `is_cold`: reading them may wait for the disk."""

    __slots__ = ("_file", "_generation", "fileno", "is_cold", "position", "size_bytes")

    def __init__(self, file: SegmentFile, position: int, size_bytes: int, is_cold: bool) -> None:
        self._file = file
        self._generation = file.generation
        self.position = position
        self.size_bytes = size_bytes
        self.is_cold = is_cold
        self.fileno = file.fileno()
        file.retain()

    @property
    def is_intact(self) -> bool:
        return self._file.generation == self._generation

    @property
    def file(self) -> SegmentFile:
        """For those who remember what a file holds."""
        return self._file

    def release(self) -> None:
        self._file.release()

    def read(self) -> bytes:
        """The bytes themselves, for those who must look into them (conversion, coordinators). Raises OSError."""
        return self._file.read_at(self.position, self.size_bytes)

    def __repr__(self) -> str:
        return f"{self._file.path.name}[{self.position}:{self.position + self.size_bytes}]"
