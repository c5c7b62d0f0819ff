"""What a commit ends with while its member is on the way to another generation."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_zk.client.consumer.errors import CommitFailed, RebalanceInProgress
from kafka_zk.client.consumer.group.commits import Commits
from kafka_zk.client.consumer.group.membership import Identity, Membership, MemberState
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.consumer.subscription_state import ResetStrategy, SubscriptionState
from kafka_zk.clock import SimClock
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.consumer.test_rebalance import SETTINGS, Link

T0 = TopicPartition("t", 0)
OFFSETS = {T0: OffsetAndMetadata(5, "", 0)}


def outcome(state: MemberState, code: ErrorCode) -> tuple[Exception | None, Membership]:
    """Of a commit that is sent in `state` as a member of generation 1, and answered with `code`."""
    link, membership, subscriptions = Link(), Membership(), SubscriptionState(ResetStrategy.EARLIEST)
    subscriptions.subscribe(["t"])
    membership.identity, membership.state = Identity(1, "me"), state
    commits = Commits(cast(Any, link), membership, subscriptions, SETTINGS, SimClock())
    errors: list[Exception | None] = []
    commits.commit(OFFSETS, lambda _, error: errors.append(error))
    partition = OffsetCommitResponsePartition(partition_index=0, error_code=code)
    answer = OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[partition])])
    link.answer("OffsetCommitRequest", answer)
    commits.run_callbacks()
    (error,) = errors
    return error, membership


@pytest.mark.parametrize("code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID])
@pytest.mark.parametrize("state", [MemberState.JOINING, MemberState.SYNCING])
def test_a_commit_that_the_next_generation_overtook_can_be_made_again(state: MemberState, code: ErrorCode) -> None:
    error, membership = outcome(state, code)
    assert isinstance(error, RebalanceInProgress)
    assert (membership.state, membership.identity) == (state, Identity(1, "me")), "the join goes on"


@pytest.mark.parametrize("code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID])
def test_who_was_put_out_of_the_group_has_nothing_to_commit(code: ErrorCode) -> None:
    error, membership = outcome(MemberState.STABLE, code)
    assert isinstance(error, CommitFailed)
    assert membership.lost and not membership.identity.has_generation


def test_what_the_coordinator_takes_is_committed() -> None:
    assert outcome(MemberState.JOINING, ErrorCode.NONE)[0] is None
