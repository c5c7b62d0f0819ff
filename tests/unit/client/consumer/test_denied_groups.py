"""Groups that may not be used: whatever request is refused, the program is told which group, in Java's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from kafka_zk.client.consumer.assignors.range import RangeAssignor
from kafka_zk.client.consumer.group.commits import Commits
from kafka_zk.client.consumer.group.membership import Membership
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.consumer.subscription_state import ResetStrategy, SubscriptionState
from kafka_zk.client.errors import java_name
from kafka_zk.clock import SimClock
from kafka_zk.protocol.errors import ErrorCode, GroupAuthorizationFailed, TopicAuthorizationFailed
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_zk.protocol.messages.join_group import JoinGroupResponse
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_zk.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kafka_zk.protocol.messages.sync_group import SyncGroupResponse
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.consumer.test_answers_of_brokers import FIND_COORDINATOR, Log, reader
from tests.unit.client.consumer.test_rebalance import SETTINGS, Link, Member

T0, U0, V0 = (TopicPartition(topic, 0) for topic in "tuv")
DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
WORDS = "^Not authorized to access group: g$"


def test_a_group_whose_coordinator_may_not_be_asked_for_is_named() -> None:
    log = Log()
    log.broker.handlers[FIND_COORDINATOR] = lambda *_: FindCoordinatorResponse(error_code=DENIED)
    with log.broker, reader(log, group_id="g") as consumer:
        with pytest.raises(GroupAuthorizationFailed, match=WORDS) as told:
            consumer.committed([T0])
        assert java_name(told.value) == "org.apache.kafka.common.errors.GroupAuthorizationException"
        with pytest.raises(GroupAuthorizationFailed, match=WORDS):
            consumer.poll(20)


def join(member: Member) -> None:
    member.link.answer("JoinGroupRequest", JoinGroupResponse(error_code=DENIED))


def sync(member: Member) -> None:
    member.link.answer("JoinGroupRequest", JoinGroupResponse(generation_id=1, member_id="me", leader="other"))
    member.link.answer("SyncGroupRequest", SyncGroupResponse(error_code=DENIED))


def beat(member: Member) -> None:
    member.be_given(1, T0)
    member.advance()
    member.rebalance._on_beat(member.rebalance._membership.identity, DENIED)


@pytest.mark.parametrize("be_denied", [join, sync, beat])
def test_a_group_that_may_not_be_joined_is_named(be_denied: Callable[[Member], None]) -> None:
    member = Member(RangeAssignor())
    member.advance()
    be_denied(member)
    with pytest.raises(GroupAuthorizationFailed, match=WORDS):
        member.advance()


def commits(link: Link) -> Commits:
    """Of a consumer that is in no group, and commits under its id."""
    subscriptions = SubscriptionState(ResetStrategy.EARLIEST)
    subscriptions.assign([T0, U0, V0])
    return Commits(cast(Any, link), Membership(), subscriptions, SETTINGS, SimClock())


def committed(codes: dict[TopicPartition, ErrorCode]) -> Exception | None:
    """How a commit ends whose partitions are answered with these codes."""
    link, told = Link(), list[Exception | None]()
    of_one = commits(link)
    of_one.commit({each: OffsetAndMetadata(5, "", 0) for each in codes}, lambda _, error: told.append(error))
    topics = [
        OffsetCommitResponseTopic(
            name=each.topic,
            partitions=[OffsetCommitResponsePartition(partition_index=each.partition, error_code=code)],
        )
        for each, code in codes.items()
    ]
    link.answer("OffsetCommitRequest", OffsetCommitResponse(topics=topics))
    of_one.run_callbacks()
    (error,) = told
    return error


def fetched(group_code: ErrorCode, codes: dict[TopicPartition, ErrorCode]) -> object:
    """What committed offsets are, or why there are none, where the group and its partitions are answered like this."""
    link, told = Link(), list[object]()
    commits(link).fetch(codes, told.append)
    topics = [
        OffsetFetchResponseTopics(
            name=each.topic,
            partitions=[
                OffsetFetchResponsePartitions(partition_index=each.partition, committed_offset=-1, error_code=code)
            ],
        )
        for each, code in codes.items()
    ]
    group = OffsetFetchResponseGroup(group_id="g", topics=topics, error_code=group_code)
    link.answer("OffsetFetchRequest", OffsetFetchResponse(groups=[group]))
    (outcome,) = told
    return outcome


def test_a_group_whose_offsets_may_not_be_used_is_named() -> None:
    for outcome in (committed({T0: DENIED, U0: DENIED}), fetched(DENIED, {})):
        with pytest.raises(GroupAuthorizationFailed, match=WORDS):
            raise cast(Exception, outcome)


def test_of_topics_whose_offsets_may_not_be_used_each_is_named() -> None:
    codes = {
        V0: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        T0: ErrorCode.NONE,
        U0: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    for outcome in (committed(codes), fetched(ErrorCode.NONE, codes)):
        with pytest.raises(TopicAuthorizationFailed, match=r"^Not authorized to access topics: \[u, v\]$"):
            raise cast(Exception, outcome)
