"""The partition state machine: valid transitions, and the initial leadership of a new partition.

Role        Pure. `partition_machine` performs what is decided here.
Source      PartitionStateMachine (validPreviousStates, initializeLeaderAndIsrForPartitions).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.controller.decisions.context import ControllerContext, Leadership, PartitionState
from kafka_zk.protocol.types import TopicPartition

VALID_PREVIOUS: dict[PartitionState, frozenset[PartitionState]] = {
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.OFFLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
}


def is_legal(current: PartitionState, target: PartitionState) -> bool:
    return current in VALID_PREVIOUS[target]


def split_by_legality(
    context: ControllerContext, partitions: Iterable[TopicPartition], target: PartitionState
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """(those that may move, those that may not). A partition never seen becomes NonExistent first."""
    legal: list[TopicPartition] = []
    refused: list[TopicPartition] = []
    for partition in partitions:
        current = context.partition_states.setdefault(partition, PartitionState.NON_EXISTENT)
        (legal if is_legal(current, target) else refused).append(partition)
    return legal, refused


def first_leadership(context: ControllerContext, partition: TopicPartition) -> Leadership | None:
    """Leader and ISR of a partition without a state znode: its live replicas in order. None: no replica lives."""
    live = tuple(r for r in context.assignment(partition).replicas if context.is_replica_online(r, partition))
    if not live:
        return None
    return Leadership(leader=live[0], leader_epoch=0, isr=live, partition_epoch=0, controller_epoch=context.epoch)


def state_at_startup(context: ControllerContext, partition: TopicPartition) -> PartitionState:
    """The state a new controller gives a partition it finds in ZooKeeper."""
    leadership = context.leadership.get(partition)
    if leadership is None:
        return PartitionState.NEW
    if context.is_replica_online(leadership.leader, partition):
        return PartitionState.ONLINE
    return PartitionState.OFFLINE
