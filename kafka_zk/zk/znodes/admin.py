"""Requests to the controller as znodes: delete a topic, reassign partitions, elect preferred leaders.

Role        Pure.
Source      kafka.zk.DeleteTopicsTopicZNode, ReassignPartitionsZNode, PreferredReplicaElectionZNode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.znodes import documents


def partition_list(partitions: Iterable[TopicPartition]) -> list[dict[str, object]]:
    return [{"topic": topic_partition.topic, "partition": topic_partition.partition} for topic_partition in partitions]


def partitions_of(document: dict[str, Any]) -> list[TopicPartition]:
    """Raises what `documents.read` turns into MalformedZNode."""
    return [
        TopicPartition(documents.text(entry["topic"]), documents.integer(entry["partition"]))
        for entry in document["partitions"]
    ]


class DeleteTopicsZNode:
    """/admin/delete_topics: its children are the topics to delete."""

    PATH = "/admin/delete_topics"


class DeleteTopicsTopicZNode:
    """/admin/delete_topics/T, without data."""

    @staticmethod
    def path(topic: str) -> str:
        return f"{DeleteTopicsZNode.PATH}/{topic}"


class ReassignPartitionsZNode:
    """/admin/reassign_partitions: new replicas for partitions (the tools before KIP-455 write it)."""

    PATH = "/admin/reassign_partitions"

    @staticmethod
    def encode(reassignment: Mapping[TopicPartition, tuple[int, ...]]) -> bytes:
        return documents.write(
            {
                "version": 1,
                "partitions": [
                    {"topic": topic_partition.topic, "partition": topic_partition.partition, "replicas": list(replicas)}
                    for topic_partition, replicas in reassignment.items()
                ],
            }
        )

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> dict[TopicPartition, tuple[int, ...]]:
        """Raises MalformedZNode."""

        def build(document: dict[str, Any]) -> dict[TopicPartition, tuple[int, ...]]:
            replicas = [documents.integers(entry["replicas"]) for entry in document["partitions"]]
            return dict(zip(partitions_of(document), replicas, strict=True))

        return documents.read(data, ReassignPartitionsZNode.PATH, build)


class PreferredReplicaElectionZNode:
    """/admin/preferred_replica_election: partitions to give back to their preferred leader (tools before KIP-460)."""

    PATH = "/admin/preferred_replica_election"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        return documents.write({"version": 1, "partitions": partition_list(partitions)})

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> list[TopicPartition]:
        """Raises MalformedZNode."""
        return documents.read(data, PreferredReplicaElectionZNode.PATH, partitions_of)
