"""The end of a whole consumer in a group: what its listener may still do, and what the coordinator hears."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from kafka_zk.client.consumer.group.subscription_protocol import encode_assignment
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.errors import IllegalStateException
from kafka_zk.clock import SimClock
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.fetch import FetchResponse
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_zk.protocol.messages.heartbeat import HeartbeatResponse
from kafka_zk.protocol.messages.join_group import JoinGroupResponse
from kafka_zk.protocol.messages.leave_group import LeaveGroupResponse
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_zk.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_zk.protocol.messages.sync_group import SyncGroupResponse
from kafka_zk.protocol.types import TopicPartition
from tests.support.our_consumer import PATIENCE_S, poll_until, settings
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

FETCH, METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 1, 3, 8, 9, 10
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 11, 12, 13, 14
VERSIONS = {
    FETCH: (4, 4),
    METADATA: (0, 12),
    OFFSET_COMMIT: (2, 2),
    OFFSET_FETCH: (1, 1),
    FIND_COORDINATOR: (0, 0),
    JOIN_GROUP: (2, 2),
    HEARTBEAT: (0, 0),
    LEAVE_GROUP: (0, 0),
    SYNC_GROUP: (0, 0),
    API_VERSIONS_KEY: (0, 4),
}
T0 = TopicPartition("t", 0)


class Group:
    """A broker with one empty partition, and a group whose only member is given it. `heard`, in order."""

    def __init__(self) -> None:
        self.broker = ScriptedBroker({}, versions=VERSIONS)
        self.heard: list[tuple[str, Any]] = []
        joined = JoinGroupResponse(generation_id=1, member_id="me", leader="other", protocol_name="range")
        committed = OffsetFetchResponsePartition(partition_index=0, committed_offset=5)
        self.broker.handlers = {
            METADATA: self.metadata,
            FETCH: lambda *_: FetchResponse(),
            FIND_COORDINATOR: lambda *_: FindCoordinatorResponse(
                node_id=1, host=self.broker.host, port=self.broker.port
            ),
            JOIN_GROUP: lambda *_: joined,
            SYNC_GROUP: lambda *_: SyncGroupResponse(assignment=encode_assignment([T0])),
            HEARTBEAT: lambda *_: HeartbeatResponse(),
            OFFSET_FETCH: lambda *_: OffsetFetchResponse(
                topics=[OffsetFetchResponseTopic(name="t", partitions=[committed])]
            ),
            OFFSET_COMMIT: self.commit,
            LEAVE_GROUP: self.leave,
        }

    def metadata(self, request: Any, version: int) -> MetadataResponse:
        partition = MetadataResponsePartition(partition_index=0, leader_id=1)
        node = MetadataResponseBroker(node_id=1, host=self.broker.host, port=self.broker.port)
        topic = MetadataResponseTopic(name="t", partitions=[partition])
        return MetadataResponse(brokers=[node], controller_id=1, topics=[topic])

    def commit(self, request: Any, version: int) -> OffsetCommitResponse:
        offset = request.topics[0].partitions[0].committed_offset
        self.heard.append(("commit", (request.generation_id_or_member_epoch, offset)))
        taken = OffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.NONE)
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[taken])])

    def leave(self, request: Any, version: int) -> LeaveGroupResponse:
        self.heard.append(("leave", request.member_id))
        return LeaveGroupResponse()


class Revoking(ConsumerRebalanceListener):
    """Does what the test says when its partitions go."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action
        self.revoked: list[TopicPartition] = []

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.revoked += partitions
        self.action()


@pytest.fixture
def group() -> Iterator[Group]:
    made = Group()
    with made.broker:
        yield made


def member(group: Group, **more: object) -> tuple[KafkaConsumer, Revoking]:
    consumer = KafkaConsumer(settings(group.broker.bootstrap, group_id="g", **more))
    listener = Revoking(lambda: None)
    consumer.subscribe(["t"], listener)
    poll_until([consumer], lambda: consumer.assignment() == {T0} and bool(consumer.position(T0)))
    return consumer, listener


def test_the_listener_commits_before_the_member_leaves(group: Group) -> None:
    consumer, listener = member(group)
    listener.action = lambda: consumer.commit_sync({T0: OffsetAndMetadata(consumer.position(T0) + 2)})
    consumer.close()
    assert group.heard == [("commit", (1, 7)), ("leave", "me")]
    with pytest.raises(IllegalStateException):
        consumer.position(T0)


def test_a_commit_that_the_listener_does_not_wait_for_is_waited_for(group: Group) -> None:
    consumer, listener = member(group)
    outcomes: list[Exception | None] = []
    offsets = {T0: OffsetAndMetadata(7)}
    listener.action = lambda: consumer.commit_async(offsets, lambda _, error: outcomes.append(error))
    consumer.close()
    assert group.heard == [("commit", (1, 7)), ("leave", "me")]
    assert outcomes == [None]


def test_a_wakeup_that_came_too_late_costs_no_commit(group: Group) -> None:
    consumer, listener = member(group)
    listener.action = lambda: (consumer.wakeup(), consumer.commit_sync({T0: OffsetAndMetadata(7)}))[1]
    consumer.wakeup()
    consumer.close()
    assert group.heard == [("commit", (1, 7)), ("leave", "me")]


def test_a_listener_that_closes_the_consumer_again_does_no_harm(group: Group) -> None:
    consumer, listener = member(group)
    listener.action = consumer.close
    consumer.close()
    assert (listener.revoked, group.heard) == ([T0], [("leave", "me")])


class Closing(ConsumerRebalanceListener):
    def __init__(self, consumer: KafkaConsumer) -> None:
        self.on_partitions_assigned = lambda _: consumer.close()  # type: ignore[method-assign]


@pytest.mark.parametrize("closed_in", ["assigned", "revoked", "callback"])
def test_a_poll_whose_listener_or_callback_closes_the_consumer_says_that_it_is_closed(
    group: Group, closed_in: str
) -> None:
    if closed_in == "assigned":
        consumer = KafkaConsumer(settings(group.broker.bootstrap, group_id="g"))
        consumer.subscribe(["t"], Closing(consumer))
    else:
        consumer, listener = member(group)
        if closed_in == "revoked":
            listener.action = consumer.close
            consumer.enforce_rebalance()
        else:
            consumer.commit_async({T0: OffsetAndMetadata(7)}, lambda *_: consumer.close())
    with pytest.raises(IllegalStateException, match="This consumer has already been closed"):
        poll_until([consumer], lambda: False)
    assert group.heard[-1] == ("leave", "me")


def test_a_call_that_waits_says_that_a_callback_closed_the_consumer(group: Group) -> None:
    consumer, _ = member(group)
    consumer.commit_async({T0: OffsetAndMetadata(7)}, lambda *_: consumer.close())
    with pytest.raises(IllegalStateException, match="This consumer has already been closed"):
        consumer._loop.wait_for(lambda: False, PATIENCE_S)


@pytest.mark.parametrize("fails_in", ["listener", "callback"])
def test_what_the_program_raises_at_the_end_keeps_nobody_in_the_group(group: Group, fails_in: str) -> None:
    consumer, listener = member(group)

    def fail(*_: object) -> None:
        raise ValueError("of the program")

    if fails_in == "listener":
        listener.action = fail
    else:
        consumer.commit_async({T0: OffsetAndMetadata(6)}, fail)
    with pytest.raises(ValueError, match="of the program"):
        consumer.close()
    assert (listener.revoked, group.heard[-1]) == ([T0], ("leave", "me"))
    consumer.close()
    with pytest.raises(IllegalStateException):
        consumer.commit_sync()


def heard_in_the_end(group: Group, what: tuple[str, Any]) -> bool:
    deadline_s = time.monotonic() + PATIENCE_S
    while what not in group.heard and time.monotonic() < deadline_s:
        time.sleep(0.005)
    return what in group.heard


def test_who_closes_without_waiting_still_leaves_the_group(group: Group) -> None:
    consumer, _ = member(group)
    consumer.close(0)
    assert heard_in_the_end(group, ("leave", "me"))


def test_what_was_read_is_committed_at_the_end_though_the_coordinator_moves(group: Group) -> None:
    consumer, _ = member(group, enable_auto_commit=True, retry_backoff_ms=1)
    taken = group.broker.handlers[OFFSET_COMMIT]
    moved = OffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.NOT_COORDINATOR)
    refusals = [OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[moved])])]
    group.broker.handlers[OFFSET_COMMIT] = lambda *asked: refusals.pop() if refusals else taken(*asked)
    consumer.close()
    assert group.heard == [("commit", (1, 5)), ("leave", "me")]


def test_a_topic_that_was_deleted_holds_no_close_up(group: Group) -> None:
    consumer, _ = member(group, enable_auto_commit=True, retry_backoff_ms=1)
    taken = group.broker.handlers[OFFSET_COMMIT]
    gone = OffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    refusals = [OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[gone])])]
    group.broker.handlers[OFFSET_COMMIT] = lambda *asked: refusals.pop() if refusals else taken(*asked)
    consumer.close()
    assert group.heard == [("leave", "me")]


def test_all_waits_of_a_close_share_its_time(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer, _ = member(group)
    clock, waits = SimClock(), []

    def wait_for(is_done: Callable[[], bool], timeout_s: float) -> bool:
        waits.append(timeout_s)
        clock.advance(int(timeout_s * 1000))
        return False

    monkeypatch.setattr(consumer, "_clock", clock)
    monkeypatch.setattr(consumer._loop, "wait_for", wait_for)
    consumer.close(2)
    assert waits == [2, 0]


def test_what_was_read_of_partitions_that_are_assigned_no_more_is_committed(group: Group) -> None:
    more: dict[str, object] = {"enable_auto_commit": True, "auto_commit_interval_ms": 0}
    with KafkaConsumer(settings(group.broker.bootstrap, group_id="g", **more)) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 7)
        consumer.assign([TopicPartition("t", 1)])
    assert group.heard == [("commit", (-1, 7))]
