"""Who is in sync, and what may be committed: rules 22, 25 to 28 of the replication rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_zk.replication.leading.follower_state import FollowerState
from kafka_zk.replication.leading.high_watermark import next_high_watermark
from kafka_zk.replication.leading.isr import Isr, effective_min_isr, may_join, without_laggards

LAG_MS = 30_000


def follower(broker_id: int, end_offset: int = -1, *, caught_up_ms: int | None = None) -> FollowerState:
    state = FollowerState(broker_id)
    state.log_end_offset = end_offset
    state.last_caught_up_ms = caught_up_ms
    return state


def high_watermark(
    isr: Isr,
    followers: list[FollowerState],
    *,
    current: int = 0,
    end: int = 10,
    min_isr: int = 1,
    alive: tuple[int, ...] = (1, 2, 3),
    now_ms: int = 0,
) -> int:
    return next_high_watermark(
        current=current,
        log_end_offset=end,
        isr=isr,
        followers=followers,
        min_isr=min_isr,
        is_eligible=lambda broker_id: broker_id in alive,
        now_ms=now_ms,
        max_lag_ms=LAG_MS,
    )


def test_a_leader_alone_commits_what_it_has() -> None:
    assert high_watermark(Isr([1]), []) == 10


def test_the_slowest_member_of_the_isr_decides_what_is_committed() -> None:
    assert high_watermark(Isr([1, 2, 3]), [follower(2, 7), follower(3, 9)]) == 7


def test_a_replica_that_lags_outside_the_isr_does_not_hold_the_high_watermark_back() -> None:
    assert high_watermark(Isr([1, 2]), [follower(2, 9), follower(3, 1)], now_ms=LAG_MS + 1) == 9


def test_rule_22_while_a_shrink_is_in_flight_the_leaving_member_still_counts() -> None:
    isr = Isr([1, 2, 3])
    isr.propose((1, 2))
    assert high_watermark(isr, [follower(2, 9), follower(3, 4)]) == 4


def test_rule_22_while_an_expansion_is_in_flight_the_joining_member_counts_already() -> None:
    isr = Isr([1, 2])
    isr.propose((1, 2, 3))
    assert isr.maximal == (1, 2, 3)
    assert isr.committed == (1, 2)
    assert high_watermark(isr, [follower(2, 9), follower(3, 5)]) == 5


def test_rule_25_under_min_insync_replicas_the_high_watermark_stands_still() -> None:
    assert high_watermark(Isr([1]), [follower(2, 3)], current=4, min_isr=2) == 4
    assert high_watermark(Isr([1, 2]), [follower(2, 6)], current=4, min_isr=2) == 6


def test_a_caught_up_replica_about_to_join_holds_the_high_watermark_back() -> None:
    joining = follower(3, 8, caught_up_ms=0)
    assert high_watermark(Isr([1, 2]), [follower(2, 10), joining], now_ms=LAG_MS) == 8
    assert high_watermark(Isr([1, 2]), [follower(2, 10), joining], now_ms=LAG_MS + 1) == 10


def test_a_caught_up_replica_on_a_dead_broker_does_not_hold_the_high_watermark_back() -> None:
    joining = follower(3, 8, caught_up_ms=0)
    assert high_watermark(Isr([1, 2]), [follower(2, 10), joining], alive=(1, 2)) == 10


def test_a_member_of_the_isr_that_is_no_replica_any_more_holds_the_high_watermark_back() -> None:
    """A move to 1 and 3 has taken 2 from the replicas; until it is out of the ISR, too, it may be elected."""
    isr = Isr([2, 3, 1])
    assert high_watermark(isr, [follower(3, 10)], current=4) == 4
    isr.propose((3, 1))
    assert high_watermark(isr, [follower(3, 10)], current=4) == 4
    isr.settle((3, 1))
    assert high_watermark(isr, [follower(3, 10)], current=4) == 10


@given(
    current=st.integers(0, 20),
    ends=st.lists(st.integers(-1, 30), min_size=1, max_size=4),
    in_isr=st.lists(st.booleans(), min_size=4, max_size=4),
    min_isr=st.integers(1, 4),
)
def test_the_high_watermark_never_goes_back_and_never_passes_a_member(
    current: int, ends: list[int], in_isr: list[bool], min_isr: int
) -> None:
    followers = [follower(broker_id + 2, end) for broker_id, end in enumerate(ends)]
    members = [1, *(state.broker_id for state, chosen in zip(followers, in_isr, strict=False) if chosen)]
    answer = high_watermark(Isr(members), followers, current=current, end=30, min_isr=min_isr, now_ms=LAG_MS * 2)
    assert answer >= current
    if answer > current:
        assert len(members) >= min_isr
        assert all(state.log_end_offset >= answer for state in followers if state.broker_id in members)


# --- joining ---------------------------------------------------------------------------------------------------------


def joins(isr: Isr, state: FollowerState, *, alive: bool = True, high_watermark: int = 8, epoch_start: int = 5) -> bool:
    return may_join(isr, state, is_eligible=alive, high_watermark=high_watermark, epoch_start_offset=epoch_start)


def test_a_follower_joins_the_isr_once_it_reaches_the_high_watermark() -> None:
    assert not joins(Isr([1, 3]), follower(2, 7))
    assert joins(Isr([1, 3]), follower(2, 8))


def test_rule_26_a_follower_must_also_reach_the_start_of_the_leader_epoch() -> None:
    assert not joins(Isr([1]), follower(2, 8), epoch_start=9)
    assert joins(Isr([1]), follower(2, 9), epoch_start=9)


def test_rule_28_a_follower_on_a_dead_broker_does_not_join() -> None:
    assert not joins(Isr([1]), follower(2, 10), alive=False)


def test_nobody_joins_while_a_change_is_in_flight() -> None:
    isr = Isr([1])
    isr.propose((1, 3))
    assert not joins(isr, follower(2, 10))


def test_a_member_does_not_join_again() -> None:
    assert not joins(Isr([1, 2]), follower(2, 10))


# --- leaving ---------------------------------------------------------------------------------------------------------


def shrunk(isr: Isr, followers: list[FollowerState], *, now_ms: int, end: int = 10) -> tuple[int, ...] | None:
    return without_laggards(isr, followers, leader_id=1, leader_end_offset=end, now_ms=now_ms, max_lag_ms=LAG_MS)


def test_a_member_leaves_after_lagging_for_longer_than_replica_lag_time_max_ms() -> None:
    followers = [follower(2, 5, caught_up_ms=0), follower(3, 10, caught_up_ms=0)]
    assert shrunk(Isr([3, 1, 2]), followers, now_ms=LAG_MS) is None
    assert shrunk(Isr([3, 1, 2]), followers, now_ms=LAG_MS + 1) == (3, 1)


def test_rule_27_a_member_at_the_end_of_a_quiet_partition_stays() -> None:
    assert shrunk(Isr([1, 2]), [follower(2, 10, caught_up_ms=0)], now_ms=LAG_MS * 100) is None


def test_a_member_that_never_fetched_from_this_leader_is_given_the_lag_time() -> None:
    fresh = FollowerState(2)
    fresh.reset(in_isr=True, is_new_leader=True, leader_end_offset=10, now_ms=1_000)
    assert shrunk(Isr([1, 2]), [fresh], now_ms=1_000 + LAG_MS) is None
    assert shrunk(Isr([1, 2]), [fresh], now_ms=1_001 + LAG_MS) == (1,)


def test_the_leader_never_drops_itself() -> None:
    assert shrunk(Isr([1]), [], now_ms=LAG_MS * 9) is None


def test_nobody_is_dropped_while_a_change_is_in_flight() -> None:
    isr = Isr([1, 2])
    isr.propose((1, 2, 3))
    assert shrunk(isr, [follower(2, 0, caught_up_ms=0)], now_ms=LAG_MS * 9) is None


def test_min_insync_replicas_never_asks_for_more_replicas_than_there_are() -> None:
    assert effective_min_isr(2, 1) == 1
    assert effective_min_isr(2, 3) == 2


def test_a_refused_change_leaves_what_was_committed() -> None:
    isr = Isr([1, 2])
    isr.propose((1,))
    isr.cancel()
    assert (isr.committed, isr.maximal, isr.is_settled) == ((1, 2), (1, 2), True)


# --- what a fetch tells ----------------------------------------------------------------------------------------------


def fetched(state: FollowerState, offset: int, *, leader_end: int, now_ms: int) -> None:
    state.fetched(fetch_offset=offset, log_start_offset=0, leader_end_offset=leader_end, now_ms=now_ms)


def test_a_fetch_at_the_leaders_end_is_caught_up_now() -> None:
    state = FollowerState(2)
    fetched(state, 10, leader_end=10, now_ms=500)
    assert state.last_caught_up_ms == 500


def test_a_fetch_of_what_was_the_end_at_the_fetch_before_was_caught_up_then() -> None:
    state = FollowerState(2)
    fetched(state, 5, leader_end=10, now_ms=500)
    assert state.last_caught_up_ms is None
    fetched(state, 10, leader_end=20, now_ms=600)
    assert state.last_caught_up_ms == 500


def test_a_slow_fetch_leaves_the_caught_up_time_alone() -> None:
    state = FollowerState(2)
    fetched(state, 10, leader_end=10, now_ms=500)
    fetched(state, 11, leader_end=90, now_ms=600)
    fetched(state, 12, leader_end=190, now_ms=700)
    assert state.last_caught_up_ms == 600 - 100


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20))
def test_the_caught_up_time_never_goes_back(fetches: list[tuple[int, int]]) -> None:
    state = FollowerState(2)
    before = -1
    for now_ms, (offset, leader_end) in enumerate(fetches):
        fetched(state, offset, leader_end=leader_end, now_ms=now_ms)
        caught_up = -1 if state.last_caught_up_ms is None else state.last_caught_up_ms
        assert caught_up >= before
        before = caught_up


def test_a_leader_that_goes_on_leading_keeps_the_offsets_it_knows() -> None:
    state = follower(2, 7)
    state.reset(in_isr=False, is_new_leader=False, leader_end_offset=9, now_ms=50)
    assert (state.log_end_offset, state.last_caught_up_ms) == (7, None)


def test_a_new_leader_knows_nothing_of_its_followers() -> None:
    state = follower(2, 7)
    state.reset(in_isr=True, is_new_leader=True, leader_end_offset=9, now_ms=50)
    assert (state.log_end_offset, state.last_caught_up_ms) == (-1, 50)
