"""Reassignments: what is asked for, whether it may start, and whether it is done.

Role        Pure. `handlers.reassignment` performs the steps.
Source      KafkaController.maybeBuildReassignment, validateReplicas, isReassignmentComplete; KIP-455.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.decisions.context import ControllerContext
from kafka_zk.protocol.errors import (
    BrokerError,
    InvalidReplicaAssignment,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.types import TopicPartition


def planned_assignment(
    context: ControllerContext, partition: TopicPartition, target: Sequence[int] | None
) -> ReplicaAssignment:
    """The assignment to write for a wish; `target` None cancels the running reassignment.

    Raises NoReassignmentInProgress (nothing to cancel), InvalidReplicaAssignment, UnknownTopicOrPartition.
    """
    current = context.assignment(partition)
    if target is None:
        if not current.is_being_reassigned:
            raise NoReassignmentInProgress
        target = current.origin
    elif (problem := problem_with_replicas(context, partition, target)) is not None:
        raise problem
    if partition.topic in context.topics_to_delete or not current.replicas:
        raise UnknownTopicOrPartition("The partition does not exist.")
    return current.reassign_to(target)


def problem_with_replicas(
    context: ControllerContext, partition: TopicPartition, target: Sequence[int]
) -> BrokerError | None:
    """Why `target` is no valid replica list for the partition; None: it is one."""
    listed = ", ".join(map(str, target))
    if not target:
        return InvalidReplicaAssignment("Empty replica list specified in partition reassignment.")
    if len(set(target)) < len(target):
        return InvalidReplicaAssignment(
            f"Duplicate replica ids in partition reassignment replica list: ArrayBuffer({listed})"
        )
    if any(replica < 0 for replica in target):
        return InvalidReplicaAssignment(f"Invalid broker id in replica list: ArrayBuffer({listed})")
    added = context.assignment(partition).reassign_to(target).adding
    live = context.live_broker_ids()
    if not set(added) <= set(live):
        return InvalidReplicaAssignment(
            "Replica assignment has brokers that are not alive. Replica list: "
            f"ArrayBuffer({', '.join(map(str, added))}), live broker list: Set({', '.join(map(str, live))})"
        )
    return None


def is_complete(target: Sequence[int], isr: Sequence[int]) -> bool:
    """Every replica the reassignment ends with is in the ISR."""
    return set(target) <= set(isr)


def needs_new_leader(context: ControllerContext, partition: TopicPartition, target: Sequence[int]) -> bool:
    """Whether the current leader cannot lead on: it is not in the target, or it is not online."""
    leader = context.leadership[partition].leader
    return leader not in target or not context.is_replica_online(leader, partition)


def abandoned_replicas(before: ReplicaAssignment, after: ReplicaAssignment) -> list[int]:
    """Replicas of an earlier reassignment that the new one no longer has: to be stopped and deleted at once."""
    return [replica for replica in before.replicas if replica not in after.replicas]
