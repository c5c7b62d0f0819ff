"""A produce with acks=all that waits for its records to be committed.

Role        Watched on its partitions; asked again on every new high watermark, ISR change and leadership change.
Invariants  A partition's code is settled once. At the deadline what is not settled is REQUEST_TIMED_OUT; the records
            stay in the log all the same.
Source      Kafka 3.9 DelayedProduce, Partition.checkEnoughReplicasReachOffset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.replication.purgatory import DelayedOperation


class Unacknowledged(NamedTuple):
    """One partition that is waited for. `check` returns its code once that is settled, None before."""

    position: int
    topic: str
    partition: int
    check: Callable[[], ErrorCode | None]


class DelayedProduce(DelayedOperation):
    """`answer(codes)` gets a code for each position that was waited for. `expired(topic, partition)` is called for each
    that timed out.
    """

    __slots__ = ("_answer", "_codes", "_expired", "_waiting")

    def __init__(
        self,
        timeout_ms: int,
        waiting: list[Unacknowledged],
        answer: Callable[[dict[int, ErrorCode]], None],
        expired: Callable[[str, int], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._waiting = waiting
        self._codes: dict[int, ErrorCode] = {}
        self._answer = answer
        self._expired = expired

    def try_complete(self) -> bool:
        still: list[Unacknowledged] = []
        for entry in self._waiting:
            code = entry.check()
            if code is None:
                still.append(entry)
            else:
                self._codes[entry.position] = code
        self._waiting = still
        return not still

    def on_expiration(self) -> None:
        for entry in self._waiting:
            self._codes[entry.position] = ErrorCode.REQUEST_TIMED_OUT
            self._expired(entry.topic, entry.partition)

    def on_complete(self) -> None:
        self._answer(self._codes)
