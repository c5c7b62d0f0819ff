"""The controller's events, and the controller state of each (for metrics).

Role        Pure, immutable values. Requests are answered through the `Pending` that is queued with them, never
            through the event.
Source      ControllerEvent and its case classes; ControllerState.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.alter_partition import AlterPartitionRequest
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafka_zk.protocol.types import TopicPartition


class ControllerState(Enum):
    """(value of the ControllerState gauge, name in the timer's MBean or None)."""

    IDLE = (0, None)
    CONTROLLER_CHANGE = (1, "ControllerChange")
    BROKER_CHANGE = (2, "LeaderElection")
    TOPIC_CHANGE = (3, "TopicChange")
    TOPIC_DELETION = (4, "TopicDeletion")
    PARTITION_REASSIGNMENT = (5, "PartitionReassignment")
    AUTO_LEADER_BALANCE = (6, "AutoLeaderBalance")
    MANUAL_LEADER_BALANCE = (7, "ManualLeaderBalance")
    CONTROLLED_SHUTDOWN = (8, "ControlledShutdown")
    ISR_CHANGE = (9, "IsrChange")
    LEADER_AND_ISR_RESPONSE = (10, "LeaderAndIsrResponseReceived")
    LOG_DIR_CHANGE = (11, "LogDirChange")
    CONTROLLER_SHUTDOWN = (12, "ControllerShutdown")
    UNCLEAN_ELECTION_ENABLE = (13, "UncleanLeaderElectionEnable")
    TOPIC_UNCLEAN_ELECTION_ENABLE = (14, "TopicUncleanLeaderElectionEnable")
    LIST_REASSIGNMENT = (15, "ListPartitionReassignment")
    UPDATE_METADATA_RESPONSE = (16, None)

    def __init__(self, gauge_value: int, timer_name: str | None) -> None:
        self.gauge_value = gauge_value
        self.timer_name = timer_name


@dataclass(frozen=True, slots=True)
class Event:
    """An event for the controller. Watches only say that something changed, so it is read again."""

    state: ClassVar[ControllerState] = ControllerState.CONTROLLER_CHANGE


# Election


class Startup(Event):
    """This broker has started."""


class ControllerChange(Event):
    """/controller was created or changed."""


class Reelect(Event):
    """/controller is gone."""


class RegisterBrokerAndReelect(Event):
    """A new ZooKeeper session was established."""


class Expire(Event):
    """The ZooKeeper session expired."""


class Shutdown(Event):
    """This broker stops."""

    state = ControllerState.CONTROLLER_SHUTDOWN


# Watches


class BrokerChange(Event):
    state = ControllerState.BROKER_CHANGE


@dataclass(frozen=True, slots=True)
class BrokerModifications(Event):
    broker_id: int
    state: ClassVar[ControllerState] = ControllerState.BROKER_CHANGE


class TopicChange(Event):
    state = ControllerState.TOPIC_CHANGE


@dataclass(frozen=True, slots=True)
class PartitionModifications(Event):
    topic: str
    state: ClassVar[ControllerState] = ControllerState.TOPIC_CHANGE


class TopicDeletion(Event):
    state = ControllerState.TOPIC_DELETION


class IsrChangeNotification(Event):
    state = ControllerState.ISR_CHANGE


class LogDirEventNotification(Event):
    state = ControllerState.LOG_DIR_CHANGE


class ZkPartitionReassignment(Event):
    state = ControllerState.PARTITION_REASSIGNMENT


class ZkPreferredElection(Event):
    """/admin/preferred_replica_election was created."""

    state = ControllerState.MANUAL_LEADER_BALANCE


# Timers and configuration


class AutoPreferredElection(Event):
    state = ControllerState.AUTO_LEADER_BALANCE


class UncleanElectionDefault(Event):
    """The broker's unclean.leader.election.enable changed."""

    state = ControllerState.UNCLEAN_ELECTION_ENABLE


@dataclass(frozen=True, slots=True)
class TopicUncleanElectionEnable(Event):
    topic: str
    state: ClassVar[ControllerState] = ControllerState.TOPIC_UNCLEAN_ELECTION_ENABLE


# Answers of brokers


@dataclass(frozen=True, slots=True)
class BrokerAnswer(Event):
    """The answer of a broker; the two epochs are those the request carried."""

    broker_id: int
    broker_epoch: int
    controller_epoch: int


@dataclass(frozen=True, slots=True)
class LeaderAndIsrResponseReceived(BrokerAnswer):
    response: LeaderAndIsrResponse
    state: ClassVar[ControllerState] = ControllerState.LEADER_AND_ISR_RESPONSE


@dataclass(frozen=True, slots=True)
class UpdateMetadataResponseReceived(BrokerAnswer):
    error_code: int
    state: ClassVar[ControllerState] = ControllerState.UPDATE_METADATA_RESPONSE


@dataclass(frozen=True, slots=True)
class TopicDeletionStopReplicaResponseReceived(BrokerAnswer):
    """Error codes of the deleted partitions; a partition the broker said nothing of has UNKNOWN_SERVER_ERROR."""

    errors: Mapping[TopicPartition, int]
    state: ClassVar[ControllerState] = ControllerState.TOPIC_DELETION


# Requests that wait for an answer


@dataclass(frozen=True, slots=True)
class AlterPartitionReceived(Event):
    """Answered with an AlterPartitionResponse."""

    request: AlterPartitionRequest
    api_version: int
    state: ClassVar[ControllerState] = ControllerState.ISR_CHANGE


@dataclass(frozen=True, slots=True)
class AllocateProducerIds(Event):
    """Answered with (first id, count). Raises NotController, BrokerIdNotRegistered, StaleBrokerEpoch."""

    broker_id: int
    broker_epoch: int
    state: ClassVar[ControllerState] = ControllerState.IDLE


@dataclass(frozen=True, slots=True)
class ControlledShutdown(Event):
    """Answered with the partitions the broker still leads (list[TopicPartition]).

    Raises StaleControllerEpoch (not the controller), StaleBrokerEpoch, BrokerNotAvailable. `broker_epoch` -1: unknown.
    """

    broker_id: int
    broker_epoch: int
    state: ClassVar[ControllerState] = ControllerState.CONTROLLED_SHUTDOWN


class ElectionType(Enum):
    """ElectLeaders' election types on the wire."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class ReplicaLeaderElection(Event):
    """Answered with dict[TopicPartition, BrokerError | int]: the error, or the leader elected.

    `partitions` None means all.
    """

    partitions: tuple[TopicPartition, ...] | None
    election_type: ElectionType
    state: ClassVar[ControllerState] = ControllerState.MANUAL_LEADER_BALANCE


@dataclass(frozen=True, slots=True)
class ApiPartitionReassignment(Event):
    """Answered with dict[TopicPartition, BrokerError | None]. A target of None cancels. Raises NotController."""

    targets: Mapping[TopicPartition, tuple[int, ...] | None]
    state: ClassVar[ControllerState] = ControllerState.PARTITION_REASSIGNMENT


@dataclass(frozen=True, slots=True)
class ListPartitionReassignments(Event):
    """Answered with dict[TopicPartition, ReplicaAssignment]. None means all. Raises NotController."""

    partitions: tuple[TopicPartition, ...] | None
    state: ClassVar[ControllerState] = ControllerState.LIST_REASSIGNMENT


NO_ANSWER_ERROR = int(ErrorCode.UNKNOWN_SERVER_ERROR)
"""What a partition missing from a StopReplica answer counts as."""
