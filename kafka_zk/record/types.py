"""A record as people see it, and the buffers that batches are read from.

Role        Pure; imports nothing of ours, so that the walkers can use it.
"""

from __future__ import annotations

from typing import NamedTuple

Buffer = bytes | bytearray | memoryview

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """A record with its absolute offset. `timestamp` is epoch ms, -1 for none; headers keep order and duplicates."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
