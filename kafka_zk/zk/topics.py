"""Topics in ZooKeeper: assignments and partition states read in batches, topics created and marked for deletion.

Role        Acts, through the session. The controller's own writes are fenced and live in its room.
Invariants  A topic's config is written before its assignment: whoever sees the topic finds its config (KAFKA-9498).
Source      KafkaZkClient.getPartitionAssignmentForTopics, AdminZkClient.createTopicWithAssignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from kafka_zk.protocol.errors import TopicAlreadyExists
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.entity_configs import write_entity_config
from kafka_zk.zk.errors import NodeExists, NoNode, ZkError
from kafka_zk.zk.existing import existing
from kafka_zk.zk.operations import ANY_VERSION
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import (
    ConfigEntityZNode,
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    PartitionLeadership,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicsZNode,
    TopicZNode,
)


def topic_names(zk: ZkClient) -> list[str]:
    """Blocks. All topics; sets the watch on their list where it has listeners."""
    return zk.children(TopicsZNode.PATH)


def topic_assignments(zk: ZkClient, topics: Iterable[str]) -> dict[str, TopicAssignment]:
    """Blocks. Assignment and id of those of `topics` that exist, pipelined. Raises MalformedZNode."""
    return {topic: TopicZNode.decode(*node, topic) for topic, node in existing(zk, topics, TopicZNode.path)}


def topic_assignment(zk: ZkClient, topic: str) -> TopicAssignment | None:
    """Blocks. One topic's assignment and id, None if there is no such topic."""
    return topic_assignments(zk, [topic]).get(topic)


def versioned_topic_assignment(zk: ZkClient, topic: str) -> tuple[TopicAssignment, int] | None:
    """Blocks. The same with the version of its znode."""
    found = dict(existing(zk, [topic], TopicZNode.path)).get(topic)
    return None if found is None else (TopicZNode.decode(*found, topic), found[1].version)


def partition_leaderships(
    zk: ZkClient, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, PartitionLeadership]:
    """Blocks. State znodes of those of `partitions` that have one, pipelined. Raises MalformedZNode."""
    states = existing(zk, partitions, TopicPartitionStateZNode.path)
    return {tp: TopicPartitionStateZNode.decode(*node, tp) for tp, node in states}


def create_topic(zk: ZkClient, topic: str, assignment: TopicAssignment, overrides: Mapping[str, str]) -> None:
    """Blocks. Create a topic that has been validated; the controller sees it and does the rest.

    Raises TopicAlreadyExists; ControllerMoved when there is no controller.
    """
    path = TopicZNode.path(topic)
    if zk.exists(path) is not None:
        raise TopicAlreadyExists(f"Topic '{topic}' already exists.")
    write_entity_config(zk, f"topics/{topic}", overrides)

    def has_not_been_deleted_since() -> bool:
        # A topic's deletion takes the config that we have just written.
        return zk.exists(ConfigEntityZNode.path(f"topics/{topic}")) is not None

    try:
        zk.create(path, TopicZNode.encode(assignment), make_parents=True, is_still_meant=has_not_been_deleted_since)
    except NodeExists as error:
        if assignment.topic_id is None or _id_of(zk, topic) != assignment.topic_id:
            raise TopicAlreadyExists(f"Topic '{topic}' already exists.") from error
        # Ours: its reply was lost with a connection, and its assignment has changed before we looked.


def write_topic_assignment(
    zk: ZkClient, topic: str, assignment: TopicAssignment, *, zk_version: int = ANY_VERSION
) -> None:
    """Blocks. Replace a topic's assignment (more partitions). `assignment` must carry the topic's id.

    Raises NoNode, BadVersion.
    """
    zk.set(TopicZNode.path(topic), TopicZNode.encode(assignment), zk_version)


def mark_for_deletion(zk: ZkClient, topic: str) -> None:
    """Blocks. Ask the controller to delete a topic. Asking twice is no error.

    A topic that is made anew while the reply is lost is not the one that was meant.
    """
    meant = _creation_of(zk, topic)
    try:
        zk.create(
            DeleteTopicsTopicZNode.path(topic),
            make_parents=True,
            is_still_meant=lambda: _creation_of(zk, topic) == meant,
        )
    except NodeExists:
        return


def _creation_of(zk: ZkClient, topic: str) -> int | None:
    """The transaction that made the topic, None if there is none."""
    stat = zk.exists(TopicZNode.path(topic))
    return None if stat is None else stat.czxid


def _id_of(zk: ZkClient, topic: str) -> UUID | None:
    found = topic_assignment(zk, topic)
    return None if found is None else found.topic_id


def gone_topics(zk: ZkClient, topics: Iterable[str]) -> list[str]:
    """Blocks. Those of `topics` that do not exist, or are marked for deletion.

    A topic that was made before the call is seen, whichever server of the ensemble answers.
    """
    wanted = list(topics)
    zk.sync()
    found = zk.exists_many(map(TopicZNode.path, wanted))
    marked = zk.exists_many(map(DeleteTopicsTopicZNode.path, wanted))
    for answer in (*found, *marked):
        if isinstance(answer, ZkError):
            raise answer
    return [topic for topic, stat, mark in zip(wanted, found, marked, strict=True) if stat is None or mark is not None]


def topics_marked_for_deletion(zk: ZkClient) -> list[str]:
    """Blocks. Topics whose deletion has been asked for and is not done."""
    try:
        return zk.children(DeleteTopicsZNode.PATH)
    except NoNode:
        return []
