"""One group: its members, generation, state and offsets.

Role        Pure state with the operations that keep it consistent; decisions are made in joining, syncing,
            membership and rebalance. Called only by them and by the coordinator.
Invariants  Each static instance id maps to exactly one member. A member id is either pending or a member, never both.
            The leader is a member, or there is none. `awaiting_join_count` counts the parked joins.
Source      Kafka 3.9 GroupMetadata.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from kafka_zk.coordinator.group.decisions.actions import (
    NO_LEADER,
    AnswerJoin,
    AnswerSync,
    JoinedMember,
    JoinReply,
    JoinResult,
    Step,
    SyncReply,
    SyncResult,
)
from kafka_zk.coordinator.group.decisions.member import Member, Protocols
from kafka_zk.coordinator.group.decisions.offsets import GroupOffsets
from kafka_zk.coordinator.group.decisions.states import GroupEvent, GroupState, can_rebalance, next_state
from kafka_zk.coordinator.group.decisions.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from kafka_zk.protocol.errors import ErrorCode

NO_TIMESTAMP = -1


class InitialJoin(NamedTuple):
    """The running wait for the first members of an empty group; `remaining_ms` may still extend it."""

    delay_ms: int
    remaining_ms: int


class Group:
    """`state_timestamp_ms` is when the state last changed (wall time), None if unknown."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.state_timestamp_ms: int | None = None
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_members: set[str] = set()
        self.pending_sync: set[str] = set()
        self.awaiting_join_count = 0
        self.new_member_added = False
        self.initial_join: InitialJoin | None = None
        self.assigned_generation: int | None = None
        """The generation whose assignment is being appended; a second one would contradict the first."""
        self.subscribed_topics: frozenset[str] | None = None
        """The topics that members of a consumer group read; None if unknown."""
        self.offsets = GroupOffsets()
        self._support: Counter[str] = Counter()

    # --- state -------------------------------------------------------------------------------------------------------

    def move(self, event: GroupEvent, step: Step) -> None:
        self.state = next_state(self.state, event)
        if not self.is_dead:
            self.state_timestamp_ms = step.now_ms

    def raised(self) -> Group:
        """This dead group as the empty group it was before, with the same offsets, as the log still has it."""
        assert self.is_dead, f"{self} has not ended"
        again = Group(self.group_id)
        again.state_timestamp_ms = self.state_timestamp_ms
        again.generation = self.generation
        again.protocol_type = self.protocol_type
        again.find_subscribed_topics()
        again.offsets = self.offsets
        return again

    @property
    def is_dead(self) -> bool:
        return self.state is GroupState.DEAD

    @property
    def can_rebalance(self) -> bool:
        return can_rebalance(self.state)

    @property
    def leader_or_none(self) -> str:
        return self.leader_id or NO_LEADER

    # --- members -----------------------------------------------------------------------------------------------------

    def add(self, member: Member, protocol_type: str) -> None:
        """Add `member`; the first one sets the protocol type and becomes the leader."""
        assert member.member_id not in self.members, f"{member} is a member of {self.group_id} already"
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self._count_support(member.protocols, 1)
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str, step: Step) -> None:
        """Forget a member or a pending id. Its parked requests get UNKNOWN_MEMBER_ID.

        Differs from Kafka: there, the parked SyncGroup of a removed member never gets an answer.
        """
        self.pending_members.discard(member_id)
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self.answer_join(member, JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, ""), step)
        self.answer_sync(member, SyncResult(ErrorCode.UNKNOWN_MEMBER_ID), step)
        self._count_support(member.protocols, -1)
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def update_protocols(self, member: Member, protocols: Protocols) -> None:
        self._count_support(member.protocols, -1)
        self._count_support(protocols, 1)
        member.protocols = protocols

    def replace_static(self, member: Member, new_member_id: str, step: Step) -> None:
        """Give a static member a new id. Parked requests under the old one are fenced."""
        old_member_id = member.member_id
        assert member.group_instance_id is not None
        del self.members[old_member_id]
        self.answer_join(member, JoinResult(ErrorCode.FENCED_INSTANCE_ID, old_member_id), step)
        self.answer_sync(member, SyncResult(ErrorCode.FENCED_INSTANCE_ID), step)
        if old_member_id in self.pending_sync:
            self.pending_sync.remove(old_member_id)
            self.pending_sync.add(new_member_id)
        member.member_id = new_member_id
        self.members[new_member_id] = member
        self.static_members[member.group_instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """NONE if the pair may act for the group, else why not."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_generation(self, member_id: str, group_instance_id: str | None, generation: int) -> ErrorCode:
        """NONE if the pair may act for the group's present generation, else why not, in Kafka's order."""
        if self.is_dead:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = self.check_member(member_id, group_instance_id)
        if error is ErrorCode.NONE and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    # --- parked requests ---------------------------------------------------------------------------------------------

    def park_join(self, member: Member, reply: JoinReply, step: Step) -> None:
        """Park a join of `member`. An older one is of the same client, which retried: it is answered with an error.

        Differs from Kafka, here and in `park_sync`: there the older request never gets an answer.
        """
        self.answer_join(member, JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id), step)
        self.awaiting_join_count += 1
        member.join_reply = reply

    def park_sync(self, member: Member, reply: SyncReply, step: Step) -> None:
        """Park a sync of `member`, replacing an older one."""
        self.answer_sync(member, SyncResult(ErrorCode.REBALANCE_IN_PROGRESS), step)
        member.sync_reply = reply

    def answer_join(self, member: Member, result: JoinResult, step: Step) -> bool:
        """Answer the parked join of `member`; False if there is none."""
        reply, member.join_reply = member.join_reply, None
        if reply is None:
            return False
        self.awaiting_join_count -= 1
        step.add(AnswerJoin(reply, result))
        return True

    def answer_sync(self, member: Member, result: SyncResult, step: Step) -> bool:
        """Answer the parked sync of `member`; False if there is none."""
        reply, member.sync_reply = member.sync_reply, None
        if reply is None:
            return False
        step.add(AnswerSync(reply, result))
        return True

    @property
    def all_joined(self) -> bool:
        return len(self.members) == self.awaiting_join_count and not self.pending_members

    # --- protocols ---------------------------------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with these protocols can take part."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        return self.protocol_type == protocol_type and any(
            self._support[name] == len(self.members) for name, _ in protocols
        )

    def choose_protocol(self) -> str:
        """The protocol with the most votes among those all members support; on a tie, the first one voted for."""
        everyone = len(self.members)
        candidates = [name for name, count in self._support.items() if count == everyone]
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that a member may take to join again."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def begin_generation(self, step: Step) -> None:
        """Start the next generation and choose its protocol, if any members are left."""
        self.generation += 1
        self.protocol_name = self.choose_protocol() if self.members else None
        self.find_subscribed_topics()
        self.pending_sync.clear()
        self.move(GroupEvent.ALL_JOINED if self.members else GroupEvent.ALL_LEFT, step)

    def find_subscribed_topics(self) -> None:
        self.subscribed_topics = None
        if self.protocol_type == CONSUMER_PROTOCOL_TYPE:
            if not self.members:
                self.subscribed_topics = frozenset()
            elif self.protocol_name is not None:
                name = self.protocol_name
                self.subscribed_topics = subscribed_topics(member.metadata(name) for member in self.members.values())

    def described_members(self) -> tuple[JoinedMember, ...]:
        """All members with their metadata for the protocol of this generation: what the leader assigns by."""
        assert self.protocol_name is not None
        name = self.protocol_name
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(name))
            for member in self.members.values()
        )

    def current_generation(self, member_id: str, *, skip_assignment: bool = False) -> JoinResult:
        """The response with the current generation for `member_id`; the leader gets the members."""
        return JoinResult(
            ErrorCode.NONE,
            member_id,
            self.generation,
            self.protocol_type,
            self.protocol_name,
            self.leader_or_none,
            skip_assignment,
            self.described_members() if member_id == self.leader_id else (),
        )

    def _count_support(self, protocols: Protocols, by: int) -> None:
        for name in dict(protocols):
            self._support[name] += by
            if not self._support[name]:
                del self._support[name]

    def __repr__(self) -> str:
        return (
            f"{self.group_id} {self.state.value} generation={self.generation} leader={self.leader_or_none or None} "
            f"members={len(self.members)} joining={self.awaiting_join_count} pending={len(self.pending_members)} "
            f"offsets={len(self.offsets.committed)}"
        )
