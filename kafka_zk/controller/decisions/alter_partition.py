"""The decision table of AlterPartition, without the ZooKeeper write.

Role        Pure. `handlers.isr` writes what is accepted and answers.
Invariants  Rows are tried in order; exactly one applies. The leader epoch does not change.
Source      KafkaController.tryProcessAlterPartition; KIP-497, KIP-704.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_zk.controller.decisions.context import RECOVERED, RECOVERING, ControllerContext, Leadership
from kafka_zk.protocol.errors import (
    BrokerError,
    FencedLeaderEpoch,
    IneligibleReplica,
    InvalidRequest,
    InvalidUpdateVersion,
    NotController,
    OperationNotAttempted,
    StaleBrokerEpoch,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.types import TopicPartition


@dataclass(frozen=True, slots=True)
class WantedIsr:
    """One partition of an AlterPartition request."""

    leader_epoch: int
    isr: tuple[int, ...]
    recovery_state: int
    partition_epoch: int


@dataclass(frozen=True, slots=True)
class Write:
    """Accepted: write this, if the state znode still has version `leadership.partition_epoch`."""

    leadership: Leadership


@dataclass(frozen=True, slots=True)
class AlreadySo:
    """The wanted ISR is already committed: respond with the cached state."""

    leadership: Leadership


@dataclass(frozen=True, slots=True)
class Refused:
    error: BrokerError


Decision = Write | AlreadySo | Refused


def broker_epoch_problem(context: ControllerContext, broker_id: int, broker_epoch: int) -> BrokerError | None:
    """Why the whole request is refused; None if it carries the broker's current epoch."""
    broker = context.brokers.get(broker_id)
    if broker is None or broker.epoch != broker_epoch:
        return StaleBrokerEpoch()
    return None


def decide(
    context: ControllerContext, partition: TopicPartition, leader: int, wanted: WantedIsr, api_version: int
) -> Decision:
    """Decide about one partition; `leader` is the id of the broker that asks.

    As in Kafka the epochs alone prove that the asker leads: its id becomes the leader that is written.
    """
    current = context.leadership.get(partition)
    if current is None:
        return Refused(UnknownTopicOrPartition())
    if wanted.partition_epoch > current.partition_epoch or wanted.leader_epoch > current.leader_epoch:
        # The leader knows more than this controller: another one must be active.
        return Refused(NotController())
    if wanted.leader_epoch < current.leader_epoch:
        return Refused(FencedLeaderEpoch())
    if (leader, wanted.isr, wanted.recovery_state) == (current.leader, current.isr, current.recovery_state):
        # Its partition epoch is not above ours: the answer to an earlier try was lost.
        return AlreadySo(current)
    if wanted.partition_epoch < current.partition_epoch:
        return Refused(InvalidUpdateVersion())
    if wanted.recovery_state not in (RECOVERED, RECOVERING):
        # Nobody could read the state any more.
        return Refused(InvalidRequest())
    if wanted.recovery_state == RECOVERING and len(wanted.isr) > 1:
        return Refused(InvalidRequest())
    if wanted.recovery_state == RECOVERING and current.recovery_state == RECOVERED:
        return Refused(InvalidRequest())
    if not all(context.is_replica_online(member, partition) for member in wanted.isr):
        # The error came with version 2; older leaders know only this one and retry on it.
        return Refused(OperationNotAttempted() if api_version <= 1 else IneligibleReplica())
    return Write(
        Leadership(
            leader=leader,
            leader_epoch=wanted.leader_epoch,
            isr=wanted.isr,
            partition_epoch=wanted.partition_epoch,
            controller_epoch=context.epoch,
            recovery_state=wanted.recovery_state,
        )
    )
