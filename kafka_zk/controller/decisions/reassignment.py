"""Reassignments: validates requests, and decides whether one is complete.

Role        Pure. `handlers.reassignment` performs the steps.
Source      KafkaController.maybeBuildReassignment, validateReplicas, isReassignmentComplete; KIP-455.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import ControllerContext
from kafka_zk.protocol.errors import (
    InvalidReplicaAssignment,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.types import TopicPartition

SHOWN = 1_000
"""So many replicas of one list are named."""


def planned_assignment(
    context: ControllerContext, partition: TopicPartition, target: Sequence[int] | None
) -> ReplicaAssignment:
    """The assignment to write for a request; `target` None cancels the ongoing reassignment.

    Raises NoReassignmentInProgress (nothing to cancel), InvalidReplicaAssignment, UnknownTopicOrPartition.
    Differs from Kafka in ZooKeeper mode, and is as in KRaft: what would delete the only replicas that are alive and in
    sync, because they came with the reassignment that is given up, is refused.
    """
    current = context.assignment(partition)
    if target is None:
        if not current.is_being_reassigned:
            raise NoReassignmentInProgress
        target = current.origin
    else:
        _check_replicas(context, partition, target)
    if partition.topic in context.topics_to_delete or not current.replicas:
        raise UnknownTopicOrPartition("The partition does not exist.")
    planned = current.reassign_to(target)
    if _loses_in_sync_replicas(context, partition, abandoned_replicas(current, planned)):
        raise InvalidReplicaAssignment(
            f"Unable to revert partition assignment for {partition} because it would require an unclean leader "
            "election."
        )
    return planned


def _loses_in_sync_replicas(context: ControllerContext, partition: TopicPartition, abandoned: Sequence[int]) -> bool:
    state = context.leadership.get(partition)
    if state is None or set(abandoned).isdisjoint(state.isr):
        return False
    return not any(member not in abandoned and context.is_replica_online(member, partition) for member in state.isr)


def _check_replicas(context: ControllerContext, partition: TopicPartition, target: Sequence[int]) -> None:
    """Raises InvalidReplicaAssignment."""
    if not target:
        raise InvalidReplicaAssignment("Empty replica list specified in partition reassignment.")
    if len(set(target)) < len(target):
        raise InvalidReplicaAssignment(
            f"Duplicate replica ids in partition reassignment replica list: ArrayBuffer({_listed(target)})"
        )
    if any(replica < 0 for replica in target):
        raise InvalidReplicaAssignment(f"Invalid broker id in replica list: ArrayBuffer({_listed(target)})")
    added = context.assignment(partition).reassign_to(target).adding
    live = context.live_broker_ids()
    if not set(added) <= set(live):
        raise InvalidReplicaAssignment(
            "Replica assignment has brokers that are not alive. Replica list: "
            f"ArrayBuffer({_listed(added)}), live broker list: Set({', '.join(map(str, live))})"
        )


def _listed(replicas: Sequence[int]) -> str:
    """As Kafka lists them; of very many the first."""
    return ", ".join(map(str, replicas[:SHOWN])) + (", ..." if len(replicas) > SHOWN else "")


def is_complete(target: Sequence[int], isr: Sequence[int]) -> bool:
    """Every replica the reassignment ends with is in the ISR."""
    return set(target) <= set(isr)


def needs_new_leader(context: ControllerContext, partition: TopicPartition, target: Sequence[int]) -> bool:
    """Whether the current leader cannot lead on: it is not in the target, or it is not online.

    A partition that never had a leader does not need one here: it waits for a replica that lives.
    Differs from Kafka, which fails on it once its assignment is written.
    """
    current = context.leadership.get(partition)
    if current is None:
        return False
    return current.leader not in target or not context.is_replica_online(current.leader, partition)


def abandoned_replicas(before: ReplicaAssignment, after: ReplicaAssignment) -> list[int]:
    """Replicas of an earlier reassignment that the new one no longer has: to be stopped and deleted at once."""
    return [replica for replica in before.replicas if replica not in after.replicas]
