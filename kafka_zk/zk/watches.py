"""The watched znodes, their listeners, and their last seen state.

Role        Pure. Plain data behind `ZkClient.watch`: which listeners to call, and which watches a new connection must
            set again. Owned by the session.
Invariants  A watch is a hint: its callback only marks something dirty, and the owner reads it again.
            `last_seen` is what a read that set the watch has shown: a zxid, 0 for a missing znode, None before the
            first such read. ZooKeeper forgets watches with the connection, so after a reconnect each is set again by a
            read of ours, and a znode that differs from `last_seen` then is reported. In between, other reads of the new
            connection leave `last_seen` alone: their caller knows the new value, the other listeners do not.
Source      kafka.zookeeper.ZooKeeperClient: zNodeChangeHandlers, zNodeChildChangeHandlers; KAFKA-5502, KAFKA-5879.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from kafka_zk.zk.operations import Stat

Kind = Literal["data", "exists", "children"]
MarkDirty = Callable[[], None]


class Side(Enum):
    """The two watches ZooKeeper knows: on a znode's existence and data, on its list of children."""

    DATA = "data"
    CHILDREN = "children"


def side_of(kind: Kind) -> Side:
    return Side.CHILDREN if kind == "children" else Side.DATA


@dataclass(slots=True)
class Watch:
    """One side of one path. `connection` counts connections: the one `last_seen` belongs to."""

    path: str
    side: Side
    listeners: list[MarkDirty] = field(default_factory=list)
    last_seen: int | None = None
    connection: int = 0

    def saw(self, stat: Stat | None, *, connection: int) -> None:
        """Note the result of any read."""
        if self.last_seen is None or self.connection == connection:
            self.last_seen = self._mark_of(stat)
            self.connection = connection

    def set_again(self, stat: Stat | None, *, connection: int) -> bool:
        """Note the result of the read that set the watch again; returns whether it differs from the last one."""
        seen = self._mark_of(stat)
        changed = seen != self.last_seen
        self.last_seen = seen
        self.connection = connection
        return changed

    def _mark_of(self, stat: Stat | None) -> int:
        if stat is None:
            return 0
        return stat.pzxid if self.side is Side.CHILDREN else stat.mzxid

    def notify(self) -> None:
        for mark_dirty in list(self.listeners):
            mark_dirty()


class Watches:
    """All watches of one client."""

    def __init__(self) -> None:
        self._watches: dict[tuple[str, Side], Watch] = {}

    def __iter__(self) -> Iterator[Watch]:
        return iter(list(self._watches.values()))

    def add(self, path: str, kind: Kind, mark_dirty: MarkDirty) -> None:
        side = side_of(kind)
        watch = self._watches.setdefault((path, side), Watch(path, side))
        if mark_dirty not in watch.listeners:
            watch.listeners.append(mark_dirty)

    def remove(self, path: str, kind: Kind | None) -> None:
        for side in Side if kind is None else (side_of(kind),):
            self._watches.pop((path, side), None)

    def find(self, path: str, side: Side) -> Watch | None:
        return self._watches.get((path, side))
