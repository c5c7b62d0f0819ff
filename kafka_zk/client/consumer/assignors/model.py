"""The input and output of an assignor.

Role        Pure. Members as the leader learns them from JoinGroup; an assignor decides who reads which partition.
Source      ConsumerPartitionAssignor (Subscription, RebalanceProtocol), AbstractPartitionAssignor.MemberInfo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from kafka_zk.protocol.types import TopicPartition

NO_GENERATION = -1

Assignment = dict[str, list[TopicPartition]]
"""Partitions by member id; every member has an entry."""

ReplicaRacks = Mapping[TopicPartition, frozenset[str]]
"""The racks of a partition's replicas, in sync or not."""
NO_REPLICA_RACKS: ReplicaRacks = {}


class RebalanceProtocol(Enum):
    """What members give up before they join again: everything, or only what the leader takes from them."""

    EAGER = "EAGER"
    COOPERATIVE = "COOPERATIVE"


@dataclass(frozen=True, slots=True)
class Member:
    """One member's subscription. `generation` and `owned` are its last ones, as it reports them; -1 for none."""

    member_id: str
    topics: Sequence[str]
    group_instance_id: str | None = None
    owned: Sequence[TopicPartition] = ()
    generation: int = NO_GENERATION
    user_data: bytes | None = None
    rack: str | None = None

    @property
    def place(self) -> tuple[bool, str]:
        """The sort key: static members first, by the name that survives a restart."""
        if self.group_instance_id is None:
            return True, self.member_id
        return False, self.group_instance_id


class Assignor(Protocol):
    """A partition assignment strategy."""

    @property
    def name(self) -> str:
        """As it appears in JoinGroup."""

    @property
    def protocol(self) -> RebalanceProtocol: ...

    def user_data(self, assigned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
        """What a member sends to the leader besides its topics: `assigned` in `generation`, None before the first."""

    def assign(
        self, partition_counts: Mapping[str, int], members: Sequence[Member], replica_racks: ReplicaRacks, /
    ) -> Assignment:
        """`partition_counts` holds the topics that exist."""
