"""The replica state machine: valid transitions, and how a replica is removed from the ISR.

Role        Pure. `replica_machine` performs what is decided here.
Source      ReplicaStateMachine (validPreviousStates, doRemoveReplicasFromIsr).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kafka_zk.controller.decisions.context import (
    ControllerContext,
    Leadership,
    PartitionReplica,
    ReplicaState,
)
from kafka_zk.protocol.types import NO_LEADER

_ALIVE = frozenset({ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE})

VALID_PREVIOUS: dict[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: _ALIVE,
    ReplicaState.OFFLINE: _ALIVE,
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}


def is_legal(current: ReplicaState, target: ReplicaState) -> bool:
    return current in VALID_PREVIOUS[target]


def split_by_legality(
    context: ControllerContext, replicas: Iterable[PartitionReplica], target: ReplicaState
) -> tuple[list[PartitionReplica], list[PartitionReplica]]:
    """(those that may move, those that may not). A replica never seen becomes NonExistent first."""
    legal: list[PartitionReplica] = []
    refused: list[PartitionReplica] = []
    for replica in replicas:
        current = context.replica_states.setdefault(replica, ReplicaState.NON_EXISTENT)
        (legal if is_legal(current, target) else refused).append(replica)
    return legal, refused


def without_replica(state: Leadership, broker_id: int) -> Leadership | None:
    """The leadership without `broker_id` in the ISR, with the next leader epoch; None if it is not a member.

    The last member stays: an empty ISR would lose the knowledge of who holds every committed record.
    """
    if broker_id not in state.isr:
        return None
    isr = state.isr if len(state.isr) == 1 else tuple(member for member in state.isr if member != broker_id)
    leader = NO_LEADER if state.leader == broker_id else state.leader
    return replace(state, leader=leader, leader_epoch=state.leader_epoch + 1, isr=isr)


def state_at_startup(context: ControllerContext, replica: PartitionReplica) -> ReplicaState:
    """The state a new controller gives a replica it finds in ZooKeeper.

    A replica on a dead broker may have been asked to delete itself by the controller before: hence not Offline.
    """
    if context.is_replica_online(replica.broker_id, replica.partition):
        return ReplicaState.ONLINE
    return ReplicaState.DELETION_INELIGIBLE
