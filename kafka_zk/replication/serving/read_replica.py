"""Which replica a consumer should read from (KIP-392).

Role        Only decides, from what the leader knows. Without replica.selector.class there is no chooser, and all
            consumers read from the leader.
Invariants  Only members of the maximal ISR that hold the fetch offset, on live brokers, are candidates (rule 42).
Source      Kafka 3.9 ReplicaManager.findPreferredReadReplica, RackAwareReplicaSelector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kafka_zk.replication.partition import Partition
from kafka_zk.replication.serving.records_view import NO_REPLICA


class ReadReplicaChooser(Protocol):
    """Chooses for one partition."""

    def choose(self, partition: Partition, *, rack_id: str, fetch_offset: int) -> int:
        """A broker id, or -1 to stay with the leader."""


class RackAwareChooser:
    """Prefers the client's rack: the leader if it is there, else the follower that is furthest ahead.

    `rack_of(broker_id)` is None for brokers that are not alive; without a rack it is "".
    """

    def __init__(self, broker_id: int, rack_of: Callable[[int], str | None]) -> None:
        self._broker_id = broker_id
        self._rack_of = rack_of

    def choose(self, partition: Partition, *, rack_id: str, fetch_offset: int) -> int:
        log = partition.log
        if log is None or not log.log_start_offset <= fetch_offset <= log.log_end_offset:
            return NO_REPLICA
        if self._rack_of(self._broker_id) == rack_id:
            return NO_REPLICA
        candidates = [
            follower
            for follower in partition.followers.values()
            if follower.broker_id in partition.isr.maximal
            and follower.log_start_offset <= fetch_offset <= follower.log_end_offset
            and self._rack_of(follower.broker_id) == rack_id
        ]
        if not candidates:
            return NO_REPLICA
        best = max(candidates, key=lambda f: (f.log_end_offset, f.last_caught_up_ms or 0, f.broker_id))
        return best.broker_id
