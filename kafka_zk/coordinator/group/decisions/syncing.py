"""SyncGroup, and the result of storing the group's metadata.

Role        Pure decisions on a group.
Invariants  An assignment is valid, and seen by members, only once its record is in the log: one per generation.
            The result of a write is ignored if the group has changed state meanwhile.
Source      Kafka 3.9 GroupCoordinator.doSyncGroup, setAndPropagateAssignment, updateStaticMemberAndRebalance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_zk.coordinator.group.decisions.actions import (
    NO_MEMBER_ID,
    AnswerSync,
    Assignment,
    JoinResult,
    Report,
    StaticReplacement,
    Step,
    StopTimer,
    Stored,
    StoreGroup,
    SyncReply,
    SyncResult,
    session_timer,
)
from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.rebalance import (
    answer_syncs,
    keep_alive,
    maybe_prepare_rebalance,
    reset_assignments,
    synced,
)
from kafka_zk.coordinator.group.decisions.records import group_value
from kafka_zk.coordinator.group.decisions.states import GroupEvent, GroupState
from kafka_zk.protocol.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class Sync:
    """A SyncGroup request. `assignments` by member id come from the leader only. Values of None are not checked."""

    member_id: str
    generation: int
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)


def sync_group(group: Group, sync: Sync, reply: SyncReply, step: Step) -> None:
    """Decide a SyncGroup."""
    error = _check(group, sync)
    if error is not ErrorCode.NONE:
        step.add(AnswerSync(reply, SyncResult(error)))
        return
    member = group.members[sync.member_id]
    synced(group, sync.member_id, step)
    if group.state is GroupState.STABLE:
        result = SyncResult(ErrorCode.NONE, member.assignment, group.protocol_type, group.protocol_name)
        step.add(AnswerSync(reply, result))
        keep_alive(member, step)
        return
    group.park_sync(member, reply, step)
    if group.leader_id == sync.member_id and group.assigned_generation != group.generation:
        group.assigned_generation = group.generation
        # Members that the leader left out get an empty assignment, and a leader cannot assign to strangers.
        complete = {each: sync.assignments.get(each, b"") for each in group.members}
        step.add(
            Report(
                f"Assignment received from leader {sync.member_id} for group {group.group_id} for generation "
                f"{group.generation}. The group has {len(group.members)} members"
            )
        )
        step.add(StoreGroup(group_value(group, complete), Assignment(group.generation, complete)))


def _check(group: Group, sync: Sync) -> ErrorCode:
    error = group.check_generation(sync.member_id, sync.group_instance_id, sync.generation)
    if error is not ErrorCode.NONE:
        return error
    if sync.protocol_type is not None and sync.protocol_type != group.protocol_type:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if sync.protocol_name is not None and sync.protocol_name != group.protocol_name:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def on_group_stored(group: Group, what: Stored, error: ErrorCode, step: Step) -> None:
    """The record of a StoreGroup is committed, or `error` says why not (as a member's code)."""
    if isinstance(what, Assignment):
        _on_assignment_stored(group, what, error, step)
    elif isinstance(what, StaticReplacement):
        _on_replacement_stored(group, what, error, step)
    elif error is not ErrorCode.NONE:
        # A broker that loads the group finds its last members and waits until they expire: harmless.
        step.add(Report(f"Failed to write empty metadata for group {group.group_id}: {error.name}"))


def _on_assignment_stored(group: Group, what: Assignment, error: ErrorCode, step: Step) -> None:
    if group.assigned_generation == what.generation:
        group.assigned_generation = None
    if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != what.generation:
        return
    if error is not ErrorCode.NONE:
        reset_assignments(group, error, step)
        maybe_prepare_rebalance(group, f"Error {error.name} when storing group assignment during SyncGroup", step)
        return
    for member in group.members.values():
        member.assignment = what.by_member.get(member.member_id, b"")
    answer_syncs(group, ErrorCode.NONE, step)
    group.move(GroupEvent.ASSIGNED, step)


def _on_replacement_stored(group: Group, what: StaticReplacement, error: ErrorCode, step: Step) -> None:
    member = group.members.get(what.new_member_id)
    if member is None or member.join_reply is not what.reply:
        return  # Removed, replaced again, or part of a newer generation: it has its response, or will get one.
    if group.state is not GroupState.STABLE:
        return  # It waits for the generation that is being prepared, like the others.
    if error is not ErrorCode.NONE:
        refusal = JoinResult(
            error, NO_MEMBER_ID, group.generation, group.protocol_type, group.protocol_name, what.old_leader_id
        )
        group.answer_join(member, refusal, step)
        _revert(group, what, step)
        return
    if what.skips_assignment:
        result = group.current_generation(what.new_member_id, skip_assignment=group.leader_id == what.new_member_id)
    else:
        # As leader, an old client would compute an assignment, which a stable group ignores.
        result = group.current_generation(what.new_member_id)._replace(leader_id=what.old_leader_id, members=())
    group.answer_join(member, result, step)
    keep_alive(member, step)


def _revert(group: Group, what: StaticReplacement, step: Step) -> None:
    step.add(Report(f"Failed to persist the new member id of {what.group_instance_id} in group {group.group_id}"))
    member = group.members[what.new_member_id]
    group.update_protocols(member, what.old_protocols)
    member.rebalance_timeout_ms = what.old_rebalance_timeout_ms
    member.session_timeout_ms = what.old_session_timeout_ms
    group.replace_static(member, what.old_member_id, step)
    step.add(StopTimer(session_timer(what.new_member_id)))
    keep_alive(member, step)
