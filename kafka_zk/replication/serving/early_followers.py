"""A follower that heard of a new leader before the leader did: its fetch is kept for a moment.

Refused, it would come again after its back-off, a second with Apache's brokers, and everybody who writes with acks=all
would stand still meanwhile: it is in the ISR.

Role        Acts: waits for the next order of the controller.
Invariants  A fetch is kept at most HOLD_S, whoever else is served by it; refused then, it comes once a back-off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from gevent.event import Event

from kafka_zk.protocol.errors import UnknownLeaderEpoch
from kafka_zk.replication.serving.records_view import PartitionRead, release_all

HOLD_S: Final = 0.2
"""The controller sends its orders to all brokers at once: they differ by what one of them is busy with."""


class EarlyFollowers:
    def __init__(self) -> None:
        self._next_order = Event()

    def order_carried_out(self, *_: object) -> None:
        """A LeaderAndIsr was: who waits looks again. Does not switch."""
        done, self._next_order = self._next_order, Event()
        done.set()

    def read(self, read_all: Callable[[], list[PartitionRead]], reads: list[PartitionRead]) -> list[PartitionRead]:
        """Blocks. `reads` of a follower, made anew by `read_all` while this broker is behind its epochs."""
        until_s = time.monotonic() + HOLD_S
        while is_ahead(reads) and (left_s := until_s - time.monotonic()) > 0:
            release_all(reads)
            self._next_order.wait(left_s)
            reads = read_all()
        return reads


def is_ahead(reads: Sequence[PartitionRead]) -> bool:
    """Whether the fetcher knows a later leader epoch than this broker."""
    return any(read.error is not None and isinstance(read.error, UnknownLeaderEpoch) for read in reads)
