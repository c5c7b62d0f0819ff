"""Joining, syncing, staying and leaving: one test a rule of the classic protocol."""

from __future__ import annotations

from kafka_zk.coordinator.group.decisions.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.protocol.errors import ErrorCode
from tests.unit.coordinator.scene import RANGE, Scene

STICKY = ("sticky", b"s")


def two_members() -> tuple[Scene, list[str]]:
    scene = Scene(initial_delay_ms=10)
    return scene, scene.stable(2)


# --- joining ---------------------------------------------------------------------------------------------------------


def test_the_first_member_leads_and_learns_the_members():
    scene = Scene()
    joined = scene.join()
    scene.advance(0)
    (answer,) = joined
    assert answer.error is ErrorCode.NONE and answer.generation == 1
    assert answer.leader_id == answer.member_id == "m1"
    assert [member.member_id for member in answer.members] == ["m1"]
    assert scene.state is GroupState.COMPLETING_REBALANCE


def test_rule_56_members_that_come_within_the_initial_delay_share_one_rebalance():
    """KAFKA-4925."""
    scene = Scene(initial_delay_ms=3000)
    joins = [scene.join()]
    scene.advance(2000)
    joins.append(scene.join())
    scene.advance(1000)
    assert joins == [[], []], "a member came meanwhile: the delay is added once more"
    scene.advance(3000)
    assert [answers[0].generation for answers in joins] == [1, 1]


def test_the_initial_delay_never_grows_beyond_the_rebalance_timeout():
    scene = Scene(initial_delay_ms=3000)
    first = scene.join(rebalance_ms=5000)
    for _ in range(10):
        scene.join(rebalance_ms=5000)
        scene.advance(1000)
    assert first and first[0].error is ErrorCode.NONE


def test_rule_55_a_member_without_an_id_must_come_back_with_the_one_it_is_given():
    """KIP-394."""
    scene = Scene()
    (answer,) = scene.join(old=False)
    assert (answer.error, answer.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "m1")
    assert scene.state is GroupState.EMPTY and not scene.group.members
    again = scene.join("m1", old=False)
    scene.advance(0)
    assert again[0].error is ErrorCode.NONE and again[0].member_id == "m1"


def test_ten_thousand_ids_that_nobody_uses_are_forgotten_after_the_session_timeout():
    """KAFKA-7610."""
    scene = Scene()
    for _ in range(10_000):
        scene.join(old=False)
    scene.advance(10_000)
    assert not scene.group.pending_members
    assert len(scene.performer.timers) == 0


def test_a_pending_id_holds_a_rebalance_back_until_it_joins_or_expires():
    scene, ids = two_members()
    scene.join(old=False, session_ms=7000)
    rejoined = [scene.join(member_id) for member_id in ids]
    assert rejoined == [[], []]
    scene.advance(7000)
    assert [answers[0].generation for answers in rejoined] == [2, 2]


def test_a_pending_id_that_leaves_releases_the_rebalance():
    scene, ids = two_members()
    (asked,) = scene.join(old=False)
    rejoined = [scene.join(member_id) for member_id in ids]
    assert scene.leave(asked.member_id) is ErrorCode.NONE
    assert all(rejoined)


def test_a_join_with_an_unknown_id_is_refused():
    scene, _ = two_members()
    assert scene.join("stranger")[0].error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_must_speak_a_protocol_that_all_others_speak():
    scene = Scene(initial_delay_ms=10)
    scene.stable(1, protocols=(*RANGE, STICKY))
    assert scene.join(protocols=(("roundrobin", b""),))[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.join(protocol_type="connect")[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert Scene().join(protocols=())[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert Scene().join(protocol_type="")[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_that_most_members_like_best_is_chosen():
    scene = Scene(initial_delay_ms=10)
    joins = [scene.join(protocols=order) for order in ((*RANGE, STICKY), (STICKY, *RANGE), (STICKY, *RANGE))]
    scene.advance(100)
    assert [answers[0].protocol_name for answers in joins] == ["sticky"] * 3


def test_what_one_member_does_not_speak_is_not_chosen_however_many_like_it():
    scene = Scene(initial_delay_ms=10)
    joins = [scene.join(protocols=words) for words in ((STICKY, *RANGE), (STICKY, *RANGE), RANGE)]
    scene.advance(100)
    assert [answers[0].protocol_name for answers in joins] == ["range"] * 3


def test_a_protocol_that_is_offered_twice_counts_once():
    scene = Scene(initial_delay_ms=10)
    joins = [scene.join(protocols=(*RANGE, STICKY, ("range", b"again"))), scene.join(protocols=RANGE)]
    scene.advance(100)
    assert [answers[0].protocol_name for answers in joins] == ["range"] * 2
    assert {member.metadata for member in joins[0][0].members} == {RANGE[0][1]}


def test_metadata_that_claim_billions_of_topics_are_not_looked_at():
    scene = Scene()
    joined = scene.join(protocols=(("range", b"h" * 1_000),))
    scene.advance(0)
    assert joined[0].error is ErrorCode.NONE and scene.group.subscribed_topics is None


def test_rule_59_the_group_never_outgrows_its_maximum():
    """KAFKA-9844."""
    scene = Scene(initial_delay_ms=10, max_size=2)
    joins = [scene.join() for _ in range(3)]
    assert joins[2][0].error is ErrorCode.GROUP_MAX_SIZE_REACHED and joins[2][0].member_id == ""
    scene.advance(100)
    assert len(scene.group.members) == 2
    assert scene.join()[0].error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_new_member_makes_everyone_join_again():
    scene, ids = two_members()
    third = scene.join()
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert [scene.heartbeat(member_id) for member_id in ids] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    rejoined = [scene.join(member_id) for member_id in ids]
    assert [answers[0].generation for answers in (third, *rejoined)] == [2, 2, 2]


def test_a_follower_that_joins_with_the_same_words_gets_the_current_generation():
    scene, (_, follower) = two_members()
    (answer,) = scene.join(follower)
    assert (answer.error, answer.generation, answer.members) == (ErrorCode.NONE, 1, ())
    assert scene.state is GroupState.STABLE


def test_a_leader_that_joins_a_stable_group_starts_a_rebalance():
    scene, (leader, _) = two_members()
    assert scene.join(leader) == []
    assert scene.state is GroupState.PREPARING_REBALANCE


def test_a_member_that_changes_its_words_starts_a_rebalance():
    scene, (_, follower) = two_members()
    assert scene.join(follower, protocols=(("range", b"other"),)) == []
    assert scene.state is GroupState.PREPARING_REBALANCE


def test_a_repeated_join_after_a_lost_answer_gets_the_same_generation():
    scene = Scene(initial_delay_ms=10)
    joins = [scene.join(), scene.join()]
    scene.advance(100)
    leader = joins[0][0].member_id
    again = scene.join(leader)
    assert again == joins[0]


def test_members_that_do_not_join_again_in_time_are_left_behind():
    scene, (leader, follower) = two_members()
    rejoined = scene.join(follower, protocols=(("range", b"other"),))
    scene.advance(9_000)
    scene.heartbeat(leader)
    scene.advance(9_000)
    scene.heartbeat(leader)
    scene.advance(2_000)
    (answer,) = rejoined
    assert answer.leader_id == follower, "the leader did not come: another member leads"
    assert list(scene.group.members) == [follower]


def test_a_new_member_whose_client_is_gone_does_not_block_the_group_for_ever():
    """KAFKA-9752: it has no session yet, so the timer for new members ends its wait."""
    scene = Scene(initial_delay_ms=10)
    scene.stable(1, rebalance_ms=10 * NEW_MEMBER_JOIN_TIMEOUT_MS, session_ms=20 * NEW_MEMBER_JOIN_TIMEOUT_MS)
    gone = scene.join()
    scene.advance(NEW_MEMBER_JOIN_TIMEOUT_MS)
    assert (gone[0].error, gone[0].member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


# --- syncing ---------------------------------------------------------------------------------------------------------


def test_everyone_gets_its_part_of_the_leaders_assignment():
    scene = Scene(initial_delay_ms=10)
    joins = [scene.join(), scene.join()]
    scene.advance(100)
    waiting = scene.sync("m2")
    assert waiting == []
    led = scene.sync("m1", {"m1": b"one", "m2": b"two"})
    assert [answers[0].assignment for answers in (led, waiting)] == [b"one", b"two"]
    assert joins[0][0].leader_id == "m1"


def test_a_member_that_the_leader_forgot_gets_an_empty_assignment():
    scene = Scene(initial_delay_ms=10)
    scene.join(), scene.join()
    scene.advance(100)
    waiting = scene.sync("m2")
    scene.sync("m1", {"m1": b"one", "stranger": b"x"})
    assert waiting[0].assignment == b"" and waiting[0].error is ErrorCode.NONE


def test_the_assignment_is_seen_only_once_it_is_stored():
    scene = Scene()
    scene.join()
    scene.advance(0)
    scene.log.holds_back = True
    answers = scene.sync("m1", {"m1": b"one"})
    assert answers == [] and scene.state is GroupState.COMPLETING_REBALANCE
    scene.log.release()
    assert answers[0].assignment == b"one" and scene.state is GroupState.STABLE


def test_an_assignment_that_cannot_be_stored_is_told_and_a_rebalance_begins():
    scene = Scene()
    scene.join()
    scene.advance(0)
    scene.log.error = ErrorCode.NOT_ENOUGH_REPLICAS
    answers = scene.sync("m1", {"m1": b"one"})
    assert answers[0].error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.state is GroupState.PREPARING_REBALANCE and scene.group.members["m1"].assignment == b""


def test_an_assignment_stored_too_late_belongs_to_nobody():
    scene, (leader, follower) = two_members()
    again = [scene.join(leader), scene.join(follower)]
    assert all(again)
    scene.log.holds_back = True
    scene.sync(leader, {leader: b"old"})
    scene.join(follower, protocols=(("range", b"other"),))
    scene.log.release()
    assert scene.state is GroupState.PREPARING_REBALANCE
    assert {member.assignment for member in scene.group.members.values()} == {b""}


def test_a_second_assignment_of_the_leader_does_not_follow_the_first_into_the_log():
    """Who loads the group later would give its members what those of now were not given."""
    scene = Scene()
    scene.join()
    scene.advance(0)
    scene.log.holds_back = True
    first, second = scene.sync("m1", {"m1": b"one"}), scene.sync("m1", {"m1": b"two"})
    assert first[0].error is ErrorCode.REBALANCE_IN_PROGRESS, "it asked again: only the last one waits"
    scene.log.release()
    assert second[0].assignment == b"one"
    assert len(scene.log.records) == 1


def test_an_assignment_of_an_older_generation_does_not_end_the_wait_for_the_newer_one():
    scene, (leader, follower) = two_members()
    scene.join(leader), scene.join(follower)
    scene.log.holds_back = True
    scene.sync(leader, {leader: b"old"})
    scene.join(leader, protocols=(("range", b"other"),)), scene.join(follower)
    waiting = scene.sync(follower)
    scene.log.release()
    assert scene.state is GroupState.COMPLETING_REBALANCE and waiting == []
    scene.log.holds_back = False
    scene.sync(leader, {follower: b"new"})
    assert waiting[0].assignment == b"new"


def test_a_rebalance_sends_those_who_wait_for_an_assignment_to_join_again():
    scene = Scene(initial_delay_ms=10)
    scene.join(), scene.join()
    scene.advance(100)
    waiting = scene.sync("m2")
    scene.leave("m1")
    assert waiting[0].error is ErrorCode.REBALANCE_IN_PROGRESS


def test_rule_58_members_that_never_sync_are_removed_after_the_rebalance_timeout():
    """KAFKA-12890: or the group would be completing for ever."""
    scene = Scene(initial_delay_ms=10)
    scene.join(rebalance_ms=20_000), scene.join(rebalance_ms=20_000)
    scene.advance(30)
    scene.sync("m2")
    for _ in range(4):
        scene.advance(5_000)
        scene.heartbeat("m1")
    assert "m1" not in scene.group.members
    assert scene.state is GroupState.PREPARING_REBALANCE


def test_a_follower_that_never_syncs_is_removed_although_the_group_is_stable():
    scene = Scene(initial_delay_ms=10)
    scene.join(rebalance_ms=20_000), scene.join(rebalance_ms=20_000)
    scene.advance(30)
    scene.sync("m1", {"m1": b"one", "m2": b"two"})
    assert scene.state is GroupState.STABLE
    for _ in range(4):
        scene.advance(5_000)
        scene.heartbeat("m1"), scene.heartbeat("m2")
    assert "m2" not in scene.group.members
    assert scene.state is GroupState.PREPARING_REBALANCE


def test_a_sync_is_checked_in_kafkas_order():
    scene, (leader, _) = two_members()
    assert scene.sync("stranger", generation=0)[0].error is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.sync(leader, generation=0)[0].error is ErrorCode.ILLEGAL_GENERATION
    assert scene.sync(leader, protocol_type="connect")[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.sync(leader, protocol_name="sticky")[0].error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert scene.sync(leader, protocol_type="consumer", protocol_name="range")[0].error is ErrorCode.NONE


def test_a_sync_during_a_rebalance_is_sent_back_to_join():
    scene, (leader, follower) = two_members()
    scene.join(leader)
    assert scene.sync(follower)[0].error is ErrorCode.REBALANCE_IN_PROGRESS


# --- staying and leaving ---------------------------------------------------------------------------------------------


def test_a_silent_member_is_removed_after_its_session_and_the_others_rebalance():
    scene, (leader, follower) = two_members()
    scene.advance(6_000)
    assert scene.heartbeat(follower) is ErrorCode.NONE
    scene.advance(4_000)
    assert list(scene.group.members) == [follower] and scene.state is GroupState.PREPARING_REBALANCE
    assert scene.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_waits_is_not_silent():
    scene, (leader, follower) = two_members()
    waiting = scene.join(leader)
    scene.advance(9_000)
    scene.heartbeat(follower)
    scene.advance(9_000)
    scene.heartbeat(follower)
    assert waiting == [] and leader in scene.group.members
    scene.join(follower)
    assert waiting[0].error is ErrorCode.NONE


def test_a_heartbeat_is_fine_while_the_assignment_is_awaited():
    scene = Scene()
    scene.join()
    scene.advance(0)
    assert scene.heartbeat("m1") is ErrorCode.NONE
    assert scene.heartbeat("m1", generation=0) is ErrorCode.ILLEGAL_GENERATION


def test_the_last_member_to_leave_leaves_an_empty_generation_in_the_log():
    scene, (leader, follower) = two_members()
    before = len(scene.log.records)
    assert [scene.leave(leader), scene.leave(follower)] == [ErrorCode.NONE] * 2
    assert scene.state is GroupState.EMPTY and scene.group.generation == 2
    assert len(scene.log.records) == before + 1
    assert scene.leave(leader) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_parked_sync_of_a_member_that_leaves_is_answered():
    scene = Scene(initial_delay_ms=10)
    scene.join(), scene.join()
    scene.advance(100)
    waiting = scene.sync("m2")
    scene.leave("m2")
    assert waiting[0].error is ErrorCode.UNKNOWN_MEMBER_ID


def test_members_of_a_loaded_group_have_a_whole_session_to_be_heard_of():
    scene, ids = two_members()
    scene.performer.timers.stop_all()
    scene.load()
    scene.advance(9_999)
    assert list(scene.group.members) == ids
    scene.advance(1)
    assert not scene.group.members


def test_when_the_coordinator_moves_everyone_who_waits_is_sent_on():
    scene, (leader, follower) = two_members()
    joining = scene.join(leader)
    scene.unload()
    assert joining[0].error is ErrorCode.NOT_COORDINATOR
    assert len(scene.performer.timers) == 0
    assert scene.heartbeat(follower) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.join()[0].error is ErrorCode.COORDINATOR_NOT_AVAILABLE

    other = Scene(initial_delay_ms=10)
    other.join(), other.join()
    other.advance(100)
    syncing = other.sync("m2")
    other.unload()
    assert syncing[0].error is ErrorCode.NOT_COORDINATOR


# --- commits ---------------------------------------------------------------------------------------------------------


def test_anyone_may_commit_while_the_group_has_no_members():
    assert Scene().may_commit() is ErrorCode.NONE
    assert Scene().may_commit("whoever") is ErrorCode.NONE
    assert Scene().may_commit("m", generation=3) is ErrorCode.UNKNOWN_MEMBER_ID


def test_only_members_of_the_generation_may_commit():
    scene, (leader, _) = two_members()
    assert scene.may_commit(leader, generation=1) is ErrorCode.NONE
    assert scene.may_commit(leader, generation=0) is ErrorCode.ILLEGAL_GENERATION
    assert scene.may_commit("stranger", generation=1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.may_commit() is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.may_commit(transactional=True) is ErrorCode.NONE


def test_a_commit_counts_as_a_heartbeat_also_while_others_join_again():
    scene, (leader, follower) = two_members()
    scene.join(leader)
    scene.advance(9_000)
    assert scene.may_commit(follower, generation=1) is ErrorCode.NONE
    scene.advance(9_000)
    assert follower in scene.group.members


def test_nothing_is_committed_between_join_and_assignment():
    scene = Scene()
    scene.join()
    scene.advance(0)
    assert scene.may_commit("m1", generation=1) is ErrorCode.REBALANCE_IN_PROGRESS
