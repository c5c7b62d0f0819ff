"""/brokers/topics: assignments, and each partition's leader and ISR.

Role        Pure.
Invariants  A topic's id is written back whenever it is known (KAFKA-10545): `TopicAssignment` carries it.
Source      kafka.zk.TopicZNode, TopicPartitionStateZNode; KIP-455, KIP-516, KIP-704.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kafka_zk.protocol.types import TopicPartition, uuid_from_base64, uuid_to_base64
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import documents

ASSIGNMENT_VERSION = 3
STATE_VERSION = 1
RECOVERY_STATES = (0, 1)
"""Recovered, and recovering."""


@dataclass(frozen=True, slots=True)
class PartitionReplicas:
    """The assigned replicas of a partition, preferred leader first; `adding` and `removing` while it is reassigned."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """A topic's znode. `topic_id` is None for a topic made by brokers before 2.8."""

    partitions: Mapping[int, PartitionReplicas]
    topic_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class PartitionLeadership:
    """A partition's state znode. `partition_epoch` is its version (not written); `recovery_state` 1 is RECOVERING."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    recovery_state: int = 0
    partition_epoch: int = -1


class TopicsZNode:
    """/brokers/topics: its children are the topics."""

    PATH = "/brokers/topics"


class TopicZNode:
    """/brokers/topics/T."""

    @staticmethod
    def path(topic: str) -> str:
        return f"{TopicsZNode.PATH}/{topic}"

    @staticmethod
    def encode(assignment: TopicAssignment) -> bytes:
        partitions = assignment.partitions
        document: dict[str, object] = {
            "version": ASSIGNMENT_VERSION,
            "partitions": {str(index): list(replicas.replicas) for index, replicas in partitions.items()},
            "adding_replicas": {str(i): list(replicas.adding) for i, replicas in partitions.items() if replicas.adding},
            "removing_replicas": {
                str(i): list(replicas.removing) for i, replicas in partitions.items() if replicas.removing
            },
        }
        if assignment.topic_id is not None:
            document["topic_id"] = uuid_to_base64(assignment.topic_id)
        return documents.write(document)

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None, topic: str = "") -> TopicAssignment:
        """Raises MalformedZNode, also for a name that no request can hold.

        Versions 1 (no reassignment) and 2 (no topic id) are read too.
        """

        def build(document: dict[str, Any]) -> TopicAssignment:
            documents.short_text(topic)
            adding = document.get("adding_replicas") or {}
            removing = document.get("removing_replicas") or {}
            topic_id = document.get("topic_id")
            return TopicAssignment(
                {
                    _index(index): PartitionReplicas(
                        documents.integers(replicas),
                        documents.integers(adding.get(index, [])),
                        documents.integers(removing.get(index, [])),
                    )
                    for index, replicas in document.get("partitions", {}).items()
                },
                None if topic_id is None else uuid_from_base64(topic_id),
            )

        return documents.read(data, TopicZNode.path(topic), build)


def _index(text: str) -> int:
    index = documents.integer(int(text))
    if index < 0:
        raise ValueError(f"{text} is not a partition")
    return index


class TopicPartitionsZNode:
    """/brokers/topics/T/partitions, without data."""

    @staticmethod
    def path(topic: str) -> str:
        return f"{TopicZNode.path(topic)}/partitions"


class TopicPartitionZNode:
    """/brokers/topics/T/partitions/P, without data."""

    @staticmethod
    def path(topic_partition: TopicPartition) -> str:
        return f"{TopicPartitionsZNode.path(topic_partition.topic)}/{topic_partition.partition}"


class TopicPartitionStateZNode:
    """/brokers/topics/T/partitions/P/state; its version is the partition epoch."""

    @staticmethod
    def path(topic_partition: TopicPartition) -> str:
        return f"{TopicPartitionZNode.path(topic_partition)}/state"

    @staticmethod
    def encode(leadership: PartitionLeadership) -> bytes:
        document: dict[str, object] = {
            "version": STATE_VERSION,
            "leader": leadership.leader,
            "leader_epoch": leadership.leader_epoch,
            "controller_epoch": leadership.controller_epoch,
            "isr": list(leadership.isr),
        }
        if leadership.recovery_state:
            document["leader_recovery_state"] = leadership.recovery_state
        return documents.write(document)

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None, topic_partition: TopicPartition) -> PartitionLeadership:
        """Raises MalformedZNode."""
        partition_epoch = stat.version if stat else -1

        def build(document: dict[str, Any]) -> PartitionLeadership:
            return PartitionLeadership(
                leader=documents.integer(document["leader"]),
                leader_epoch=documents.epoch(document["leader_epoch"]),
                isr=documents.integers(document["isr"]),
                controller_epoch=documents.integer(document["controller_epoch"]),
                recovery_state=_recovery_state(document.get("leader_recovery_state", 0)),
                partition_epoch=partition_epoch,
            )

        return documents.read(data, TopicPartitionStateZNode.path(topic_partition), build)


def _recovery_state(value: object) -> int:
    state = documents.integer(value)
    if state not in RECOVERY_STATES:
        raise ValueError(f"{state} is not a leader recovery state")
    return state
