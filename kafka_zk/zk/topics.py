"""Topics in ZooKeeper: assignments and partition states read in batches, topics created and marked for deletion.

Role        Acts, through the session. The controller's own writes are fenced and are in its package.
Invariants  A topic's config is written before its assignment: a reader that sees the topic finds its config
            (KAFKA-9498).
            If two brokers create a topic at once, its config is that of the one whose creation succeeds.
Source      KafkaZkClient.getPartitionAssignmentForTopics, AdminZkClient.createTopicWithAssignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafka_zk.protocol.errors import TopicAlreadyExists
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.entity_configs import controller_check
from kafka_zk.zk.errors import BadVersion, NodeExists, NoNode, NotTried, RolledBack, ZkError
from kafka_zk.zk.existing import existing
from kafka_zk.zk.operations import Check, Create, Operation, SetData
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

CAME_BETWEEN = (BadVersion, NoNode, NodeExists, RolledBack, NotTried)
"""The errors of a multi if other clients have written since its versions were read."""


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
    return {
        topic_partition: TopicPartitionStateZNode.decode(*node, topic_partition) for topic_partition, node in states
    }


def create_topic(zk: ZkClient, topic: str, assignment: TopicAssignment, overrides: Mapping[str, str]) -> None:
    """Blocks. Create a topic that has been validated; the controller sees it and does the rest.

    Raises TopicAlreadyExists; ControllerMoved when there is no controller.
    """
    if zk.exists(TopicZNode.path(topic)) is not None:
        raise TopicAlreadyExists(f"Topic '{topic}' already exists.")
    while not _create_with_config(zk, topic, assignment, overrides):
        found = topic_assignment(zk, topic)
        if found is not None:
            if assignment.topic_id is None or found.topic_id != assignment.topic_id:
                raise TopicAlreadyExists(f"Topic '{topic}' already exists.")
            # Ours: its reply was lost with a connection, and its assignment has changed before we looked.
            return


def _create_with_config(zk: ZkClient, topic: str, assignment: TopicAssignment, overrides: Mapping[str, str]) -> bool:
    """Blocks. Returns whether it was created; if not, nothing that others wrote in between was changed.

    The config comes first, since it tells whether a topic whose reply was lost has been deleted before we looked: the
    deletion takes it. But it counts only with the topic: a creation that loses against another one overwrites nothing.
    """
    config_path, config = ConfigEntityZNode.path(f"topics/{topic}"), ConfigEntityZNode.encode(overrides)
    controller = controller_check(zk, f"topics/{topic}")
    settled: Operation
    try:
        zk.create(config_path, config, make_parents=True)
        settled = Check(config_path, 0)
    except NodeExists:
        settled = SetData(config_path, config)
    made = Create(TopicZNode.path(topic), TopicZNode.encode(assignment))
    results = zk.multi([controller, settled, made], is_still_meant=lambda: zk.exists(config_path) is not None)
    if isinstance(results[2], NoNode):
        zk.ensure_path(TopicsZNode.PATH)
    failed = [result for result in results if isinstance(result, ZkError)]
    for error in failed:
        if not isinstance(error, CAME_BETWEEN):
            raise error
    return not failed


def write_topic_assignment(zk: ZkClient, topic: str, assignment: TopicAssignment, *, zk_version: int) -> None:
    """Blocks. Replace a topic's assignment (more partitions). `assignment` must carry the topic's id.

    Raises NoNode, BadVersion.
    """
    zk.set(TopicZNode.path(topic), TopicZNode.encode(assignment), zk_version)


def mark_for_deletion(zk: ZkClient, topic: str) -> None:
    """Blocks. Ask the controller to delete a topic. Asking twice is no error.

    A topic that is created again while the reply is lost is not the one to delete.
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


def gone_partitions(zk: ZkClient, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Blocks. Those of `partitions` that do not exist, or whose topic is marked for deletion. See `gone_topics`."""
    wanted = list(partitions)
    topics = sorted({topic for topic, _ in wanted})
    gone = frozenset(gone_topics(zk, topics))
    known = topic_assignments(zk, [topic for topic in topics if topic not in gone])
    return [
        partition
        for partition in wanted
        if partition.topic not in known or partition.partition not in known[partition.topic].partitions
    ]


def topics_marked_for_deletion(zk: ZkClient) -> list[str]:
    """Blocks. Topics whose deletion was requested and is not complete."""
    try:
        return zk.children(DeleteTopicsZNode.PATH)
    except NoNode:
        return []
