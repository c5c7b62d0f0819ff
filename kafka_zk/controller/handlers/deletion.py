"""Topic deletion, step by step.

Role        Acts, in the controller greenlet, on the decisions of `topic_deletion`.
Source      TopicDeletionManager; KafkaController.processTopicDeletion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_zk.controller.decisions.context import PartitionReplica, PartitionState, ReplicaState
from kafka_zk.controller.decisions.topic_deletion import due, ineligible_topics, is_eligible, split_replicas
from kafka_zk.controller.handlers import topics as topic_handlers
from kafka_zk.controller.term import Term
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition


def queue_at_startup(term: Term) -> None:
    """Blocks. Queue the deletions requested in ZooKeeper, without starting any."""
    wanted = set(term.store.topic_deletions())
    context = term.context
    if not term.settings.delete_topic_enable:
        term.store.remove_topic_deletions(sorted(wanted))
        return
    # An entry without its topic is what a controller left that died amid its last deletes: the topic has no replicas
    # any more, so its deletion counts as complete and the rest of its znodes is removed.
    context.topics_to_delete |= wanted
    context.topics_ineligible_for_deletion |= ineligible_topics(context, context.topics_to_delete)
    term.info(
        f"List of topics to be deleted: {','.join(sorted(context.topics_to_delete))}; ineligible for deletion: "
        f"{','.join(sorted(context.topics_ineligible_for_deletion))}"
    )


def on_topic_deletion(term: Term) -> None:
    """Blocks. Read /admin/delete_topics and start what may start."""
    context = term.context
    wanted = set(term.store.topic_deletions())
    if not wanted <= context.assignments.keys():
        # Made and deleted at once: the event of its creation may still be queued. (Kafka drops the request.)
        topic_handlers.on_topic_change(term)
    unknown = sorted(wanted - context.assignments.keys())
    if unknown:
        term.warning(f"Ignoring request to delete non-existing topics {','.join(unknown)}")
        term.store.remove_topic_deletions(unknown)
        wanted.difference_update(unknown)
    if not term.settings.delete_topic_enable:
        term.info(f"Removing {','.join(sorted(wanted))} since delete topic is disabled")
        term.store.remove_topic_deletions(sorted(wanted))
        return
    if not wanted:
        return
    term.info(f"Starting topic deletion for topics {','.join(sorted(wanted))}")
    context.topics_to_delete |= wanted
    moving = {t for t in wanted if not context.being_reassigned.isdisjoint(context.partitions_of(t))}
    mark_ineligible(term, moving, "topic reassignment in progress")
    resume(term)


def resume(term: Term) -> None:
    """Blocks. Do what is due for every queued topic."""
    todo = due(term.context)
    if todo.complete:
        _complete(term, todo.complete)
    failed = [
        replica
        for topic in todo.retry
        for replica in term.context.replicas_in_state(topic, ReplicaState.DELETION_INELIGIBLE)
    ]
    if failed:
        term.info(f"Retrying deletion of topics {','.join(todo.retry)}")
        term.replicas.move(failed, ReplicaState.OFFLINE)
    eligible = [topic for topic in todo.delete if is_eligible(term.context, topic)]
    if eligible:
        term.info(f"Deletion of topics {','.join(eligible)} (re)started")
        _delete(term, eligible)


def resume_for(term: Term, topics: Collection[str]) -> None:
    """Blocks. Resume the deletion of these topics: a broker came back, or a reassignment ended."""
    queued = term.context.topics_to_delete.intersection(topics)
    if queued:
        term.context.topics_ineligible_for_deletion -= queued
        resume(term)


def mark_ineligible(term: Term, topics: Collection[str], reason: str) -> None:
    """Halt the deletion of those of `topics` that are queued."""
    halted = term.context.topics_to_delete.intersection(topics)
    if halted:
        term.context.topics_ineligible_for_deletion |= halted
        term.info(f"Halted deletion of topics {','.join(sorted(halted))} due to {reason}")


def replicas_failed(term: Term, replicas: Iterable[PartitionReplica]) -> None:
    """Blocks. These replicas could not be deleted (dead broker, failed directory, error)."""
    failed = [r for r in replicas if r.partition.topic in term.context.topics_to_delete]
    if not failed:
        return
    term.debug(f"Deletion failed for replicas {', '.join(f'{r.partition} on {r.broker_id}' for r in failed)}")
    term.replicas.move(failed, ReplicaState.DELETION_INELIGIBLE)
    mark_ineligible(term, {r.partition.topic for r in failed}, "replica deletion failure")
    resume(term)


def on_stop_replica_response(term: Term, broker_id: int, errors: Mapping[TopicPartition, int]) -> None:
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
    replicas_failed(term, failed)
    queued = [replica for replica in gone if replica.partition.topic in term.context.topics_to_delete]
    if queued:
        term.replicas.move(queued, ReplicaState.DELETION_SUCCESSFUL)
        resume(term)


def _delete(term: Term, topics: list[str]) -> None:
    context = term.context
    unseen = [topic for topic in topics if topic not in context.topics_with_deletion_started]
    partitions = [topic_partition for topic in unseen for topic_partition in context.partitions_of(topic)]
    if partitions:
        term.partitions.move(partitions, PartitionState.OFFLINE)
        term.partitions.move(partitions, PartitionState.NON_EXISTENT)
    context.topics_with_deletion_started.update(unseen)
    # Brokers stop serving the topic's metadata before its replicas go.
    of_topics = [topic_partition for topic in topics for topic_partition in context.partitions_of(topic)]
    term.outbox.update_metadata(context.live_or_shutting_down_ids(), of_topics)
    replicas = split_replicas(context, topics)
    term.replicas.move(replicas.dead, ReplicaState.DELETION_INELIGIBLE)
    term.replicas.move(replicas.alive, ReplicaState.OFFLINE)
    term.replicas.move(replicas.alive, ReplicaState.DELETION_STARTED)
    mark_ineligible(term, replicas.topics_with_dead, "offline replicas")


def _complete(term: Term, topics: Sequence[str]) -> None:
    """Every replica is gone: remove the znodes, the topic and its deletion entry last: a new controller can go on.

    A topic that nobody may remove stays queued, and holds up no other.
    """
    for topic in topics:
        successful = term.context.replicas_in_state(topic, ReplicaState.DELETION_SUCCESSFUL)
        term.replicas.move(successful, ReplicaState.NON_EXISTENT)
    failed = term.store.delete_topics(topics)
    for topic in topics:
        if topic in failed:
            term.error(f"Failed removing the znodes of topic {topic}: {failed[topic]}")
            continue
        topic_handlers.forget(term, topic)
        term.info(f"Deletion of topic {topic} successfully completed")
