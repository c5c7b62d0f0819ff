"""Heartbeats, leaves, session expiry and members' commits.

Role        Pure decisions on a group.
Source      Kafka 3.9 GroupCoordinator: handleHeartbeat, handleLeaveGroup, onExpireHeartbeat, validateOffsetCommit,
            onGroupUnloaded, onGroupLoaded.
"""

from __future__ import annotations

from kafka_zk.coordinator.group.decisions.actions import (
    JOIN_TIMER,
    NO_MEMBER_ID,
    SYNC_TIMER,
    JoinResult,
    Report,
    Step,
    StopTimer,
    SyncResult,
    TimerKey,
    session_timer,
)
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.rebalance import (
    drop,
    keep_alive,
    maybe_prepare_rebalance,
    on_join_timer,
    on_sync_timer,
    prepare_rebalance,
    try_complete_join,
)
from kafka_zk.coordinator.group.decisions.states import GroupEvent, GroupState
from kafka_zk.protocol.errors import ErrorCode


def heartbeat(group: Group, *, member_id: str, group_instance_id: str | None, generation: int, step: Step) -> ErrorCode:
    """The answer to a Heartbeat."""
    error = group.check_generation(member_id, group_instance_id, generation)
    if error is not ErrorCode.NONE:
        return error
    keep_alive(group.members[member_id], step)
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(group: Group, *, member_id: str, group_instance_id: str | None, reason: str, step: Step) -> ErrorCode:
    """One member leaves a group that is not dead. Without a member id, an operator removes a static one."""
    if member_id == NO_MEMBER_ID:
        current = None if group_instance_id is None else group.static_members.get(group_instance_id)
        if current is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = current
    elif member_id in group.pending_members:
        _remove_pending(group, member_id, step)
        return ErrorCode.NONE
    else:
        error = group.check_member(member_id, group_instance_id)
        if error is not ErrorCode.NONE:
            return error
    step.add(
        Report(
            f"Member {group.members[member_id]} has left group {group.group_id} through explicit `LeaveGroup`; "
            f"client reason: {reason}"
        )
    )
    _remove_member(group, member_id, "explicit `LeaveGroup` request", step)
    return ErrorCode.NONE


def check_commit(
    group: Group, *, member_id: str, group_instance_id: str | None, generation: int, is_transactional: bool, step: Step
) -> ErrorCode:
    """Whether the group accepts these offsets; a member that commits is alive."""
    if group.is_dead:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE  # Only its offsets are kept here; the group is not managed.
    if generation >= 0 or member_id != NO_MEMBER_ID or group_instance_id is not None:
        error = group.check_generation(member_id, group_instance_id, generation)
        if error is not ErrorCode.NONE:
            return error
    elif not is_transactional:
        return ErrorCode.UNKNOWN_MEMBER_ID  # In a group with members, only they may move the offsets.
    if is_transactional:
        return ErrorCode.NONE
    if group.state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    keep_alive(group.members[member_id], step)
    return ErrorCode.NONE


def on_timer(group: Group, key: TimerKey, step: Step) -> None:
    """A timer of the group ran out."""
    if group.is_dead:
        return
    if key == JOIN_TIMER:
        on_join_timer(group, step)
    elif key == SYNC_TIMER:
        on_sync_timer(group, step)
    else:
        _on_session_timer(group, key.member_id, step)


def _on_session_timer(group: Group, member_id: str, step: Step) -> None:
    if member_id in group.pending_members:
        step.add(Report(f"Pending member {member_id} in group {group.group_id} has been removed after session timeout"))
        _remove_pending(group, member_id, step)
        return
    member = group.members.get(member_id)
    if member is None or member.outlives_silence:
        return
    step.add(Report(f"Member {member_id} in group {group.group_id} has failed, removing it from the group"))
    _remove_member(group, member_id, f"removing member {member_id} on heartbeat expiration", step)


def _remove_member(group: Group, member_id: str, reason: str, step: Step) -> None:
    drop(group, member_id, step)
    maybe_prepare_rebalance(group, reason, step)
    try_complete_join(group, step)


def _remove_pending(group: Group, member_id: str, step: Step) -> None:
    drop(group, member_id, step)
    try_complete_join(group, step)


def loaded(group: Group, step: Step) -> None:
    """The group was loaded from the log: start the session timers of its members."""
    if len(group.members) > step.rules.max_size:
        prepare_rebalance(group, f"Freshly-loaded group is over capacity ({step.rules.max_size})", step)
    for member in group.members.values():
        keep_alive(member, step)


def unloaded(group: Group, step: Step) -> None:
    """This broker is no longer the coordinator: waiting members get NOT_COORDINATOR."""
    for member in group.members.values():
        group.answer_join(member, JoinResult(ErrorCode.NOT_COORDINATOR, member.member_id), step)
        group.answer_sync(member, SyncResult(ErrorCode.NOT_COORDINATOR), step)
    _end(group, step)


def delete(group: Group, step: Step) -> ErrorCode:
    """An operator deletes the group: only one without members."""
    if group.is_dead:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return ErrorCode.NON_EMPTY_GROUP
    _end(group, step)
    return ErrorCode.NONE


def end_if_idle(group: Group, step: Step) -> None:
    """Remove a group without members and offsets."""
    if group.state is GroupState.EMPTY and group.offsets.is_empty and not group.pending_members:
        _end(group, step)


def _end(group: Group, step: Step) -> None:
    group.move(GroupEvent.REMOVED, step)
    for member_id in (*group.members, *group.pending_members):
        step.add(StopTimer(session_timer(member_id)))
    step.add(StopTimer(JOIN_TIMER))
    step.add(StopTimer(SYNC_TIMER))
