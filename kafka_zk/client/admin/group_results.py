"""Plain values that calls about consumer groups take and return.

Role        Pure.
Source      org.apache.kafka.clients.admin: ConsumerGroupListing, ConsumerGroupDescription, MemberDescription;
            org.apache.kafka.common: ConsumerGroupState, GroupType.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kafka_zk.client.admin.admin_results import Node
from kafka_zk.protocol.types import TopicPartition


class _Named(Enum):
    """Names on the wire, read in any case."""

    def __str__(self) -> str:
        return str(self.value)


class ConsumerGroupState(_Named):
    """The states of a group, in Java's order; ASSIGNING and RECONCILING are those of KIP-848."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"

    @classmethod
    def parse(cls, name: str) -> ConsumerGroupState:
        """UNKNOWN for an unknown name."""
        return next((state for state in cls if state.value.lower() == name.lower()), cls.UNKNOWN)


class GroupType(_Named):
    """The protocols of groups, in Java's order."""

    UNKNOWN = "Unknown"
    CONSUMER = "Consumer"
    CLASSIC = "Classic"

    @classmethod
    def parse(cls, name: str) -> GroupType:
        """UNKNOWN for an unknown name."""
        return next((each for each in cls if each.value.lower() == name.lower()), cls.UNKNOWN)


@dataclass(frozen=True, slots=True)
class ConsumerGroupListing:
    """One group of a list. A simple group has offsets and no members' protocol; old brokers send no state or type."""

    group_id: str
    is_simple: bool
    state: ConsumerGroupState | None
    type: GroupType | None


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member, and the partitions assigned to it, in order."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: Sequence[TopicPartition]


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescription:
    """A group as its coordinator shows it; a group that does not exist is DEAD and has no members."""

    group_id: str
    is_simple: bool
    members: Sequence[MemberDescription]
    partition_assignor: str
    state: ConsumerGroupState
    coordinator: Node


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """What a group has committed for a partition. `leader_epoch` is None if the commit had none."""

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class MemberToRemove:
    """A member to remove from its group: a static one by its instance id, a dynamic one by its member id."""

    member_id: str = ""
    group_instance_id: str | None = None
