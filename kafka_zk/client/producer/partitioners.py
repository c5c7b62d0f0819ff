"""Chooses the partition of a record that names none.

Role        Pure: randomness is a parameter.
Invariants  Records with the same key go to the same partition, as long as the partition count stays.
            The sticky partition changes after a batch's worth of bytes, and only between batches:
            so batches are full, and every partition gets its share.
Source      Kafka 3.9 BuiltInPartitioner, RoundRobinPartitioner; KIP-480, KIP-794.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot


class Partitioner(Protocol):
    """What `partitioner.class` may name, or be."""

    def partition(
        self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any, cluster: ClusterSnapshot
    ) -> int:
        """The partition of a record. `cluster` knows the topic."""


class RoundRobinPartitioner:
    """One record to each partition in turn, ignoring keys; only those with a leader, if there are any."""

    def __init__(self) -> None:
        self._turns: dict[str, itertools.count[int]] = {}

    def partition(
        self, topic: str, key: Any, key_bytes: Any, value: Any, value_bytes: Any, cluster: ClusterSnapshot
    ) -> int:
        turn = next(self._turns.setdefault(topic, itertools.count()))
        available = cluster.available_partitions(topic)
        if available:
            return available[turn % len(available)]
        return turn % (cluster.partition_count(topic) or 1)


class StickyPartitioner:
    """The partition that currently gets one topic's records without a key.

    `chance` is random.random or similar.
    """

    def __init__(self, batch_size_bytes: int, chance: Callable[[], float]) -> None:
        self._batch_size_bytes = max(1, batch_size_bytes)
        self._chance = chance
        self._chosen: int | None = None
        self._sent_bytes = 0
        self._partitions: Sequence[int] = ()
        self._weights: Sequence[int] | None = None

    def __repr__(self) -> str:
        return f"sticky to {self._chosen}, {self._sent_bytes} bytes so far"

    def current(self, available: Sequence[int]) -> int:
        """The partition to use now. `available` are those with a leader, or all if none has one."""
        if self._chosen is None:
            self._chosen = self._choose(available)
        return self._chosen

    def took(self, size_bytes: int, may_switch: bool) -> None:
        """Bytes have gone to the current partition; `may_switch` if that completed a batch."""
        self._sent_bytes += size_bytes
        limit = self._batch_size_bytes if may_switch else 2 * self._batch_size_bytes
        if self._sent_bytes >= limit:
            self._chosen, self._sent_bytes = None, 0

    def learn_loads(self, partitions: Sequence[int], queue_sizes: Sequence[int]) -> None:
        """The waiting batches of each partition that may be chosen: a shorter queue makes it more likely."""
        longest = max(queue_sizes, default=0) + 1
        if len(queue_sizes) < 2 or min(queue_sizes) == longest - 1:
            self._weights = None
            return
        self._partitions = partitions
        self._weights = list(itertools.accumulate(longest - size for size in queue_sizes))

    def forget_loads(self) -> None:
        """Choose evenly again."""
        self._weights = None

    def _choose(self, available: Sequence[int]) -> int:
        weights = self._weights
        if weights is not None:
            return self._partitions[bisect.bisect_right(weights, int(self._chance() * weights[-1]))]
        return available[int(self._chance() * len(available))]
