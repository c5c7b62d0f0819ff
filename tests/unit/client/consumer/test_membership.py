"""A member's way through the generations, answer by answer."""

from __future__ import annotations

import pytest

from kafka_zk.client.consumer.group.membership import Identity, Membership, MemberState, Outcome
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.join_group import JoinGroupResponse
from kafka_zk.protocol.messages.sync_group import SyncGroupResponse


def joined(generation: int = 1, member_id: str = "me", code: int = 0) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, generation_id=generation, member_id=member_id, protocol_name="range")


def stable() -> Membership:
    member = Membership()
    attempt = member.begin_join()
    member.on_joined(attempt, joined())
    member.on_synced(attempt, SyncGroupResponse())
    return member


def test_a_member_is_stable_when_both_answers_came() -> None:
    member = Membership()
    assert member.rejoin_needed
    attempt = member.begin_join()
    assert member.on_joined(attempt, joined()) is Outcome.PROCEED
    assert (member.state, member.sends_heartbeats) == (MemberState.SYNCING, True)
    assert member.on_synced(attempt, SyncGroupResponse()) is Outcome.PROCEED
    assert (member.state, member.identity) == (MemberState.STABLE, Identity(1, "me", "range"))
    assert not member.rejoin_needed


def test_a_new_member_joins_again_under_the_name_it_was_given() -> None:
    member = Membership()
    answer = joined(-1, "given", ErrorCode.MEMBER_ID_REQUIRED)
    assert member.on_joined(member.begin_join(), answer) is Outcome.REJOIN_NOW
    assert (member.identity, member.rejoin_needed, member.lost) == (Identity(-1, "given"), True, False)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Outcome.REJOIN_LATER),
        (ErrorCode.REBALANCE_IN_PROGRESS, Outcome.REJOIN_LATER),
        (ErrorCode.NOT_COORDINATOR, Outcome.FIND_COORDINATOR),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, Outcome.FIND_COORDINATOR),
        (ErrorCode.UNKNOWN_MEMBER_ID, Outcome.REJOIN_NOW),
        (ErrorCode.FENCED_INSTANCE_ID, Outcome.FATAL),
        (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, Outcome.FATAL),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Outcome.FATAL),
        (ErrorCode.INVALID_SESSION_TIMEOUT, Outcome.FATAL),
    ],
)
def test_what_a_refused_join_means(code: ErrorCode, outcome: Outcome) -> None:
    member = Membership()
    assert member.on_joined(member.begin_join(), joined(code=code)) is outcome
    assert (member.state, member.rejoin_needed, member.sends_heartbeats) == (MemberState.UNJOINED, True, False)


def test_a_member_that_is_not_known_any_more_has_lost_what_it_owned() -> None:
    member = stable()
    assert member.on_heartbeat(member.identity, ErrorCode.UNKNOWN_MEMBER_ID) is Outcome.REJOIN_NOW
    assert (member.lost, member.identity, member.rejoin_needed) == (True, Identity(), True)


def test_a_member_of_an_old_generation_keeps_its_name() -> None:
    member = stable()
    member.on_heartbeat(member.identity, ErrorCode.ILLEGAL_GENERATION)
    assert (member.lost, member.identity) == (True, Identity(-1, "me"))


def test_a_heartbeat_sent_as_somebody_else_changes_nothing() -> None:
    member = stable()
    assert member.on_heartbeat(Identity(0, "me", "range"), ErrorCode.UNKNOWN_MEMBER_ID) is Outcome.PROCEED
    assert (member.state, member.lost) == (MemberState.STABLE, False)


def test_a_heartbeat_tells_of_a_rebalance() -> None:
    member = stable()
    assert member.on_heartbeat(member.identity, ErrorCode.REBALANCE_IN_PROGRESS) is Outcome.PROCEED
    assert (member.rejoin_needed, member.state) == (True, MemberState.STABLE)
    assert member.reason == "group is already rebalancing"


def test_an_answer_of_an_earlier_attempt_changes_nothing() -> None:
    member = Membership()
    old = member.begin_join()
    member.on_disconnected(old)
    new = member.begin_join()
    assert member.on_joined(old, joined(generation=1)) is Outcome.REJOIN_LATER
    assert member.on_joined(new, joined(generation=2)) is Outcome.PROCEED
    assert member.on_synced(old, SyncGroupResponse()) is Outcome.REJOIN_LATER
    assert member.state is MemberState.SYNCING


def test_a_lost_coordinator_in_the_middle_of_a_join_is_joined_again() -> None:
    member = Membership()
    attempt = member.begin_join()
    member.on_joined(attempt, joined())
    member.on_disconnected(attempt)
    assert (member.state, member.rejoin_needed) == (MemberState.UNJOINED, True)


def test_a_member_that_left_lost_nothing() -> None:
    member = stable()
    member.leave()
    assert (member.lost, member.identity, member.rejoin_needed) == (False, Identity(), True)
