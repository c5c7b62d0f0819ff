"""A DeleteRecords that waits until every live replica has raised its log start offset.

Role        Watched on its partitions; asked again when a follower reports a new log start offset.
Invariants  Answers the low watermark it saw when it was satisfied; at the deadline -1 with REQUEST_TIMED_OUT.
Source      Kafka 3.9 DelayedDeleteRecords, Partition.lowWatermarkIfLeader.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_zk.protocol.errors import BrokerError, RequestTimedOut
from kafka_zk.replication.purgatory import DelayedOperation

LowWatermark = int | BrokerError
"""A low watermark, or why there is none."""


class DelayedDeleteRecords(DelayedOperation):
    """`waiting`: position -> (offset to reach, current low watermark of that partition or its error)."""

    __slots__ = ("_answer", "_done", "_waiting")

    def __init__(
        self,
        timeout_ms: int,
        waiting: dict[int, tuple[int, Callable[[], LowWatermark]]],
        answer: Callable[[dict[int, LowWatermark]], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._waiting = waiting
        self._done: dict[int, LowWatermark] = {}
        self._answer = answer

    def try_complete(self) -> bool:
        for position, (target, low_watermark) in list(self._waiting.items()):
            reached = low_watermark()
            if isinstance(reached, BrokerError) or reached >= target:
                self._done[position] = reached
                del self._waiting[position]
        return not self._waiting

    def on_expiration(self) -> None:
        for position in self._waiting:
            self._done[position] = RequestTimedOut()

    def on_complete(self) -> None:
        self._answer(self._done)
