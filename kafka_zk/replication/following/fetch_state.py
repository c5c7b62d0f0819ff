"""A follower's state of one partition, and its decisions on fetch responses.

Role        Pure: decides, never acts. One state a partition, kept by the fetcher of its leader.
Invariants  A new state is a new object: an answer counts only if the state that asked is still the current one
            (rules 35, KAFKA-13207).
            A partition that failed is not fetched again before the next LeaderAndIsr.
Source      Kafka 3.9 PartitionFetchState, AbstractFetcherThread: getOffsetTruncationState, onPartitionFenced,
            fetchOffsetAndTruncate, processFetchRequest.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from kafka_zk.java_hash import absolute, string_hash
from kafka_zk.protocol.errors import ErrorCode

UNDEFINED = -1

AHEAD_MS = 50
"""How soon a follower asks a leader again that does not know yet that it leads: the request for it is on its way."""


class FetchState(NamedTuple):
    """What the follower wants next. `delayed_until_ms` is monotonic, None = now. `lag_records` is None until known."""

    topic_id: UUID
    fetch_offset: int
    leader_epoch: int
    last_fetched_epoch: int
    lag_records: int | None = None
    delayed_until_ms: int | None = None

    def is_ready(self, now_ms: int) -> bool:
        return self.delayed_until_ms is None or self.delayed_until_ms <= now_ms

    def delayed(self, until_ms: int) -> FetchState:
        return self._replace(delayed_until_ms=until_ms)


class Truncation(NamedTuple):
    """Cut the log at `offset`. Not `is_final`: the epochs did not match yet, the leader will diverge again."""

    offset: int
    is_final: bool


def initial_state(
    *, topic_id: UUID, leader_epoch: int, log_end_offset: int, high_watermark: int, latest_epoch: int
) -> FetchState:
    """Where to begin after a LeaderAndIsr: at the log's end if it knows epochs, so that the leader can compare them;
    a log without epochs is only to be trusted up to its high watermark."""
    offset = log_end_offset if latest_epoch != UNDEFINED else high_watermark
    return FetchState(topic_id, offset, leader_epoch, latest_epoch)


def truncation_for(
    *,
    leader_epoch: int,
    leader_end_offset: int,
    fetch_offset: int,
    log_end_offset: int,
    own_epoch: int,
    own_end_offset: int,
) -> Truncation:
    """How far to go back when the leader says that its `leader_epoch` ends at `leader_end_offset`.

    `own_epoch` and `own_end_offset` are what this log answers for the same epoch, -1 when it knows none. With a
    smaller own epoch the histories parted even earlier: step down and ask again (rule 33).
    """
    if leader_end_offset == UNDEFINED:
        return Truncation(fetch_offset, is_final=True)
    if leader_epoch == UNDEFINED or own_end_offset == UNDEFINED:
        return Truncation(min(leader_end_offset, log_end_offset), is_final=True)
    if own_epoch != leader_epoch:
        return Truncation(min(own_end_offset, log_end_offset), is_final=False)
    return Truncation(min(own_end_offset, leader_end_offset, log_end_offset), is_final=True)


class Reaction(NamedTuple):
    """What to do about an error: try again later, give up until the next LeaderAndIsr, or ask where the log begins."""

    retries: bool = False
    fails: bool = False
    looks_for_range: bool = False


RETRY = Reaction(retries=True)
FAIL = Reaction(fails=True)
LOOK_FOR_RANGE = Reaction(looks_for_range=True)


def back_off_ms(code: int, configured_ms: int) -> int:
    """The backoff before a follower's next fetch."""
    return min(AHEAD_MS, configured_ms) if code == ErrorCode.UNKNOWN_LEADER_EPOCH else configured_ms


def reaction_to(code: int, *, asked_epoch: int, current_epoch: int) -> Reaction:
    """A follower's reaction to an error of its leader."""
    if code == ErrorCode.OFFSET_OUT_OF_RANGE:
        return LOOK_FOR_RANGE
    if code == ErrorCode.FENCED_LEADER_EPOCH and asked_epoch == current_epoch:
        # There is a newer leader; its LeaderAndIsr is on the way.
        return FAIL
    return RETRY


class RangePlan(NamedTuple):
    """How to get back into the leader's range: cut the log at an offset, or restart it there, or neither."""

    fetch_offset: int
    truncates: bool
    starts_anew: bool


def plan_for_range(*, leader_start_offset: int, leader_end_offset: int, log_end_offset: int) -> RangePlan:
    """After OFFSET_OUT_OF_RANGE. Never start at 0 because of it (rule 39)."""
    if leader_end_offset < log_end_offset:
        return RangePlan(leader_end_offset, truncates=True, starts_anew=False)
    if leader_start_offset > log_end_offset:
        return RangePlan(leader_start_offset, truncates=False, starts_anew=True)
    return RangePlan(log_end_offset, truncates=False, starts_anew=False)


def fetcher_id(topic: str, partition: int, num_fetchers: int) -> int:
    """Which of the fetchers from one leader takes a partition. Source: AbstractFetcherManager.getFetcherId."""
    return absolute((31 * string_hash(topic) + partition) & 0xFFFFFFFF) % num_fetchers
