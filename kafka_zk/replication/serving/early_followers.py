"""Holds the fetch of a follower that learned of a new leader before the leader did.

Refused, it would come again after its back-off, a second with Apache's brokers, and every producer with acks=all would
wait that long: it is in the ISR.

Role        Acts: waits for the next control request.
Invariants  A fetch is kept at most HOLD_MS, whatever else it asks for; refused then, it comes once a back-off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gevent.event import Event

from kafka_zk.clock import Clock
from kafka_zk.protocol.errors import UnknownLeaderEpoch
from kafka_zk.replication.serving.records_view import PartitionRead, release_all

HOLD_MS: Final = 200
"""The controller sends its requests to all brokers at once: they differ by what one of them is busy with."""


class EarlyFollowers:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: dict[Event, None] = {}
        """In the order in which they came, and are woken: a set's would be another one in each run."""

    def order_carried_out(self, *_: object) -> None:
        """A LeaderAndIsr was applied: waiting fetches check again. Does not switch."""
        for woken in self._waiting:
            woken.set()

    def read(self, read_all: Callable[[], list[PartitionRead]], reads: list[PartitionRead]) -> list[PartitionRead]:
        """Blocks. `reads` of a follower, repeated by `read_all` while this broker is behind its epochs."""
        until_ms = self._clock.monotonic_ms() + HOLD_MS
        while is_ahead(reads) and self._clock.monotonic_ms() < until_ms:
            release_all(reads)
            self._wait(until_ms)
            reads = read_all()
        return reads

    def _wait(self, until_ms: int) -> None:
        woken = Event()
        self._waiting[woken] = None
        over = self._clock.call_at(until_ms, woken.set)
        try:
            woken.wait()
        finally:
            del self._waiting[woken]
            over.cancel()


def is_ahead(reads: Sequence[PartitionRead]) -> bool:
    """Whether the fetcher knows a later leader epoch than this broker."""
    return any(read.error is not None and isinstance(read.error, UnknownLeaderEpoch) for read in reads)
