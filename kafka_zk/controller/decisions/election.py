"""Leader elections: the four strategies.

Role        Pure: each function decides for one partition and returns an `Election`.
Invariants  The leader epoch grows by exactly one with each election. Only an unclean election picks a leader from
            outside the ISR, and from protocol 3.2 on it says so in the recovery state.
Source      Election; PartitionLeaderElectionAlgorithms; KIP-460, KIP-704.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kafka_zk.controller.decisions.context import RECOVERED, RECOVERING, ControllerContext, Leadership
from kafka_zk.protocol.types import TopicPartition


class Strategy(Enum):
    """The election strategy; the value is Kafka's word in its logs."""

    OFFLINE = "OfflinePartitionLeaderElectionStrategy(false)"
    UNCLEAN = "OfflinePartitionLeaderElectionStrategy(true)"
    REASSIGN = "ReassignPartitionLeaderElectionStrategy"
    PREFERRED = "PreferredReplicaPartitionLeaderElectionStrategy"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy"


@dataclass(frozen=True, slots=True)
class Election:
    """The outcome for one partition: its next leadership (None: no leader possible) and the brokers to notify."""

    leadership: Leadership | None
    recipients: tuple[int, ...]
    is_unclean: bool = False


def offline_leader(
    assigned: Sequence[int], isr: Sequence[int], online: Sequence[int], *, may_be_unclean: bool
) -> tuple[int | None, bool]:
    """(first assigned replica that is online and in the ISR, else, where allowed, the first online one; unclean?)."""
    for replica in assigned:
        if replica in online and replica in isr:
            return replica, False
    if may_be_unclean:
        for replica in assigned:
            if replica in online:
                return replica, True
    return None, False


def reassigned_leader(target: Sequence[int], isr: Sequence[int], online: Sequence[int]) -> int | None:
    return next((replica for replica in target if replica in online and replica in isr), None)


def preferred_leader(assigned: Sequence[int], isr: Sequence[int], online: Sequence[int]) -> int | None:
    return assigned[0] if assigned and assigned[0] in online and assigned[0] in isr else None


def leader_after_shutdown(
    assigned: Sequence[int], isr: Sequence[int], online: Sequence[int], leaving: Sequence[int] | set[int]
) -> int | None:
    return next((r for r in assigned if r in online and r in isr and r not in leaving), None)


def elect(
    context: ControllerContext,
    partition: TopicPartition,
    current: Leadership,
    strategy: Strategy,
    *,
    unclean_allowed: bool = False,
    has_leader_recovery: bool = True,
) -> Election:
    """Elect a leader for `partition` from the state just read.

    `unclean_allowed` is the topic's unclean.leader.election.enable; it matters only to OFFLINE and only if no member
    of the ISR is online. Without `has_leader_recovery` (a protocol before 3.2) no state says RECOVERING.
    """
    assignment = context.assignment(partition)
    assigned = assignment.replicas
    if strategy is Strategy.CONTROLLED_SHUTDOWN:
        alive = _online(context, partition, assigned, include_shutting_down=True)
        leader = leader_after_shutdown(assigned, current.isr, alive, context.shutting_down)
        isr = tuple(member for member in current.isr if member not in context.shutting_down)
        return Election(_next(current, leader, isr), alive)
    online = _online(context, partition, assigned)
    if strategy is Strategy.PREFERRED:
        return Election(_next(current, preferred_leader(assigned, current.isr, online), current.isr), assigned)
    if strategy is Strategy.REASSIGN:
        target = assignment.target
        return Election(_next(current, reassigned_leader(target, current.isr, online), current.isr), target)
    isr_is_dead = not any(context.is_replica_online(member, partition) for member in current.isr)
    may_be_unclean = strategy is Strategy.UNCLEAN or (unclean_allowed and isr_is_dead)
    leader, is_unclean = offline_leader(assigned, current.isr, online, may_be_unclean=may_be_unclean)
    if is_unclean and leader is not None:
        elected = _next(current, leader, (leader,))
        assert elected is not None
        recovery_state = RECOVERING if has_leader_recovery else RECOVERED
        return Election(replace(elected, recovery_state=recovery_state), online, is_unclean=True)
    isr = tuple(member for member in current.isr if context.is_replica_online(member, partition))
    return Election(_next(current, leader, isr), online)


def _online(
    context: ControllerContext,
    partition: TopicPartition,
    replicas: Sequence[int],
    *,
    include_shutting_down: bool = False,
) -> tuple[int, ...]:
    return tuple(
        r for r in replicas if context.is_replica_online(r, partition, include_shutting_down=include_shutting_down)
    )


def _next(current: Leadership, leader: int | None, isr: tuple[int, ...]) -> Leadership | None:
    if leader is None:
        return None
    return replace(current, leader=leader, leader_epoch=current.leader_epoch + 1, isr=isr)
