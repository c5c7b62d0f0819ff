"""Tells a coordinator which partitions of its topic this broker leads from now on, and which no longer.

Role        Acts: registers with the ReplicaManager. Nothing here switches.
Source      The onLeadershipChange and StopReplica branches of KafkaApis; RequestHandlerHelper.onLeadershipChange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_zk.replication.control_requests import ReplicaStop
    from kafka_zk.replication.manager import ReplicaManager
    from kafka_zk.replication.partition import Partition


class TopicLeadership:
    """`elected(partition, leader epoch)`; `resigned(epochs by partition)`, None for one that was deleted."""

    def __init__(
        self,
        topic: str,
        *,
        elected: Callable[[int, int], None],
        resigned: Callable[[Mapping[int, int | None]], None],
    ) -> None:
        self._topic = topic
        self._elected = elected
        self._resigned = resigned

    def follow(self, replica_manager: ReplicaManager) -> None:
        """Listen from now on. Call it before the first LeaderAndIsr."""
        replica_manager.on_leadership_change(self.on_leadership_change)
        replica_manager.on_stop(self.on_stop)
        replica_manager.on_offline(self.on_offline)

    def on_leadership_change(self, led: Sequence[Partition], followed: Sequence[Partition]) -> None:
        """After each LeaderAndIsr."""
        for partition in led:
            topic, index = partition.topic_partition
            if topic == self._topic:
                self._elected(index, partition.leader_epoch)
        self.on_offline(followed)

    def on_offline(self, partitions: Sequence[Partition]) -> None:
        """The log directory of these partitions failed, or others lead them."""
        epochs: dict[int, int | None] = {}
        for partition in partitions:
            topic, index = partition.topic_partition
            if topic == self._topic:
                epochs[index] = partition.leader_epoch
        self._resigned(epochs)

    def on_stop(self, stops: Sequence[ReplicaStop]) -> None:
        """After each StopReplica."""
        epochs: dict[int, int | None] = {}
        for stop in stops:
            topic, index = stop.topic_partition
            if topic == self._topic and stop.delete:
                epochs[index] = stop.leader_epoch if stop.leader_epoch >= 0 else None
        self._resigned(epochs)
