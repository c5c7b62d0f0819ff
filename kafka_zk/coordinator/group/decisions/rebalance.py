"""A rebalance from its start to the next generation.

Role        Pure decisions on a group.
Invariants  A group that is preparing has its join timer running, one that completes has its sync timer running: no
            rebalance waits for ever. Every parked join is answered when the generation begins.
Source      Kafka 3.9 GroupCoordinator: prepareRebalance, InitialDelayedJoin, onCompleteJoin, onExpirePendingSync.
"""

from __future__ import annotations

from kafka_zk.coordinator.group.decisions.actions import (
    JOIN_TIMER,
    SYNC_TIMER,
    EmptyGeneration,
    Report,
    StartTimer,
    Step,
    StopTimer,
    StoreGroup,
    SyncResult,
    session_timer,
)
from kafka_zk.coordinator.group.decisions.group import Group, InitialJoin
from kafka_zk.coordinator.group.decisions.member import Member
from kafka_zk.coordinator.group.decisions.records import group_value
from kafka_zk.coordinator.group.decisions.states import GroupEvent, GroupState
from kafka_zk.protocol.errors import ErrorCode


def keep_alive(member: Member, step: Step) -> None:
    """Restart the session timer of a member."""
    step.add(StartTimer(session_timer(member.member_id), member.session_timeout_ms))


def drop(group: Group, member_id: str, step: Step) -> None:
    """Remove a member or a pending id together with its timer."""
    group.remove(member_id, step)
    step.add(StopTimer(session_timer(member_id)))


def maybe_prepare_rebalance(group: Group, reason: str, step: Step) -> None:
    """Begin a rebalance unless one is being prepared."""
    if group.can_rebalance:
        prepare_rebalance(group, reason, step)


def prepare_rebalance(group: Group, reason: str, step: Step) -> None:
    """Make all members rejoin, and wait for them."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS, step)
    _stop_waiting_for_syncs(group, step)
    was_empty = group.state is GroupState.EMPTY
    step.add(
        Report(
            f"Preparing to rebalance group {group.group_id} in state PreparingRebalance with old generation "
            f"{group.generation} (reason: {reason})"
        )
    )
    group.move(GroupEvent.REBALANCE_NEEDED, step)
    if was_empty:
        # More members are likely to follow the first: one rebalance for all of them.
        delay_ms = step.rules.initial_rebalance_delay_ms
        _wait_for_first_members(group, InitialJoin(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0)), step)
    else:
        group.initial_join = None
        step.add(StartTimer(JOIN_TIMER, group.rebalance_timeout_ms))
        try_complete_join(group, step)


def try_complete_join(group: Group, step: Step) -> None:
    """Complete the join phase once all members have joined, except in the initial rebalance."""
    if group.state is GroupState.PREPARING_REBALANCE and group.initial_join is None and group.all_joined:
        _complete_join(group, step)


def on_join_timer(group: Group, step: Step) -> None:
    """The rebalance timeout has passed."""
    if group.state is not GroupState.PREPARING_REBALANCE:
        return
    initial = group.initial_join
    if initial is not None and group.new_member_added and initial.remaining_ms:
        group.new_member_added = False
        delay_ms = min(step.rules.initial_rebalance_delay_ms, initial.remaining_ms)
        _wait_for_first_members(group, InitialJoin(delay_ms, max(initial.remaining_ms - initial.delay_ms, 0)), step)
    else:
        _complete_join(group, step)


def _wait_for_first_members(group: Group, wait: InitialJoin, step: Step) -> None:
    group.initial_join = wait
    step.add(StartTimer(JOIN_TIMER, wait.delay_ms))


def _complete_join(group: Group, step: Step) -> None:
    """The members that have joined form the next generation; static members belong to it even if they have not."""
    missing = [m.member_id for m in group.members.values() if m.join_reply is None and not m.is_static]
    for member_id in missing:
        drop(group, member_id, step)
    if missing:
        step.add(Report(f"Group {group.group_id} removed dynamic members who haven't joined: {', '.join(missing)}"))
    if group.members and not _a_joined_member_leads(group):
        # Only silent static members are left; their sessions will end it.
        group.initial_join = None
        step.add(Report(f"Group {group.group_id} could not complete rebalance because no members rejoined"))
        step.add(StartTimer(JOIN_TIMER, group.rebalance_timeout_ms))
        return
    group.initial_join = None
    group.new_member_added = False
    step.add(StopTimer(JOIN_TIMER))
    group.begin_generation(step)
    if not group.members:
        step.add(Report(f"Group {group.group_id} with generation {group.generation} is now empty"))
        step.add(StoreGroup(group_value(group, {}), EmptyGeneration(group.generation)))
        return
    step.add(
        Report(f"Stabilized group {group.group_id} generation {group.generation} with {len(group.members)} members")
    )
    for member in group.members.values():
        group.answer_join(member, group.current_generation(member.member_id), step)
        keep_alive(member, step)
        member.is_new = False
        group.pending_sync.add(member.member_id)
    step.add(StartTimer(SYNC_TIMER, group.rebalance_timeout_ms))


def _a_joined_member_leads(group: Group) -> bool:
    """Keep the leader if it joined, else choose any member that did; False if none did."""
    leader = None if group.leader_id is None else group.members[group.leader_id]
    if leader is not None and leader.join_reply is not None:
        return True
    joined = next((m.member_id for m in group.members.values() if m.join_reply is not None), None)
    if joined is None:
        return False
    group.leader_id = joined
    return True


def synced(group: Group, member_id: str, step: Step) -> None:
    """`member_id` sent its SyncGroup."""
    group.pending_sync.discard(member_id)
    if not group.pending_sync:
        step.add(StopTimer(SYNC_TIMER))


def on_sync_timer(group: Group, step: Step) -> None:
    """Remove the members that joined but sent no SyncGroup in time."""
    if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE) or not group.pending_sync:
        return
    missing = sorted(group.pending_sync)
    for member_id in missing:
        drop(group, member_id, step)
    maybe_prepare_rebalance(group, f"Removing {', '.join(missing)} on pending sync request expiration", step)


def _stop_waiting_for_syncs(group: Group, step: Step) -> None:
    group.pending_sync.clear()
    step.add(StopTimer(SYNC_TIMER))


def reset_assignments(group: Group, error: ErrorCode, step: Step) -> None:
    """Clear all assignments, and fail the parked syncs with an error."""
    for member in group.members.values():
        member.assignment = b""
    answer_syncs(group, error, step)


def answer_syncs(group: Group, error: ErrorCode, step: Step) -> None:
    """Respond to all members that wait for an assignment, and restart their session timers."""
    failed = error is not ErrorCode.NONE
    for member in group.members.values():
        result = (
            SyncResult(error)
            if failed
            else SyncResult(error, member.assignment, group.protocol_type, group.protocol_name)
        )
        if group.answer_sync(member, result, step):
            keep_alive(member, step)
