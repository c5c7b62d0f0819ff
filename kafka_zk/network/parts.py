"""The parts of a response: bytes, and slices of log segments.

Role        Pure. The types that encoders make, that wait in an AnswerQueue, and that a Transport sends.
Source      Send, ByteBufferSend and RecordsSend in Kafka 3.9.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from typing import Final, Protocol, TypeAlias


class FileSlice(Protocol):
    """Bytes of a log segment, reserved for a response. The package `log` makes it; call `release` exactly once."""

    @property
    def fileno(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def is_cold(self) -> bool:
        """Whether the bytes may have left the page cache, so that reading them can wait for the disk."""
        ...

    @property
    def is_intact(self) -> bool:
        """False once the segment was truncated: this position may hold other bytes now."""
        ...

    def release(self) -> None: ...


Part: TypeAlias = "bytes | bytearray | memoryview | FileSlice"
Parts = list[Part]
"""One answer as it goes out: its size prefix, then its bytes and file slices. Empty: the request has no answer."""

IN_MEMORY: Final = (bytes, bytearray, memoryview)


def part_size(part: Part) -> int:
    """Bytes of a part on the wire."""
    return len(part) if isinstance(part, IN_MEMORY) else part.size_bytes


def bytes_in_memory(parts: Parts) -> int:
    """Bytes of the parts that take memory: slices of segments do not."""
    size_bytes = 0
    for part in parts:
        if isinstance(part, IN_MEMORY):
            size_bytes += len(part)
    return size_bytes


def release(parts: Parts) -> None:
    """Release the segment slices in these parts. Call it once for each answer."""
    for part in parts:
        if not isinstance(part, IN_MEMORY):
            part.release()
