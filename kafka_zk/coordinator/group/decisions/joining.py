"""JoinGroup: who may join, under which member id, and whether that triggers a rebalance.

Role        Pure decisions on a group.
Invariants  Check and insert are one step: a group never outgrows group.max.size (KAFKA-9844).
            Every call answers, or parks the request with a member whose timer runs.
Source      Kafka 3.9 GroupCoordinator.handleJoinGroup and what it calls; KIP-345, KIP-394, KIP-814.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_zk.coordinator.group.decisions.actions import (
    NO_MEMBER_ID,
    AnswerJoin,
    GroupRules,
    JoinReply,
    JoinResult,
    Report,
    StartTimer,
    StaticReplacement,
    Step,
    StopTimer,
    StoreGroup,
    session_timer,
)
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.member import Member, Protocols
from kafka_zk.coordinator.group.decisions.rebalance import (
    drop,
    keep_alive,
    maybe_prepare_rebalance,
    prepare_rebalance,
    try_complete_join,
)
from kafka_zk.coordinator.group.decisions.records import group_value
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.protocol.errors import ErrorCode, UnknownServerError

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a member that waits for its first generation is kept: it has no session yet that could expire."""


@dataclass(frozen=True, slots=True)
class Join:
    """A JoinGroup request. `new_member_id` is the id for a member without one."""

    member_id: str
    new_member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    requires_known_member_id: bool = False
    may_skip_assignment: bool = False
    reason: str = ""


def check_session_timeout(join: Join, rules: GroupRules) -> ErrorCode:
    if rules.min_session_timeout_ms <= join.session_timeout_ms <= rules.max_session_timeout_ms:
        return ErrorCode.NONE
    return ErrorCode.INVALID_SESSION_TIMEOUT


def join_group(group: Group, join: Join, reply: JoinReply, step: Step) -> None:
    """Decide a JoinGroup whose session timeout is in bounds."""
    if not _has_room(group, join.member_id, step):
        drop(group, join.member_id, step)
        _refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID, reply, step)
    elif group.is_dead:
        _refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE, join.member_id, reply, step)
    elif not group.supports(join.protocol_type, join.protocols):
        _refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, join.member_id, reply, step)
    elif join.member_id == NO_MEMBER_ID:
        _join_without_id(group, join, reply, step)
    else:
        _join_with_id(group, join, reply, step)
    try_complete_join(group, step)


def _has_room(group: Group, member_id: str, step: Step) -> bool:
    max_size = step.rules.max_size
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        # Only parked joins count: whether the other members rejoin is not known yet.
        return (member is not None and member.join_reply is not None) or group.awaiting_join_count < max_size
    if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return member is not None or len(group.members) < max_size
    return True


def _refuse(error: ErrorCode, member_id: str, reply: JoinReply, step: Step) -> None:
    step.add(AnswerJoin(reply, JoinResult(error, member_id)))


def _join_without_id(group: Group, join: Join, reply: JoinReply, step: Step) -> None:
    if join.group_instance_id is not None:
        old_member_id = group.static_members.get(join.group_instance_id)
        if old_member_id is not None:
            _replace_static(group, group.members[old_member_id], join, reply, step)
        else:
            _add(group, join.new_member_id, join, reply, step)
    elif join.requires_known_member_id:
        group.pending_members.add(join.new_member_id)
        step.add(StartTimer(session_timer(join.new_member_id), join.session_timeout_ms))
        _refuse(ErrorCode.MEMBER_ID_REQUIRED, join.new_member_id, reply, step)
    else:
        _add(group, join.new_member_id, join, reply, step)


def _join_with_id(group: Group, join: Join, reply: JoinReply, step: Step) -> None:
    if join.member_id in group.pending_members:
        if join.group_instance_id is not None:
            raise UnknownServerError(
                f"the static member {join.group_instance_id} was not expected to be assigned to pending member "
                f"{join.member_id}"
            )
        _add(group, join.member_id, join, reply, step)
        return
    error = group.check_member(join.member_id, join.group_instance_id)
    if error is not ErrorCode.NONE:
        _refuse(error, join.member_id, reply, step)
        return
    member = group.members[join.member_id]
    if _knows_generation_already(group, member, join):
        step.add(AnswerJoin(reply, group.current_generation(join.member_id)))
    else:
        why = f"Member {member.member_id} joining during {group.state.value}; client reason: {join.reason}"
        _update(group, member, join, reply, step)
        maybe_prepare_rebalance(group, why, step)


def _knows_generation_already(group: Group, member: Member, join: Join) -> bool:
    """Whether to answer with the current generation: the member requests nothing new.

    A leader that joins a stable group does ask for a new one: that is how it reacts to changed topics.
    """
    if group.state is GroupState.COMPLETING_REBALANCE:
        return member.protocols == join.protocols
    return (
        group.state is GroupState.STABLE and group.leader_id != member.member_id and member.protocols == join.protocols
    )


def _add(group: Group, member_id: str, join: Join, reply: JoinReply, step: Step) -> None:
    member = Member(
        member_id=member_id,
        group_instance_id=join.group_instance_id,
        client_id=join.client_id,
        client_host=join.client_host,
        rebalance_timeout_ms=join.rebalance_timeout_ms,
        session_timeout_ms=join.session_timeout_ms,
        protocols=join.protocols,
        is_new=True,
    )
    if group.state is GroupState.PREPARING_REBALANCE and group.generation == 0:
        group.new_member_added = True
    group.add(member, join.protocol_type)
    group.park_join(member, reply, step)
    step.add(StartTimer(session_timer(member_id), NEW_MEMBER_JOIN_TIMEOUT_MS))
    maybe_prepare_rebalance(
        group, f"Adding new member {member_id} with group instance id {join.group_instance_id}; {join.reason}", step
    )


def _update(group: Group, member: Member, join: Join, reply: JoinReply, step: Step) -> None:
    """Take over the request's values, and park it."""
    group.update_protocols(member, join.protocols)
    member.rebalance_timeout_ms = join.rebalance_timeout_ms
    member.session_timeout_ms = join.session_timeout_ms
    group.park_join(member, reply, step)


def _replace_static(group: Group, member: Member, join: Join, reply: JoinReply, step: Step) -> None:
    """A static member was restarted: it keeps its place under a new id, and the old id is fenced."""
    assert join.group_instance_id is not None
    before = StaticReplacement(
        group_instance_id=join.group_instance_id,
        old_member_id=member.member_id,
        new_member_id=join.new_member_id,
        old_leader_id=group.leader_or_none,
        old_protocols=member.protocols,
        old_rebalance_timeout_ms=member.rebalance_timeout_ms,
        old_session_timeout_ms=member.session_timeout_ms,
        skips_assignment=join.may_skip_assignment,
        reply=reply,
    )
    group.replace_static(member, join.new_member_id, step)
    step.add(StopTimer(session_timer(before.old_member_id)))
    _update(group, member, join, reply, step)
    keep_alive(member, step)
    step.add(
        Report(
            f"Static member with groupInstanceId={join.group_instance_id} and unknown member id joins group "
            f"{group.group_id} in {group.state.value} state. Replacing previously mapped member "
            f"{before.old_member_id} with this groupInstanceId."
        )
    )
    if group.state is GroupState.COMPLETING_REBALANCE:
        # The leader may be assigning to the old id right now; the new id would get nothing.
        prepare_rebalance(group, f"Updating metadata for static member {join.group_instance_id}", step)
    elif group.state is GroupState.STABLE:
        if group.choose_protocol() == group.protocol_name:
            assignments = {each.member_id: each.assignment for each in group.members.values()}
            step.add(StoreGroup(group_value(group, assignments), before))
        else:
            maybe_prepare_rebalance(
                group, f"Group's selectedProtocol will change because of {join.group_instance_id}", step
            )
