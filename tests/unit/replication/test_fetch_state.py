"""What a follower decides: truncation by epochs, getting back into range, errors; rules 32, 33, 36, 39."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.replication.following.fetch_state import (
    FAIL,
    LOOK_FOR_RANGE,
    RETRY,
    FetchState,
    Truncation,
    fetcher_id,
    initial_state,
    plan_for_range,
    reaction_to,
    truncation_for,
)
from kafka_zk.replication.following.follower_session import Asked, FollowerSession


def cut(leader: tuple[int, int], own: tuple[int, int], *, fetch_offset: int = 20, end: int = 20) -> Truncation:
    return truncation_for(
        leader_epoch=leader[0],
        leader_end_offset=leader[1],
        fetch_offset=fetch_offset,
        log_end_offset=end,
        own_epoch=own[0],
        own_end_offset=own[1],
    )


def test_rule_32_the_follower_cuts_where_its_last_common_epoch_ends_at_the_leader() -> None:
    assert cut((3, 15), (3, 18)) == Truncation(15, is_final=True)
    assert cut((3, 25), (3, 18)) == Truncation(18, is_final=True)


def test_rule_33_with_a_smaller_epoch_of_its_own_it_steps_down_and_asks_again() -> None:
    assert cut((3, 15), (2, 12)) == Truncation(12, is_final=False)


def test_a_leader_without_epochs_is_followed_from_its_end_offset() -> None:
    assert cut((-1, 15), (-1, -1)) == Truncation(15, is_final=True)


def test_without_an_end_offset_the_follower_goes_back_to_where_it_fetched() -> None:
    assert cut((-1, -1), (-1, -1), fetch_offset=7) == Truncation(7, is_final=True)


OFFSETS = st.integers(-1, 40)


@given(leader_epoch=OFFSETS, leader_end=OFFSETS, own_epoch=OFFSETS, own_end=OFFSETS, end=st.integers(0, 30))
def test_a_truncation_never_lies_behind_the_end_of_the_log(
    leader_epoch: int, leader_end: int, own_epoch: int, own_end: int, end: int
) -> None:
    assert cut((leader_epoch, leader_end), (own_epoch, own_end), fetch_offset=end, end=end).offset <= end


def test_a_log_with_epochs_is_fetched_from_its_end() -> None:
    state = initial_state(topic_id=NULL_UUID, leader_epoch=4, log_end_offset=9, high_watermark=6, latest_epoch=3)
    assert (state.fetch_offset, state.last_fetched_epoch) == (9, 3)


def test_a_log_without_epochs_is_trusted_up_to_its_high_watermark() -> None:
    state = initial_state(topic_id=NULL_UUID, leader_epoch=4, log_end_offset=9, high_watermark=6, latest_epoch=-1)
    assert (state.fetch_offset, state.last_fetched_epoch) == (6, -1)


def test_rule_39_above_the_leaders_end_the_log_is_cut_to_it() -> None:
    plan = plan_for_range(leader_start_offset=2, leader_end_offset=8, log_end_offset=12)
    assert (plan.fetch_offset, plan.truncates, plan.starts_anew) == (8, True, False)


def test_rule_39_below_the_leaders_start_the_log_begins_anew_there() -> None:
    plan = plan_for_range(leader_start_offset=20, leader_end_offset=30, log_end_offset=12)
    assert (plan.fetch_offset, plan.truncates, plan.starts_anew) == (20, False, True)


def test_inside_the_leaders_range_nothing_is_lost() -> None:
    plan = plan_for_range(leader_start_offset=2, leader_end_offset=30, log_end_offset=12)
    assert (plan.fetch_offset, plan.truncates, plan.starts_anew) == (12, False, False)


@pytest.mark.parametrize("code", list(ErrorCode))
def test_only_a_fenced_current_epoch_makes_a_follower_give_up(code: ErrorCode) -> None:
    if code == ErrorCode.OFFSET_OUT_OF_RANGE:
        assert reaction_to(code, asked_epoch=4, current_epoch=4) == LOOK_FOR_RANGE
    elif code == ErrorCode.FENCED_LEADER_EPOCH:
        assert reaction_to(code, asked_epoch=4, current_epoch=4) == FAIL
        assert reaction_to(code, asked_epoch=4, current_epoch=5) == RETRY
    else:
        assert reaction_to(code, asked_epoch=4, current_epoch=4) == RETRY


def test_fetcher_ids_follow_java_strings() -> None:
    # "hello".hashCode() is 99162322 in Java; 31 times that overflows an int to -1220935314.
    assert fetcher_id("hello", 0, 1000) == 314
    assert fetcher_id("", 0, 7) == 0
    assert fetcher_id("a", 1, 1000) == (31 * 97 + 1) % 1000
    assert {fetcher_id("topic", partition, 3) for partition in range(30)} == {0, 1, 2}


def asked(offset: int, epoch: int = 1) -> Asked:
    return Asked(FetchState(NULL_UUID, offset, epoch, 0), 0)


def test_a_follower_names_every_partition_first_and_then_only_what_changed() -> None:
    session, a, b = FollowerSession(), TopicPartition("t", 0), TopicPartition("t", 1)
    first = session.next_request({a: asked(0), b: asked(0)})
    assert (first.session_epoch, list(first.wanted)) == (0, [a, b])
    session.answered(77)
    second = session.next_request({a: asked(5), b: asked(0)})
    assert (second.session_id, second.session_epoch, list(second.wanted), second.forgotten) == (77, 1, [a], {})
    session.answered(77)
    third = session.next_request({b: asked(0)})
    assert (third.session_epoch, third.wanted, list(third.forgotten)) == (2, {}, [a])


def test_after_an_error_of_the_session_the_follower_starts_over() -> None:
    session, a = FollowerSession(), TopicPartition("t", 0)
    session.next_request({a: asked(0)})
    session.answered(77)
    session.failed(session_is_lost=True)
    request = session.next_request({a: asked(3)})
    assert (request.session_id, request.session_epoch, list(request.wanted)) == (0, 0, [a])


def test_after_a_lost_connection_the_full_request_closes_the_old_session() -> None:
    session, a = FollowerSession(), TopicPartition("t", 0)
    session.next_request({a: asked(0)})
    session.answered(77)
    session.failed(session_is_lost=False)
    request = session.next_request({a: asked(3)})
    assert (request.session_id, request.session_epoch, list(request.wanted)) == (77, 0, [a])


@given(st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10))
def test_the_leader_always_knows_what_the_follower_wants(rounds: list[dict[int, int]]) -> None:
    """Model of the leader: it applies each request to what it remembers."""
    session = FollowerSession()
    leader: dict[TopicPartition, int] = {}
    for number, wanted in zip(itertools.count(), rounds, strict=False):
        now = {TopicPartition("t", index): asked(offset) for index, offset in wanted.items()}
        request = session.next_request(now)
        if request.session_epoch == 0:
            leader = {}
        for topic_partition in request.forgotten:
            del leader[topic_partition]
        leader.update({topic_partition: entry.state.fetch_offset for topic_partition, entry in request.wanted.items()})
        assert leader == {topic_partition: entry.state.fetch_offset for topic_partition, entry in now.items()}
        if number % 4 == 3:
            session.failed(session_is_lost=True)
        else:
            session.answered(77)
