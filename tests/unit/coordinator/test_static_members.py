"""Static members (KIP-345): a restart keeps the place and the assignment, and fences whoever was there before."""

from __future__ import annotations

from kafka_zk.coordinator.group.decisions.actions import session_timer
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.protocol.errors import ErrorCode
from tests.unit.coordinator.scene import RANGE, Scene


def static_group(*instances: str) -> tuple[Scene, dict[str, str]]:
    scene = Scene(initial_delay_ms=10)
    scene.stable(0, instances=instances)
    return scene, dict(scene.group.static_members)


def test_rule_57_a_restarted_member_keeps_its_assignment_without_a_rebalance():
    scene, ids = static_group("a", "b")
    records = len(scene.log.records)
    (answer,) = scene.join(instance="b")
    assert answer.error is ErrorCode.NONE and answer.generation == 1
    assert answer.member_id == scene.group.static_members["b"] != ids["b"]
    assert scene.state is GroupState.STABLE and len(scene.log.records) == records + 1
    assert scene.sync(answer.member_id, instance="b")[0].assignment == ids["b"].encode()


def test_the_old_id_of_a_restarted_member_is_fenced():
    scene, ids = static_group("a")
    scene.join(instance="a")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert scene.heartbeat(ids["a"], instance="a") is fenced
    assert scene.sync(ids["a"], instance="a")[0].error is fenced
    assert scene.join(ids["a"], instance="a")[0].error is fenced
    assert scene.leave(ids["a"], instance="a") is fenced
    assert scene.may_commit(ids["a"], instance="a", generation=1) is fenced
    assert scene.heartbeat(ids["a"], instance="never-seen") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_request_that_waits_under_the_old_id_is_fenced_at_once():
    scene, ids = static_group("a", "b")
    parked = scene.join(ids["a"], instance="a", protocols=(("range", b"other"),))
    assert parked == []
    scene.join(instance="a")
    assert (parked[0].error, parked[0].member_id) == (ErrorCode.FENCED_INSTANCE_ID, ids["a"])


def test_the_new_id_is_told_only_once_it_is_stored():
    scene, _ = static_group("a")
    scene.log.holds_back = True
    answers = scene.join(instance="a")
    assert answers == []
    scene.log.release()
    assert answers[0].error is ErrorCode.NONE


def test_a_new_id_that_took_longer_than_a_session_to_store_has_a_session_from_its_answer_on():
    """While its answer is owed a member is kept; afterwards it must be heard of again, or its place would never go."""
    scene, _ = static_group("a")
    scene.log.holds_back = True
    answers = scene.join(instance="a")
    scene.advance(15_000)
    scene.log.release()
    assert answers[0].error is ErrorCode.NONE
    scene.advance(9_999)
    assert list(scene.group.members) == [answers[0].member_id]
    scene.advance(2)
    assert not scene.group.members


def test_a_new_id_that_cannot_be_stored_is_taken_back():
    scene, ids = static_group("a")
    scene.log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    (answer,) = scene.join(instance="a")
    assert (answer.error, answer.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert scene.group.static_members == ids
    assert scene.heartbeat(ids["a"], instance="a") is ErrorCode.NONE


def test_an_old_id_that_is_given_back_has_a_session_and_the_new_one_none():
    scene, ids = static_group("a")
    scene.advance(9_000)
    scene.log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    scene.join(instance="a")
    assert len(scene.performer.timers) == 1
    scene.advance(9_000)
    assert scene.group.static_members == ids
    scene.advance(1_000)
    assert not scene.group.members


def test_an_old_client_that_leads_is_not_told_so_after_a_restart():
    scene, ids = static_group("a")
    (answer,) = scene.join(instance="a")
    assert answer.leader_id == ids["a"] != answer.member_id and answer.members == ()


def test_a_new_client_that_leads_learns_the_members_but_does_not_assign():
    scene, _ = static_group("a")
    (answer,) = scene.join(instance="a", skips=True)
    assert answer.leader_id == answer.member_id and answer.skip_assignment
    assert [member.group_instance_id for member in answer.members] == ["a"]


def test_a_restart_between_join_and_assignment_starts_over():
    """The leader may be assigning to the old id at this moment."""
    scene = Scene(initial_delay_ms=10)
    scene.join(instance="a"), scene.join(instance="b")
    scene.advance(100)
    assert scene.state is GroupState.COMPLETING_REBALANCE
    waiting = scene.sync(scene.group.static_members["b"], instance="b")
    assert scene.join(instance="b") == []
    assert waiting[0].error is ErrorCode.FENCED_INSTANCE_ID
    assert scene.state is GroupState.PREPARING_REBALANCE


def test_a_restart_that_changes_the_chosen_protocol_rebalances():
    scene = Scene(initial_delay_ms=10)
    scene.stable(0, instances=("a",), protocols=(*RANGE, ("sticky", b"s")))
    answers = scene.join(instance="a", protocols=(("sticky", b"s"), *RANGE))
    assert scene.group.generation == 2 and answers[0].protocol_name == "sticky"


def test_static_members_are_not_left_behind_by_a_rebalance():
    """KAFKA-8225: only the end of its session removes a static member."""
    scene, ids = static_group("a", "b")
    joined = scene.join(ids["a"], instance="a", session_ms=1_000_000, protocols=(("range", b"other"),))
    scene.performer.timers.stop(scene.group, session_timer(ids["b"]))
    scene.advance(20_000)
    assert joined[0].generation == 2
    assert set(scene.group.static_members) == {"a", "b"}


def test_an_operator_removes_a_static_member_without_knowing_its_id():
    scene, _ = static_group("a", "b")
    assert scene.leave("", instance="b") is ErrorCode.NONE
    assert set(scene.group.static_members) == {"a"}
    assert scene.leave("", instance="b") is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.leave("") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_of_silent_static_members_does_not_complete_until_their_sessions_end():
    scene, ids = static_group("a", "b")
    scene.join()
    scene.leave(next(member_id for member_id in scene.group.members if member_id not in ids.values()))
    assert scene.state is GroupState.PREPARING_REBALANCE
    scene.advance(30_000)
    assert scene.state is GroupState.EMPTY and not scene.group.members


def test_a_rebalance_that_nobody_joined_is_over_once_the_first_of_the_silent_members_is_back():
    scene = Scene(initial_delay_ms=10)
    leaves, *_ = scene.stable(1, instances=("a", "b"), session_ms=300_000)
    ids = dict(scene.group.static_members)
    scene.leave(leaves)
    scene.advance(20_000)
    assert scene.state is GroupState.PREPARING_REBALANCE, "without anybody who could lead"
    back = scene.join(ids["b"], instance="b", session_ms=300_000)
    scene.advance(20_000)
    assert back[0].leader_id == ids["b"], "the other one was waited for no longer, and leads no more"
    assert set(scene.group.members) == set(ids.values()), "but it is kept until its session is over"
