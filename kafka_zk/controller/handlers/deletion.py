"""Topic deletion, step by step.

Role        Acts, in the controller greenlet, on the decisions of `topic_deletion`.
Source      TopicDeletionManager; KafkaController.processTopicDeletion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_zk.controller.active_controller import ActiveController
from kafka_zk.controller.decisions.context import PartitionReplica, PartitionState, ReplicaState
from kafka_zk.controller.decisions.topic_deletion import due, ineligible_topics, is_eligible, split_replicas
from kafka_zk.controller.handlers import topics as topic_handlers
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition


def queue_at_startup(controller: ActiveController) -> None:
    """Blocks. Queue the deletions requested in ZooKeeper, without starting any."""
    wanted = set(controller.store.topic_deletions())
    context = controller.context
    if not controller.settings.delete_topic_enable:
        controller.store.remove_topic_deletions(sorted(wanted))
        return
    # A controller that died during its last deletes leaves an entry without its topic. The topic has no replicas any
    # more, so its deletion counts as complete and the rest of its znodes is removed.
    context.topics_to_delete |= wanted
    context.topics_ineligible_for_deletion |= ineligible_topics(context, context.topics_to_delete)
    controller.info(
        f"List of topics to be deleted: {','.join(sorted(context.topics_to_delete))}; ineligible for deletion: "
        f"{','.join(sorted(context.topics_ineligible_for_deletion))}"
    )


def on_topic_deletion(controller: ActiveController) -> None:
    """Blocks. Read /admin/delete_topics and start what may start."""
    context = controller.context
    wanted = set(controller.store.topic_deletions())
    if not wanted <= context.assignments.keys():
        # Made and deleted at once: the event of its creation may still be queued. (Kafka drops the request.)
        topic_handlers.on_topic_change(controller)
    unknown = sorted(wanted - context.assignments.keys())
    if unknown:
        controller.warning(f"Ignoring request to delete non-existing topics {','.join(unknown)}")
        controller.store.remove_topic_deletions(unknown)
        wanted.difference_update(unknown)
    if not controller.settings.delete_topic_enable:
        controller.info(f"Removing {','.join(sorted(wanted))} since delete topic is disabled")
        controller.store.remove_topic_deletions(sorted(wanted))
        return
    if not wanted:
        return
    controller.info(f"Starting topic deletion for topics {','.join(sorted(wanted))}")
    context.topics_to_delete |= wanted
    moving = {t for t in wanted if not context.being_reassigned.isdisjoint(context.partitions_of(t))}
    mark_ineligible(controller, moving, "topic reassignment in progress")
    resume(controller)


def resume(controller: ActiveController) -> None:
    """Blocks. Do what is due for every queued topic."""
    todo = due(controller.context)
    if todo.complete:
        _complete(controller, todo.complete)
    failed = [
        replica
        for topic in todo.retry
        for replica in controller.context.replicas_in_state(topic, ReplicaState.DELETION_INELIGIBLE)
    ]
    if failed:
        controller.info(f"Retrying deletion of topics {','.join(todo.retry)}")
        controller.replicas.move(failed, ReplicaState.OFFLINE)
    eligible = [topic for topic in todo.delete if is_eligible(controller.context, topic)]
    if eligible:
        controller.info(f"Deletion of topics {','.join(eligible)} (re)started")
        _delete(controller, eligible)


def resume_for(controller: ActiveController, topics: Collection[str]) -> None:
    """Blocks. Resume the deletion of these topics: a broker came back, or a reassignment ended."""
    queued = controller.context.topics_to_delete.intersection(topics)
    if queued:
        controller.context.topics_ineligible_for_deletion -= queued
        resume(controller)


def mark_ineligible(controller: ActiveController, topics: Collection[str], reason: str) -> None:
    """Halt the deletion of those of `topics` that are queued."""
    halted = controller.context.topics_to_delete.intersection(topics)
    if halted:
        controller.context.topics_ineligible_for_deletion |= halted
        controller.info(f"Halted deletion of topics {','.join(sorted(halted))} due to {reason}")


def replicas_failed(controller: ActiveController, replicas: Iterable[PartitionReplica]) -> None:
    """Blocks. These replicas could not be deleted (dead broker, failed directory, error)."""
    failed = [r for r in replicas if r.partition.topic in controller.context.topics_to_delete]
    if not failed:
        return
    controller.debug(f"Deletion failed for replicas {', '.join(f'{r.partition} on {r.broker_id}' for r in failed)}")
    controller.replicas.move(failed, ReplicaState.DELETION_INELIGIBLE)
    mark_ineligible(controller, {r.partition.topic for r in failed}, "replica deletion failure")
    resume(controller)


def on_stop_replica_response(
    controller: ActiveController, broker_id: int, errors: Mapping[TopicPartition, int]
) -> None:
    """Blocks. A broker answered about replicas of deleted topics."""
    failed = [
        PartitionReplica(topic_partition, broker_id)
        for topic_partition, code in errors.items()
        if code != ErrorCode.NONE
    ]
    gone = [
        PartitionReplica(topic_partition, broker_id)
        for topic_partition, code in errors.items()
        if code == ErrorCode.NONE
    ]
    replicas_failed(controller, failed)
    queued = [replica for replica in gone if replica.partition.topic in controller.context.topics_to_delete]
    if queued:
        controller.replicas.move(queued, ReplicaState.DELETION_SUCCESSFUL)
        resume(controller)


def _delete(controller: ActiveController, topics: list[str]) -> None:
    context = controller.context
    unseen = [topic for topic in topics if topic not in context.topics_with_deletion_started]
    partitions = [topic_partition for topic in unseen for topic_partition in context.partitions_of(topic)]
    if partitions:
        controller.partitions.move(partitions, PartitionState.OFFLINE)
        controller.partitions.move(partitions, PartitionState.NON_EXISTENT)
    context.topics_with_deletion_started.update(unseen)
    # Brokers stop serving the topic's metadata before its replicas go.
    of_topics = [topic_partition for topic in topics for topic_partition in context.partitions_of(topic)]
    controller.outbox.update_metadata(context.live_or_shutting_down_ids(), of_topics)
    replicas = split_replicas(context, topics)
    controller.replicas.move(replicas.dead, ReplicaState.DELETION_INELIGIBLE)
    controller.replicas.move(replicas.alive, ReplicaState.OFFLINE)
    controller.replicas.move(replicas.alive, ReplicaState.DELETION_STARTED)
    mark_ineligible(controller, replicas.topics_with_dead, "offline replicas")


def _complete(controller: ActiveController, topics: Sequence[str]) -> None:
    """Every replica is gone: remove the znodes, the topic and its deletion entry last: a new controller can continue.

    A topic that cannot be removed stays queued, and holds up no other.
    """
    for topic in topics:
        successful = controller.context.replicas_in_state(topic, ReplicaState.DELETION_SUCCESSFUL)
        controller.replicas.move(successful, ReplicaState.NON_EXISTENT)
    failed = controller.store.delete_topics(topics)
    for topic in topics:
        if topic in failed:
            controller.error(f"Failed removing the znodes of topic {topic}: {failed[topic]}")
            continue
        topic_handlers.forget(controller, topic)
        controller.info(f"Deletion of topic {topic} successfully completed")
