"""The names of a znode's children, as they stand in ZooKeeper's responses.

Role        Pure, but for `each`, which may let others have a turn: there may be 100,000 topics, or patterns with rules.
Source      org.apache.zookeeper.proto.GetChildrenResponse, GetChildren2Response.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from kafka_zk.zk.operations import Stat

INT = struct.Struct(">i")
STAT = struct.Struct(">qqqqiiiqiiq")

Each = Callable[[Iterable[int]], Iterable[int]]


def names_at(response: bytes, offset: int, each: Each = iter) -> tuple[list[str], int]:
    """The names, and the offset behind them. Raises struct.error where the response ends early."""
    (count,) = INT.unpack_from(response, offset)
    offset += INT.size
    names = []
    for _ in each(range(count)):
        (size_bytes,) = INT.unpack_from(response, offset)
        offset += INT.size
        names.append(response[offset : offset + size_bytes].decode())
        offset += size_bytes
    return names, offset


def names_and_stat(response: bytes, each: Each = iter) -> tuple[list[str], Stat]:
    """Of a whole response. Raises struct.error where it ends early."""
    names, offset = names_at(response, 0, each)
    return names, Stat._make(STAT.unpack_from(response, offset))
