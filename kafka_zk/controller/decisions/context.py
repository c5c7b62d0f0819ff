"""The controller context: brokers, topics, assignments, leadership, and the states of both state machines.

Role        Pure data with queries. Owned by the controller greenlet; each controller epoch has its own context.
Invariants  A partition has a state iff its topic is known and the partition machine has seen it.
            `topic_ids` and `topic_names` are inverse to each other.
            `shutting_down` is a subset of the keys of `brokers`.
Source      ControllerContext.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.zk.znodes import BrokerRegistration, PartitionLeadership

Broker = BrokerRegistration
"""A registered broker; its `epoch` is the czxid of the registration."""

Leadership = PartitionLeadership
"""What a state znode says; its `partition_epoch` is the version of the znode."""

LEADER_DURING_DELETE = -2
NO_EPOCH = -1
EPOCH_DURING_DELETE = -2
RECOVERED = 0
RECOVERING = 1


class PartitionState(Enum):
    """Source: PartitionState."""

    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"
    NON_EXISTENT = "NonExistentPartition"


class ReplicaState(Enum):
    """Source: ReplicaState."""

    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    NON_EXISTENT = "NonExistentReplica"


class PartitionReplica(NamedTuple):
    """One replica: a partition on a broker."""

    partition: TopicPartition
    broker_id: int


def described(state: Leadership) -> str:
    """A leadership as Kafka's state change log prints it."""
    recovery = "RECOVERING" if state.recovery_state == RECOVERING else "RECOVERED"
    return (
        f"(Leader:{state.leader},ISR:{','.join(map(str, state.isr))},LeaderRecoveryState:{recovery},"
        f"LeaderEpoch:{state.leader_epoch},ZkVersion:{state.partition_epoch},ControllerEpoch:{state.controller_epoch})"
    )


NO_REPLICAS = ReplicaAssignment()
NO_PARTITIONS: Mapping[int, ReplicaAssignment] = {}


@dataclass(slots=True)
class ControllerContext:
    """The controller context. Its sets and dictionaries are changed in place, by the controller greenlet only."""

    epoch: int = 0
    epoch_zk_version: int = 0
    brokers: dict[int, Broker] = field(default_factory=dict)
    """Live brokers, those shutting down included."""
    shutting_down: set[int] = field(default_factory=set)
    assignments: dict[str, dict[int, ReplicaAssignment]] = field(default_factory=dict)
    """Known topics and their partitions."""
    topic_ids: dict[str, uuid.UUID] = field(default_factory=dict)
    topic_names: dict[uuid.UUID, str] = field(default_factory=dict)
    leadership: dict[TopicPartition, Leadership] = field(default_factory=dict)
    partition_states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: dict[PartitionReplica, ReplicaState] = field(default_factory=dict)
    being_reassigned: set[TopicPartition] = field(default_factory=set)
    topics_to_delete: set[str] = field(default_factory=set)
    topics_with_deletion_started: set[str] = field(default_factory=set)
    topics_ineligible_for_deletion: set[str] = field(default_factory=set)
    offline_dir_replicas: dict[int, set[TopicPartition]] = field(default_factory=dict)

    # Brokers

    def live_broker_ids(self) -> list[int]:
        """Brokers that are neither dead nor shutting down."""
        return sorted(id for id in self.brokers if id not in self.shutting_down)

    def live_or_shutting_down_ids(self) -> list[int]:
        return sorted(self.brokers)

    def is_replica_online(
        self, broker_id: int, partition: TopicPartition, *, include_shutting_down: bool = False
    ) -> bool:
        """Whether the broker is alive and the partition is not in one of its failed log directories."""
        if broker_id not in self.brokers or partition in self.offline_dir_replicas.get(broker_id, ()):
            return False
        return include_shutting_down or broker_id not in self.shutting_down

    # Topics and assignments

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, index) for index in self.assignments.get(topic, {})]

    def all_partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic, index) for topic, parts in self.assignments.items() for index in parts]

    def assignment(self, partition: TopicPartition) -> ReplicaAssignment:
        """Empty if the partition is unknown."""
        return self.assignments.get(partition.topic, NO_PARTITIONS).get(partition.partition, NO_REPLICAS)

    def set_assignment(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        self.assignments.setdefault(partition.topic, {})[partition.partition] = assignment

    def set_topic_id(self, topic: str, topic_id: uuid.UUID) -> None:
        """Set the id of a topic; a new id replaces all that is known of the old one."""
        old = self.topic_ids.get(topic)
        if old is not None:
            self.topic_names.pop(old, None)
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def topic_id(self, topic: str) -> uuid.UUID:
        return self.topic_ids.get(topic, NULL_UUID)

    def remove_topic(self, topic: str) -> None:
        """Forget everything about the topic, also what was queued for it."""
        for partition in self.partitions_of(topic):
            for broker_id in self.assignment(partition).replicas:
                self.replica_states.pop(PartitionReplica(partition, broker_id), None)
            self.leadership.pop(partition, None)
            self.partition_states.pop(partition, None)
            self.being_reassigned.discard(partition)
            for hidden in self.offline_dir_replicas.values():
                hidden.discard(partition)
        self.assignments.pop(topic, None)
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            self.topic_names.pop(topic_id, None)
        for queue in (self.topics_to_delete, self.topics_with_deletion_started, self.topics_ineligible_for_deletion):
            queue.discard(topic)

    # Replicas

    def replicas_of(self, partitions: Iterable[TopicPartition]) -> list[PartitionReplica]:
        return [
            PartitionReplica(topic_partition, broker_id)
            for topic_partition in partitions
            for broker_id in self.assignment(topic_partition).replicas
        ]

    def replicas_of_topic(self, topic: str) -> list[PartitionReplica]:
        return self.replicas_of(self.partitions_of(topic))

    def replicas_on(self, broker_ids: Iterable[int]) -> list[PartitionReplica]:
        wanted = set(broker_ids)
        return [replica for replica in self.replicas_of(self.all_partitions()) if replica.broker_id in wanted]

    def replicas_in_state(self, topic: str, state: ReplicaState) -> list[PartitionReplica]:
        return [r for r in self.replicas_of_topic(topic) if self.replica_states.get(r) is state]

    # Leadership

    def partitions_with_leaders(self) -> list[TopicPartition]:
        """Partitions with a state znode whose topic is not to be deleted."""
        return [
            topic_partition for topic_partition in self.leadership if topic_partition.topic not in self.topics_to_delete
        ]

    def needs_a_leader(self, partition: TopicPartition) -> bool:
        """Whether leaders are elected for it: until its topic is queued for deletion, and as long as that has to wait
        for its reassignment, which ends only under a leader.

        Differs from Kafka: it elects none for a queued topic, so that the two may wait for each other for ever.
        """
        return partition.topic not in self.topics_to_delete or partition in self.being_reassigned

    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        return [
            topic_partition
            for topic_partition, state in self.leadership.items()
            if self.needs_a_leader(topic_partition) and not self.is_replica_online(state.leader, topic_partition)
        ]

    def partitions_led_by(self, broker_id: int) -> list[TopicPartition]:
        return [
            topic_partition
            for topic_partition in self.partitions_with_leaders()
            if self.leadership[topic_partition].leader == broker_id
        ]

    def partitions_in_states(self, *states: PartitionState) -> list[TopicPartition]:
        return [topic_partition for topic_partition, state in self.partition_states.items() if state in states]


def replicas_by_broker(replicas: Iterable[PartitionReplica]) -> Mapping[int, list[PartitionReplica]]:
    """Grouped by broker, brokers in rising order."""
    grouped: dict[int, list[PartitionReplica]] = {}
    for replica in replicas:
        grouped.setdefault(replica.broker_id, []).append(replica)
    return dict(sorted(grouped.items()))
