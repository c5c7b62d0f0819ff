"""Throttled replicas: what a topic's leader.replication.throttled.replicas and its follower.* mean.

Role        Pure.
Source      TopicConfigHandler.parseThrottledPartitions, ThrottledReplicaListValidator; KIP-73.
"""

from __future__ import annotations

from collections.abc import Sequence

ALL = "*"


class ThrottledReplicas:
    """The replicas of one topic that are throttled: none, some, or all."""

    __slots__ = ("_all", "_pairs")

    def __init__(self, entries: Sequence[str] = ()) -> None:
        """`entries` are `partition:broker`, or a single `*`; empty ones, which the validator lets pass, say nothing."""
        self._all = entries[:1] == [ALL]
        self._pairs: frozenset[tuple[int, int]] = frozenset(
            (int(partition), int(broker_id))
            for partition, broker_id in (entry.split(":") for entry in entries if entry and not self._all)
        )

    def has(self, partition: int, broker_id: int) -> bool:
        """Whether the replica of `partition` on that broker is throttled."""
        return self._all or (partition, broker_id) in self._pairs

    def __bool__(self) -> bool:
        """Whether any replica is throttled."""
        return self._all or bool(self._pairs)


NONE_THROTTLED = ThrottledReplicas()
"""Shared by nearly all topics."""
