"""Topics and partitions that were added to or removed from /brokers/topics.

Role        Acts, in the controller greenlet.
Invariants  The znode of a topic is never rewritten without its topic id. Partitions added to a topic that is being
            deleted are taken out of its znode again.
Source      KafkaController.processTopicChange, processPartitionModifications, onNewPartitionCreation, processTopicIds.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.context import PartitionState, ReplicaState
from kafka_zk.controller.decisions.election import Strategy
from kafka_zk.controller.events import PartitionModifications
from kafka_zk.controller.store import TopicInZk
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import TopicZNode


def on_topic_change(controller: ActiveController) -> None:
    """Blocks. Compare /brokers/topics with what is known; new topics get leaders, vanished ones are forgotten."""
    context = controller.context
    found = set(controller.store.topics())
    new = sorted(found - context.assignments.keys())
    vanished = sorted(context.assignments.keys() - found)
    for topic in vanished:
        forget(controller, topic)
    added = learn(controller, new)
    if new or vanished:
        assignments = ", ".join(
            f"{topic_partition} -> {context.assignment(topic_partition)}" for topic_partition in added
        )
        controller.info(
            f"New topics: [{', '.join(new)}], deleted topics: [{', '.join(vanished)}], new partition replica "
            f"assignment [{assignments}]"
        )
    if added:
        create_partitions(controller, added)


def learn(controller: ActiveController, topics: list[str]) -> list[TopicPartition]:
    """Blocks. Read topics into the context, giving an id to those without one; the partitions found."""
    for topic in topics:
        controller.watch(TopicZNode.path(topic), "data", PartitionModifications(topic))
    found = controller.store.topic_assignments(topics)
    _take_topic_ids(controller, found)
    partitions = []
    for topic, in_zk in found.items():
        controller.context.assignments.setdefault(topic, {})
        for index, assignment in in_zk.assignments.items():
            partition = TopicPartition(topic, index)
            controller.context.set_assignment(partition, assignment)
            partitions.append(partition)
            if assignment.is_being_reassigned:
                controller.context.being_reassigned.add(partition)
    return partitions


def _take_topic_ids(controller: ActiveController, found: Mapping[str, TopicInZk]) -> None:
    if not controller.versions.has_topic_ids:
        return
    for topic, in_zk in found.items():
        topic_id = in_zk.topic_id
        if topic_id is None:
            topic_id = controller.new_topic_id()
            with controller.contained(f"giving topic {topic} an id"):
                controller.store.write_topic(topic, topic_id, in_zk.assignments)
                controller.context.set_topic_id(topic, topic_id)
            continue
        controller.context.set_topic_id(topic, topic_id)


def forget(controller: ActiveController, topic: str) -> None:
    """Drop a topic whose znode is gone."""
    controller.unwatch(TopicZNode.path(topic), "data")
    controller.context.remove_topic(topic)


def create_partitions(controller: ActiveController, partitions: list[TopicPartition]) -> None:
    """Blocks. New partitions and their replicas go online: state znodes, LeaderAndIsr as new, UpdateMetadata."""
    controller.info(f"New partition creation callback for {','.join(map(str, partitions))}")
    replicas = controller.context.replicas_of(partitions)
    controller.partitions.move(partitions, PartitionState.NEW)
    controller.replicas.move(replicas, ReplicaState.NEW)
    controller.partitions.move(partitions, PartitionState.ONLINE, Strategy.OFFLINE)
    controller.replicas.move(replicas, ReplicaState.ONLINE)


def on_partition_modifications(controller: ActiveController, topic: str) -> None:
    """Blocks. A topic's znode changed: partitions not known yet are created."""
    context = controller.context
    if topic not in context.assignments:
        # It was deleted, which changed its znode too.
        return
    in_zk = controller.store.topic_assignments([topic]).get(topic)
    if in_zk is None:
        return
    if _is_another_topic(controller, topic, in_zk.topic_id):
        return
    known = context.assignments[topic]
    added = [TopicPartition(topic, index) for index in in_zk.assignments if index not in known]
    if topic in context.topics_to_delete:
        if added:
            indexes = ",".join(str(topic_partition.partition) for topic_partition in added)
            controller.warning(
                f"Skipping adding partitions {indexes} for topic {topic} since it is currently being deleted"
            )
            controller.store.write_topic(topic, context.topic_ids.get(topic), known, drops_others=True)
        return
    if added:
        controller.info(f"New partitions to be added {','.join(map(str, added))}")
        for partition in added:
            context.set_assignment(partition, in_zk.assignments[partition.partition])
        create_partitions(controller, added)


def _is_another_topic(controller: ActiveController, topic: str, topic_id: uuid.UUID | None) -> bool:
    """Whether the znode now belongs to a topic recreated under the old name; TopicChange will sort that out."""
    known = controller.context.topic_ids.get(topic)
    if known is None or topic_id is None or topic_id == known:
        return False
    controller.error(
        f"Topic ID {topic_id} of topic {topic} in ZooKeeper differs from the known {known}; ignoring the change"
    )
    return True
