"""A record as a value, and the buffers that batches are read from.

Role        Pure; what the walkers need from the rest of the package.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_zk.protocol.types import Buffer

__all__ = ["Buffer", "Header", "Record"]

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """A record with its absolute offset. `timestamp` is epoch ms, -1 for none; headers keep order and duplicates."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
