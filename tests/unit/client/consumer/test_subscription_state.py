"""Where a consumer stands in every partition, and when it may fetch."""

from __future__ import annotations

import re

import pytest

from kafka_zk.client.consumer.errors import IllegalState
from kafka_zk.client.consumer.subscription_state import (
    FetchPosition,
    FetchState,
    ResetStrategy,
    SubscriptionState,
)
from kafka_zk.client.consumer.validation import EpochEnd, Verdict, judge
from kafka_zk.protocol.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def assigned(strategy: ResetStrategy = ResetStrategy.LATEST) -> SubscriptionState:
    state = SubscriptionState(strategy)
    state.assign([A, B])
    return state


def test_topics_patterns_and_partitions_exclude_each_other() -> None:
    state = assigned()
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.subscribe(["t"])
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.subscribe_to(re.compile("t"))
    state.unsubscribe()
    assert state.subscribe(["t"])
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.assign([A])


def test_a_pattern_matches_whole_names_and_leaves_internal_topics_out() -> None:
    state = SubscriptionState(ResetStrategy.LATEST)
    state.subscribe_to(re.compile("fl.*|__.*"))
    assert state.match_topics(["flights", "xfl", "__consumer_offsets"], lambda topic: topic.startswith("__"))
    assert state.topics == {"flights"}
    assert not state.match_topics(["flights", "other"], lambda _: False)


def test_nothing_is_fetched_without_a_position() -> None:
    state = assigned()
    assert state.where(lambda each: each.may_be_fetched) == []
    state.seek(A, FetchPosition(5))
    assert state.where(lambda each: each.may_be_fetched) == [A]


def test_paused_partitions_are_not_fetched_and_stay_so_over_a_rebalance() -> None:
    state = SubscriptionState(ResetStrategy.LATEST)
    state.subscribe(["t"])
    state.assign_from_group([A, B])
    for partition in (A, B):
        state.seek(partition, FetchPosition(5))
    state.pause([A])
    state.assign_from_group([A])
    assert state.where(lambda each: each.may_be_fetched) == []
    state.resume([A])
    assert state.where(lambda each: each.may_be_fetched) == [A]
    assert state.consumed() == {A: FetchPosition(5)}


def test_what_is_about_to_be_given_up_is_fetched_no_more() -> None:
    state = assigned()
    state.seek(A, FetchPosition(5))
    state.mark_pending_revocation([A])
    assert state.where(lambda each: each.may_be_fetched) == []


def test_what_was_to_be_given_up_and_stays_is_fetched_again() -> None:
    state = SubscriptionState(ResetStrategy.EARLIEST)
    state.subscribe([A.topic])
    state.assign_from_group([A])
    state.seek(A, FetchPosition(5))
    state.mark_pending_revocation([A])
    state.assign_from_group([A])
    assert state.where(lambda each: each.may_be_fetched) == [A]


def test_a_reset_that_was_overtaken_by_a_seek_means_nothing() -> None:
    state = assigned()
    state.request_reset(A, ResetStrategy.EARLIEST)
    state.seek(A, FetchPosition(7))
    state.complete_reset(A, ResetStrategy.EARLIEST, FetchPosition(0))
    assert state.of(A).position == FetchPosition(7)
    state.request_reset(A, ResetStrategy.LATEST)
    state.complete_reset(A, ResetStrategy.EARLIEST, FetchPosition(0))
    assert state.of(A).state is FetchState.AWAIT_RESET


def test_partitions_without_position_are_reset_or_named_where_there_is_no_strategy() -> None:
    state = assigned(ResetStrategy.EARLIEST)
    assert state.reset_missing() == []
    assert {state.of(each).strategy for each in (A, B)} == {ResetStrategy.EARLIEST}
    assert assigned(ResetStrategy.NONE).reset_missing() == [A, B]


def test_a_newer_leader_epoch_puts_a_position_in_doubt_once() -> None:
    state = assigned()
    state.seek(A, FetchPosition(5))
    state.of(A).position = FetchPosition(5, leader_epoch=1)
    state.check_leader(A, 2)
    assert state.of(A).state is FetchState.AWAIT_VALIDATION
    state.complete_validation(A, 2)
    assert state.of(A).may_be_fetched
    state.check_leader(A, 2)
    assert state.of(A).may_be_fetched


def test_a_position_without_epoch_is_believed() -> None:
    state = assigned()
    state.seek(A, FetchPosition(5))
    state.check_leader(A, 2)
    assert state.of(A).may_be_fetched


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        (EpochEnd(3, 10), Verdict.VALID),
        (EpochEnd(3, 11), Verdict.VALID),
        (EpochEnd(2, 9), Verdict.DIVERGED),
        (EpochEnd(-1, -1), Verdict.LOST),
        (EpochEnd(3, -1), Verdict.LOST),
    ],
)
def test_what_the_end_of_an_epoch_says_of_a_position(end: EpochEnd, verdict: Verdict) -> None:
    assert judge(FetchPosition(10, 3), end) is verdict


def test_the_lag_is_known_once_a_fetch_told_the_end() -> None:
    state = assigned()
    assert state.lag(A, read_committed=False) is None
    state.seek(A, FetchPosition(5))
    state.of(A).high_watermark, state.of(A).last_stable_offset = 9, 7
    assert (state.lag(A, read_committed=False), state.lag(A, read_committed=True)) == (4, 2)


def test_a_partition_that_is_not_assigned_has_no_state() -> None:
    with pytest.raises(IllegalState, match="No current assignment for partition t-7"):
        assigned().seek(TopicPartition("t", 7), FetchPosition(0))
