"""Topic deletion: the next step for each queued topic.

Role        Pure decisions over the context; `handlers.deletion` performs them.
Invariants  A topic's znodes go only after every replica confirmed its deletion. A topic with a replica that cannot be
            reached, or that is being reassigned, is ineligible until a broker start or the reassignment's end.
            Differs from Kafka: a broker that starts does not let a topic be deleted that is being reassigned. What the
            reassignment does next would recreate replicas that are deleted already.
Source      TopicDeletionManager.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kafka_zk.controller.decisions.context import ControllerContext, PartitionReplica, ReplicaState


@dataclass(frozen=True, slots=True)
class Due:
    """The deletion steps that are due; each list sorted by topic name."""

    complete: tuple[str, ...]
    """Every replica is gone: remove the topic's znodes."""
    retry: tuple[str, ...]
    """No deletion runs and some replica failed earlier: move the failed ones back to Offline."""
    delete: tuple[str, ...]
    """Eligible: delete (again) what is left."""


def due(context: ControllerContext) -> Due:
    """Sort the queued topics. Ask `is_eligible` again for `delete` once `complete` and `retry` were performed."""
    complete: list[str] = []
    retry: list[str] = []
    delete: list[str] = []
    for topic in sorted(context.topics_to_delete):
        states = [context.replica_states.get(replica) for replica in context.replicas_of_topic(topic)]
        if all(state is ReplicaState.DELETION_SUCCESSFUL for state in states):
            complete.append(topic)
            continue
        if ReplicaState.DELETION_STARTED not in states and ReplicaState.DELETION_INELIGIBLE in states:
            retry.append(topic)
        if is_eligible(context, topic):
            delete.append(topic)
    return Due(tuple(complete), tuple(retry), tuple(delete))


def is_eligible(context: ControllerContext, topic: str) -> bool:
    """Queued, not waiting for StopReplica answers, and nothing prevents its deletion."""
    return (
        topic in context.topics_to_delete
        and topic not in context.topics_ineligible_for_deletion
        and context.being_reassigned.isdisjoint(context.partitions_of(topic))
        and not context.replicas_in_state(topic, ReplicaState.DELETION_STARTED)
    )


def ineligible_topics(context: ControllerContext, topics: Collection[str]) -> set[str]:
    """Those of `topics` with a replica on a broker that is not live, or with a partition being reassigned."""
    live = set(context.live_broker_ids())
    return {
        topic
        for topic in topics
        if any(replica.broker_id not in live for replica in context.replicas_of_topic(topic))
        or not context.being_reassigned.isdisjoint(context.partitions_of(topic))
    }


@dataclass(frozen=True, slots=True)
class ReplicaSplit:
    """The replicas of topics to delete: those that can be asked now, those on dead brokers, and the latter's topics."""

    alive: tuple[PartitionReplica, ...]
    dead: tuple[PartitionReplica, ...]
    topics_with_dead: frozenset[str]


def split_replicas(context: ControllerContext, topics: Collection[str]) -> ReplicaSplit:
    """Replicas already deleted are left out of `alive`."""
    alive: list[PartitionReplica] = []
    dead: list[PartitionReplica] = []
    for topic in sorted(topics):
        for replica in context.replicas_of_topic(topic):
            if not context.is_replica_online(replica.broker_id, replica.partition):
                dead.append(replica)
            elif context.replica_states.get(replica) is not ReplicaState.DELETION_SUCCESSFUL:
                alive.append(replica)
    return ReplicaSplit(tuple(alive), tuple(dead), frozenset(replica.partition.topic for replica in dead))
