"""Calls that end in the middle, by Ctrl-C, a gevent.Timeout or what the program raises: nothing is skipped or lost."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import gevent
import pytest

from kafka_zk.client.consumer.assignors.range import RangeAssignor
from kafka_zk.client.consumer.errors import WakeupException
from kafka_zk.client.consumer.group import rebalance
from kafka_zk.client.consumer.group.commits import Commits
from kafka_zk.client.consumer.group.membership import Identity, Membership, MemberState
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.listener import ConsumerInterceptor
from kafka_zk.client.consumer.records import ConsumerRecords, OffsetAndMetadata
from kafka_zk.client.consumer.subscription_state import ResetStrategy, SubscriptionState
from kafka_zk.clock import SimClock
from kafka_zk.protocol.messages.offset_commit import OffsetCommitResponse
from kafka_zk.protocol.types import TopicPartition
from tests.support.our_consumer import poll_until, read, settings
from tests.unit.client.consumer.test_answers_of_brokers import T0, Log, reader
from tests.unit.client.consumer.test_leaving import Group, group
from tests.unit.client.consumer.test_rebalance import SETTINGS, Link, Member

__all__ = ["group"]


@pytest.fixture
def log() -> Iterator[Log]:
    made = Log()
    with made.broker:
        yield made


class Interrupting(ConsumerInterceptor):
    """Ends the first call with what it is given."""

    def __init__(self, end: BaseException) -> None:
        self.ends = [end]

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        if self.ends:
            raise self.ends.pop()
        return records


def ending_at(value: bytes, ends: list[BaseException]) -> Callable[[bytes], bytes]:
    def deserialize(data: bytes) -> bytes:
        if data == value and ends:
            raise ends.pop()
        return data

    return deserialize


def interrupt_while_sending(consumer: KafkaConsumer) -> None:
    """Have Ctrl-C come when records are collected and the next fetch is about to leave."""
    poll, fetcher = consumer._parts.network.poll, consumer._parts.fetcher

    def interrupted(timeout_s: float) -> None:
        if fetcher._left:
            consumer._parts.network.poll = poll  # type: ignore[method-assign]
            raise KeyboardInterrupt
        poll(timeout_s)

    consumer._parts.network.poll = interrupted  # type: ignore[method-assign]


@pytest.mark.parametrize("where", ["deserializer", "interceptor", "network"])
def test_a_poll_that_is_interrupted_skips_no_record(log: Log, where: str) -> None:
    end: BaseException = gevent.Timeout(1) if where == "interceptor" else KeyboardInterrupt()
    more: dict[str, object] = {}
    if where == "deserializer":
        more["value_deserializer"] = ending_at(b"3", [end])
    elif where == "interceptor":
        more["interceptor_classes"] = [Interrupting(end)]
    with reader(log, **more) as consumer:
        consumer.seek(T0, 1)
        if where == "network":
            interrupt_while_sending(consumer)
        with pytest.raises(type(end)):
            poll_until([consumer], lambda: False)
        assert consumer.position(T0) == 1
        assert [record.offset for record in read(consumer, 19)] == list(range(1, 20))


def test_what_ends_a_later_poll_gives_nothing_out_twice(log: Log) -> None:
    with reader(log) as consumer:
        consumer.seek(T0, 0)
        count = len(read(consumer, 1))
        consumer.wakeup()
        with pytest.raises(WakeupException):
            consumer.poll()
        assert consumer.position(T0) == count


def test_an_interceptor_that_ends_the_call_costs_no_callback() -> None:
    link, membership, subscriptions = Link(), Membership(), SubscriptionState(ResetStrategy.EARLIEST)
    subscriptions.subscribe(["t"])
    membership.identity, membership.state = Identity(1, "me"), MemberState.STABLE
    commits = Commits(cast(Any, link), membership, subscriptions, SETTINGS, SimClock())

    def interrupted(_: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        raise gevent.Timeout(1)

    commits.on_committed = interrupted
    errors: list[Exception | None] = []
    commits.commit({T0: OffsetAndMetadata(5)}, lambda _, error: errors.append(error))
    with pytest.raises(gevent.Timeout):
        link.answer("OffsetCommitRequest", OffsetCommitResponse())
    commits.run_callbacks()
    assert (errors, commits.is_idle) == ([None], True)


def test_a_close_that_is_interrupted_leaves_no_socket_open(log: Log) -> None:
    consumer = reader(log, group_id="g")
    consumer.seek(T0, 0)
    read(consumer, 1)
    link = consumer._member.link

    def interrupted() -> None:
        raise KeyboardInterrupt

    close, link.close = link.close, interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        consumer.close()
    close()
    assert consumer._parts.network._is_closed


def polled_to_its_position(consumer: KafkaConsumer) -> int:
    """How many calls were interrupted until the member of a group knew where to read."""
    interrupted = 0
    for _ in range(200):
        try:
            # The position may be what waits for the answer that Ctrl-C takes away.
            if consumer.assignment() == {T0} and consumer.position(T0):
                return interrupted
            consumer.poll(0.02)
        except KeyboardInterrupt:
            interrupted += 1
    raise AssertionError(f"it reads nothing any more: {consumer._member.membership}")


@pytest.mark.parametrize("line", ["(Re-)joining", "Successfully joined", "Notifying assignor", "Adding newly assigned"])
def test_a_rebalance_that_is_interrupted_between_two_steps_is_begun_anew(
    group: Group, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[BaseException] = [KeyboardInterrupt()]
    info = rebalance.log.info

    def interrupted(text: str, *values: object) -> None:
        if text.startswith(line) and ends:
            raise ends.pop()
        info(text, *values)

    monkeypatch.setattr(rebalance.log, "info", interrupted)
    with KafkaConsumer(settings(group.broker.bootstrap, group_id="g")) as consumer:
        consumer.subscribe(["t"])
        assert polled_to_its_position(consumer) == 1


class Cut(deque[Callable[[], None]]):
    """Of what is taken out, the one of this number gets lost: Ctrl-C comes before it is called."""

    def __init__(self, number: int) -> None:
        self.left = number

    def popleft(self) -> Callable[[], None]:
        found = super().popleft()
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return found


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_the_coordinator_answered_before_ctrl_c_is_asked_again(group: Group, number: int) -> None:
    """The answers are those to JoinGroup, SyncGroup and OffsetFetch."""
    with KafkaConsumer(settings(group.broker.bootstrap, group_id="g")) as consumer:
        consumer._member.link._outcomes = Cut(number)
        consumer.subscribe(["t"])
        assert polled_to_its_position(consumer) == 1


def test_a_last_commit_whose_outcome_is_lost_keeps_nobody_from_joining() -> None:
    one = Member(RangeAssignor(), replace(SETTINGS, auto_commit_interval_ms=1000))
    one.advance()
    one.be_given(1, T0)
    one.advance()
    one.rebalance._membership.request_rejoin("test")
    one.advance()
    one.rebalance.abandoned()
    one.advance()
    lost, commit = one.commits.callbacks
    lost({}, None)
    one.advance()
    assert not one.link.asked
    commit({}, None)
    one.advance()
    assert [name for name, _ in one.link.asked] == ["JoinGroupRequest"]


def test_what_a_commit_callback_raises_ends_no_step_of_a_rebalance(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(*_: object) -> None:
        raise ValueError("the program's")

    abandoned: list[int] = []
    with KafkaConsumer(settings(group.broker.bootstrap, group_id="g")) as consumer:
        consumer.subscribe(["t"])
        poll_until([consumer], lambda: consumer.assignment() == {T0})
        monkeypatch.setattr(consumer._member.rebalance, "abandoned", lambda: abandoned.append(1))
        consumer.commit_async({T0: OffsetAndMetadata(0)}, raising)
        with pytest.raises(ValueError, match="the program's"):
            poll_until([consumer], lambda: False)
    assert not abandoned


def test_ctrl_c_while_the_links_thread_begins_begins_no_second_one(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that begins is waited for."""
    start, began = threading.Thread.start, list[threading.Thread]()

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "kafka-coordinator-heartbeat-thread":
            began.append(thread)
            if len(began) == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with KafkaConsumer(settings(group.broker.bootstrap, group_id="g")) as consumer:
        consumer.subscribe(["t"])
        assert polled_to_its_position(consumer) == 1
    assert len(began) == 1
    assert not began[0].is_alive(), "the close waits for it"


def test_a_commit_that_is_sent_when_ctrl_c_comes_is_waited_for_until_it_is_answered(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KafkaConsumer(settings(group.broker.bootstrap, group_id="g")) as consumer:
        consumer.assign([T0])
        commits, link = consumer._member.commits, consumer._member.link
        ask, ends = link.ask, [KeyboardInterrupt()]

        def interrupted(*given: Any, **more: Any) -> None:
            ask(*given, **more)
            if ends:
                raise ends.pop()

        monkeypatch.setattr(link, "ask", interrupted)
        with pytest.raises(KeyboardInterrupt):
            consumer.commit_async({T0: OffsetAndMetadata(6)})
        assert not commits.is_idle
        poll_until([consumer], lambda: bool(group.heard))
        consumer.commit_sync({T0: OffsetAndMetadata(7)})
        assert commits.is_idle
