"""A member's part in rebalances, against a coordinator of the test's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from kafka_zk.client.addresses import Address
from kafka_zk.client.consumer.assignors import Assignor
from kafka_zk.client.consumer.assignors.range import RangeAssignor
from kafka_zk.client.consumer.assignors.sticky import CooperativeStickyAssignor
from kafka_zk.client.consumer.group.coordinator_link import CoordinatorLink
from kafka_zk.client.consumer.group.membership import Identity, Membership
from kafka_zk.client.consumer.group.rebalance import Rebalance
from kafka_zk.client.consumer.group.subscription_protocol import encode_assignment, encode_subscription
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.consumer.settings import GroupSettings
from kafka_zk.client.consumer.subscription_state import ResetStrategy, SubscriptionState
from kafka_zk.client.errors import TimeoutException
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.cluster_snapshot import Node
from kafka_zk.client.network.metadata import ClusterMetadata, MetadataSettings
from kafka_zk.clock import SimClock
from kafka_zk.protocol.errors import ErrorCode, FencedInstanceId, NotCoordinator, UnknownTopicOrPartition
from kafka_zk.protocol.messages.heartbeat import HeartbeatResponse
from kafka_zk.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.messages.sync_group import SyncGroupResponse
from kafka_zk.protocol.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BACKOFF = ExponentialBackoff(1, 1, lambda: 0.5)
TOPIC = MetadataResponse(
    brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)],
    topics=[MetadataResponseTopic(name="t", partitions=[MetadataResponsePartition(partition_index=0, leader_id=1)])],
)
SETTINGS = GroupSettings("g", None, 10_000, 3_000, 300_000, True, None, 30_000, BACKOFF)


class Link:
    """Keeps what is asked; a test answers it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Callable[[Any], None]]] = []
        self.beats_as: Identity | None = None

    def ask(self, request: Any, response: Any, build: Any, on_answer: Any, on_error: Any, **_: Any) -> None:
        self.asked.append((request.name, on_answer))

    def beat_as(self, identity: Identity | None) -> None:
        self.beats_as = identity

    def answer(self, name: str, answer: Any) -> None:
        (asked,) = self.asked
        assert asked[0] == name
        self.asked.clear()
        asked[1](answer)


class Refusing(ConsumerRebalanceListener):
    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        raise ValueError("cannot be given up")


class Commits:
    """Keeps the callbacks of commits; a test calls them."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[..., None]] = []

    def consumed(self) -> dict[TopicPartition, Any]:
        return {}

    def commit(self, offsets: Any, callback: Any, **_: Any) -> None:
        self.callbacks.append(callback)

    def run_callbacks(self) -> None: ...


class Member:
    """Of a group whose leader is somebody else."""

    def __init__(self, assignor: Any, settings: GroupSettings = SETTINGS) -> None:
        self.link = Link()
        self.commits = Commits()
        self.subscriptions = SubscriptionState(ResetStrategy.EARLIEST)
        self.subscriptions.subscribe(["t"])
        self.metadata = ClusterMetadata([], MetadataSettings(1000, BACKOFF))
        self.metadata.set_topics(["t"], 0)
        self.clock = SimClock()
        self.rebalance = Rebalance(
            cast(Any, self.link), Membership(), self.subscriptions, cast(Any, self.commits), self.metadata, [assignor],
            settings, self.clock, rack="", is_internal=lambda _: False,
        )  # fmt: skip

    def advance(self) -> None:
        self.rebalance.advance(self.clock.monotonic_ms())

    def be_given(self, generation: int, *partitions: TopicPartition) -> None:
        """To be called when JoinGroup was sent."""
        name = self.link.asked[0][0]
        protocol = next(iter(self.rebalance._assignors))
        joined = JoinGroupResponse(generation_id=generation, member_id="me", leader="other", protocol_name=protocol)
        self.link.answer(name, joined)
        self.link.answer(self.link.asked[0][0], SyncGroupResponse(assignment=encode_assignment(partitions)))


def test_what_the_leader_took_is_not_read_on_even_if_the_listener_fails() -> None:
    member = Member(CooperativeStickyAssignor())
    member.advance()
    member.be_given(1, T0, T1)
    member.advance()
    member.rebalance.listener = Refusing()
    member.rebalance._membership.request_rejoin("test")
    member.advance()
    member.be_given(2, T0)
    with pytest.raises(ValueError, match="cannot be given up"):
        member.advance()
    assert member.subscriptions.assigned == [T0]
    member.advance()
    assert len(member.link.asked) == 1, "what was given up is told by joining again"


def test_a_listener_that_fails_before_a_join_is_asked_once_and_the_group_is_joined() -> None:
    member = Member(RangeAssignor())
    member.advance()
    member.be_given(1, T0)
    member.advance()
    member.rebalance.listener = Refusing()
    member.rebalance._membership.request_rejoin("test")
    with pytest.raises(ValueError, match="cannot be given up"):
        member.advance()
    assert member.subscriptions.assigned == []
    member.advance()
    assert len(member.link.asked) == 1


def test_a_listener_that_fails_at_the_end_keeps_nobody_in_the_group() -> None:
    member = Member(RangeAssignor())
    member.advance()
    member.be_given(1, T0)
    member.advance()
    member.rebalance.listener = Refusing()
    with pytest.raises(ValueError, match="cannot be given up"):
        member.rebalance.leave("test")
    assert len(member.link.asked) == 1


def test_a_commit_that_outlived_its_rebalance_does_not_stand_for_that_of_the_next() -> None:
    member = Member(RangeAssignor(), replace(SETTINGS, auto_commit_interval_ms=1000))
    member.advance()
    member.be_given(1, T0)
    member.advance()
    member.rebalance._membership.request_rejoin("test")
    member.advance()
    member.rebalance.leave("test")
    member.subscriptions.unsubscribe()
    member.subscriptions.subscribe(["t"])
    member.link.asked.clear()
    member.advance()
    (late,) = member.commits.callbacks
    late({}, None)
    member.be_given(2, T0)
    member.advance()
    member.rebalance._membership.request_rejoin("test")
    member.advance()
    assert len(member.commits.callbacks) == 2
    assert member.link.asked == [], "the join waits for the commit"


@pytest.mark.parametrize("is_synced", [False, True])
def test_a_commit_whose_outcome_comes_after_its_rebalance_does_not_stand_for_that_of_the_next(is_synced: bool) -> None:
    member = Member(RangeAssignor(), replace(SETTINGS, auto_commit_interval_ms=1000))
    member.advance()
    member.be_given(1, T0)
    member.advance()
    member.rebalance._membership.request_rejoin("test")
    member.advance()
    (late,) = member.commits.callbacks
    # The old coordinator hangs; the new one does not know the member.
    member.rebalance._on_beat(member.rebalance._membership.identity, ErrorCode.UNKNOWN_MEMBER_ID)
    member.advance()
    if not is_synced:
        late({}, TimeoutException("the old coordinator"))
    member.be_given(2, T0)
    member.advance()
    if is_synced:
        late({}, TimeoutException("the old coordinator"))
    member.rebalance._membership.request_rejoin("test")
    member.advance()
    assert len(member.commits.callbacks) == 2
    assert member.link.asked == [], "the join waits for the commit"


class Network:
    def __init__(self) -> None:
        self.disconnected: list[int] = []
        self.sent: list[str] = []

    def wakeup(self) -> None: ...

    def disconnect(self, node_id: int) -> None:
        self.disconnected.append(node_id)

    def least_loaded_node(self) -> int:
        return 1

    def send(self, node_id: int, request: Any, *_: Any, **__: Any) -> None:
        self.sent.append(request.name)


def test_a_coordinator_that_is_silent_for_a_session_is_left_with_its_connection() -> None:
    network, clock = Network(), SimClock()
    link = CoordinatorLink(cast(Any, network), SETTINGS, clock, lambda: None)
    link.coordinator = Node(77, Address("127.0.0.1", 1))
    link.beat_as(Identity(1, "me", "range"))
    clock.advance(SETTINGS.heartbeat_interval_ms)
    link._beat(clock.monotonic_ms())
    clock.advance(SETTINGS.session_timeout_ms)
    link._beat(clock.monotonic_ms())
    assert network.disconnected == [77]
    assert (link.coordinator, len(network.sent)) == (None, 2), "a heartbeat, then who it is now"


def test_what_an_attempt_brings_that_was_given_up_changes_nothing() -> None:
    member = Member(RangeAssignor())
    member.advance()
    ((_, late),) = member.link.asked
    member.link.asked.clear()
    member.rebalance.leave("test")
    member.advance()
    member.be_given(2, T0)
    member.advance()
    late(JoinGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
    assert member.link.beats_as == Identity(2, "me", "range"), "the heart goes on"
    assert (member.subscriptions.assigned, member.rebalance.is_settled) == ([T0], True)


class Failing(RangeAssignor):
    def assign(self, *_: Any) -> Any:
        raise ValueError("cannot share out")


def test_a_leader_whose_assignor_fails_says_so_and_joins_again() -> None:
    member = Member(Failing())
    subscription = encode_subscription(["t"], None, [], -1, None)
    leads = JoinGroupResponse(
        generation_id=1, member_id="me", leader="me", protocol_name="range",
        members=[JoinGroupResponseMember(member_id="me", metadata=subscription)],
    )  # fmt: skip
    member.advance()
    member.metadata.update(member.metadata.next_question(), TOPIC, 1)
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot share out"):
            member.link.answer("JoinGroupRequest", leads)
        member.clock.advance(1)
        member.advance()


class Losing(ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.lost: list[TopicPartition] = []

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.lost += partitions


@pytest.mark.parametrize("step", ["join", "heartbeat"])
def test_a_cooperative_member_that_is_forgotten_while_it_joins_reads_nothing_on(step: str) -> None:
    """What it had is another's by now."""
    member = Member(CooperativeStickyAssignor())
    member.rebalance.listener = listener = Losing()
    member.advance()
    member.be_given(1, T0)
    member.advance()
    member.rebalance._membership.request_rejoin("test")
    member.advance()
    if step == "join":
        member.link.answer("JoinGroupRequest", JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    else:
        member.link.answer("JoinGroupRequest", JoinGroupResponse(generation_id=2, member_id="me", leader="other"))
        member.link.asked.clear()
        member.rebalance._on_beat(member.rebalance._membership.identity, ErrorCode.UNKNOWN_MEMBER_ID)
    member.advance()
    assert (listener.lost, member.subscriptions.assigned) == ([T0], [])
    assert [name for name, _ in member.link.asked] == ["JoinGroupRequest"]


@pytest.mark.parametrize("assignor", [RangeAssignor, CooperativeStickyAssignor])
@pytest.mark.parametrize("step", ["join", "sync", "heartbeat"])
def test_a_static_member_whose_name_another_took_reads_nothing_on(step: str, assignor: type[Assignor]) -> None:
    member = Member(assignor(), replace(SETTINGS, group_instance_id="static"))
    member.rebalance.listener = listener = Losing()
    member.advance()
    member.be_given(1, T0)
    member.advance()
    if step == "heartbeat":
        member.rebalance._on_beat(member.rebalance._membership.identity, ErrorCode.FENCED_INSTANCE_ID)
    else:
        member.rebalance._membership.request_rejoin("test")
        member.advance()
        fenced = ErrorCode.FENCED_INSTANCE_ID
        if step == "join":
            member.link.answer("JoinGroupRequest", JoinGroupResponse(error_code=fenced))
        else:
            member.link.answer("JoinGroupRequest", JoinGroupResponse(generation_id=2, member_id="me", leader="other"))
            member.link.answer("SyncGroupRequest", SyncGroupResponse(error_code=fenced))
        member.clock.advance(1)
    with pytest.raises(FencedInstanceId):
        member.advance()
    member.advance()
    is_eager = assignor is RangeAssignor
    given_up = [] if is_eager and step != "heartbeat" else [T0]
    assert (listener.lost, member.subscriptions.assigned) == (given_up, []), "an eager one gave all up to join"
    assert member.rebalance._membership.identity == Identity(-1, "me"), "to join without it would take the name back"
    for _ in range(2):
        member.link.answer("JoinGroupRequest", JoinGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        member.clock.advance(1)
        with pytest.raises(FencedInstanceId):
            member.advance()
        member.advance()


@pytest.mark.parametrize(
    ("code", "beats"), [(ErrorCode.GROUP_AUTHORIZATION_FAILED, 2), (ErrorCode.FENCED_INSTANCE_ID, 1)]
)
def test_the_heart_goes_on_while_the_member_may_be_in_the_group(code: ErrorCode, beats: int) -> None:
    """Who is refused once, and says nothing any more, would never hear that it was put out of the group."""
    network, clock = Network(), SimClock()
    link = CoordinatorLink(cast(Any, network), SETTINGS, clock, lambda: None)
    link.coordinator = Node(77, Address("127.0.0.1", 1))
    link.beat_as(identity := Identity(1, "me", "range"))
    clock.advance(SETTINGS.heartbeat_interval_ms)
    link._beat(clock.monotonic_ms())
    link._beaten(identity, HeartbeatResponse(error_code=code))
    clock.advance(SETTINGS.heartbeat_interval_ms)
    link._beat(clock.monotonic_ms())
    assert network.sent == ["HeartbeatRequest"] * beats


def to_give_up(member: Member) -> None:
    """Bring it to the last commit of a generation."""
    member.advance()
    member.be_given(1, T0)
    member.advance()
    member.rebalance._membership.request_rejoin("test")
    member.advance()


def test_the_last_commit_is_made_again_where_the_coordinator_moved() -> None:
    member = Member(RangeAssignor(), replace(SETTINGS, auto_commit_interval_ms=1000))
    to_give_up(member)
    member.commits.callbacks.pop()({}, NotCoordinator())
    member.advance()
    assert (member.commits.callbacks, member.link.asked) == ([], []), "not before a pause"
    member.clock.advance(1)
    member.advance()
    member.commits.callbacks.pop()({}, None)
    member.advance()
    assert [name for name, _ in member.link.asked] == ["JoinGroupRequest"]


def test_a_topic_that_was_deleted_keeps_nobody_from_joining() -> None:
    member = Member(RangeAssignor(), replace(SETTINGS, auto_commit_interval_ms=1000))
    to_give_up(member)
    member.commits.callbacks.pop()({}, UnknownTopicOrPartition())
    member.advance()
    assert [name for name, _ in member.link.asked] == ["JoinGroupRequest"]


def test_a_last_commit_that_never_succeeds_keeps_nobody_from_joining() -> None:
    member = Member(RangeAssignor(), replace(SETTINGS, auto_commit_interval_ms=1000))
    to_give_up(member)
    member.clock.advance(SETTINGS.max_poll_interval_ms)
    member.commits.callbacks.pop()({}, NotCoordinator())
    member.advance()
    assert [name for name, _ in member.link.asked] == ["JoinGroupRequest"]


def test_who_reads_a_pattern_joins_when_its_topics_are_known() -> None:
    member = Member(RangeAssignor())
    member.subscriptions.unsubscribe()
    member.subscriptions.subscribe_to(re.compile("t.*"))
    member.rebalance.want_topics()
    member.rebalance.match_after = member.metadata.request_update()
    member.advance()
    assert (member.link.asked, member.rebalance.next_due_ms) == ([], None)
    member.metadata.update(member.metadata.next_question(), TOPIC, 1)
    member.advance()
    assert [name for name, _ in member.link.asked] == ["JoinGroupRequest"]
    assert member.rebalance._joined_topics == {"t"}


def lead(member: Member, *topics_of_members: str, skip_assignment: bool = False) -> None:
    """Answer its JoinGroup: it leads; the first topics are its own. Those of a member are parted by spaces."""
    members = [
        JoinGroupResponseMember(
            member_id=f"member{index}" if index else "me",
            metadata=encode_subscription(topics.split(), None, [], -1, None),
        )
        for index, topics in enumerate(topics_of_members)
    ]
    leads = JoinGroupResponse(
        generation_id=1, member_id="me", leader="me", protocol_name="range", members=members,
        skip_assignment=skip_assignment,
    )  # fmt: skip
    member.link.answer("JoinGroupRequest", leads)


def test_a_leader_that_reads_a_pattern_does_not_wait_for_a_topic_that_was_deleted() -> None:
    """Another member joined before it heard of that; an answer about all topics does not name the topic."""
    member = Member(RangeAssignor())
    member.subscriptions.unsubscribe()
    member.subscriptions.subscribe_to(re.compile("t.*"))
    member.rebalance.want_topics()
    member.metadata.update(member.metadata.next_question(), TOPIC, 1)
    member.advance()
    lead(member, "t", "t t-deleted")
    assert member.link.asked == [], "a topic that is not known yet may be a new one"
    assert member.metadata.ms_until_update(now_ms=2) == 0
    member.metadata.update(member.metadata.next_question(), TOPIC, 2)
    member.advance()
    assert [name for name, _ in member.link.asked] == ["SyncGroupRequest"]


def with_partitions(topic: str, count: int) -> MetadataResponseTopic:
    partitions = [MetadataResponsePartition(partition_index=number, leader_id=1) for number in range(count)]
    return MetadataResponseTopic(name=topic, partitions=partitions)


@pytest.mark.parametrize("grown", ["t", "of-another"])
def test_a_static_leader_that_came_back_notices_that_a_topic_grows(grown: str) -> None:
    """The coordinator has it share nothing out: what it leads, it learns from the members' subscriptions."""
    counts = {"t": 1, "of-another": 1}
    member = Member(RangeAssignor(), replace(SETTINGS, group_instance_id="static"))
    member.metadata.update(member.metadata.next_question(), TOPIC, 1)
    member.advance()
    lead(member, "t", "of-another", skip_assignment=True)
    member.link.answer("SyncGroupRequest", SyncGroupResponse(assignment=encode_assignment([T0])))
    for now_ms in (2, 3):
        member.advance()
        assert member.link.asked == [], "all keep what they have"
        topics = [with_partitions(topic, count) for topic, count in counts.items()]
        question = member.metadata.next_question()
        assert set(question.topics or ()) == set(counts)
        member.metadata.update(question, MetadataResponse(brokers=TOPIC.brokers, topics=topics), now_ms)
        member.advance()
        counts[grown] += 1
    assert [name for name, _ in member.link.asked] == ["JoinGroupRequest"]
