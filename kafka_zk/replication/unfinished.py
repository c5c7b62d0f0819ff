"""Orders to lead or follow that met an unexpected error: they are tried again after a pause.

Role        Acts: a timer. `Leadership` notes what failed, forgets what is overtaken, and takes the rest afterwards.
Invariants  One order a partition, the newest: whatever is ordered of the partition later takes its place.
            The pause doubles up to a minute while something fails again.
Source      None: Kafka's controller ignores the code, and nobody serves the replica until the next leader epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from kafka_zk.clock import Clock, Timer
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.supervision import caught

FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 60_000

Asked = tuple[TopicPartition, UUID, LeaderAndIsrPartitionState]
"""What a LeaderAndIsr says of one partition, and the id of its topic."""


class UnfinishedOrders:
    """`repeat` is called after each pause; it may block, and takes what there is by then."""

    def __init__(self, clock: Clock, repeat: Callable[[], None]) -> None:
        self._clock = clock
        self._repeat = repeat
        self._orders: dict[TopicPartition, Asked] = {}
        self._pause_ms = FIRST_PAUSE_MS
        self._timer: Timer | None = None
        self._is_stopped = False

    def note(self, order: Asked) -> None:
        """It failed. Does not switch."""
        self._orders[order[0]] = order
        if self._timer is None and not self._is_stopped:
            self._timer = self._clock.call_at(self._clock.monotonic_ms() + self._pause_ms, self._try_again)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Something else was ordered of it."""
        self._orders.pop(topic_partition, None)

    def take(self) -> list[Asked]:
        """All of them; they are forgotten here."""
        orders, self._orders = list(self._orders.values()), {}
        return orders

    def stop(self) -> None:
        """Try nothing again."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _try_again(self) -> None:
        self._timer = None
        self._pause_ms = min(2 * self._pause_ms, LONGEST_PAUSE_MS)
        try:
            self._repeat()
        except Exception:
            caught("Leadership", "trying unfinished orders again")
        if not self._orders:
            self._pause_ms = FIRST_PAUSE_MS
