"""What ends a call or a callback of a producer in the middle: every record still has its outcome, nobody waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import gevent
import pytest

from kafka_zk.client.errors import IllegalStateException
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot
from kafka_zk.client.network.metadata import ClusterMetadata
from kafka_zk.client.producer.futures import RecordFuture, RecordMetadata
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, ErrorCode, TopicAuthorizationFailed
from kafka_zk.protocol.messages.init_producer_id import InitProducerIdResponse
from tests.support.processes import wait_until
from tests.unit.client.producer.conftest import INIT_PRODUCER_ID_KEY, PATIENCE_S, Produce, TakingBroker


@pytest.mark.parametrize("end", [SystemExit(), gevent.Timeout(1)], ids=["SystemExit", "gevent.Timeout"])
def test_a_callback_that_ends_its_thread_keeps_no_record_from_its_outcome(
    broker: TakingBroker, produce: Produce, end: BaseException
) -> None:
    def callback(*_: object) -> None:
        raise end

    producer = produce(broker)
    futures = [producer.send("t", b"1", callback=callback), producer.send("t", b"2")]
    producer.flush(PATIENCE_S)
    futures.append(producer.send("t", b"3"))
    assert [future.result(PATIENCE_S).offset for future in futures] == [0, 1, 2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_where_the_thread_ends_no_record_is_waited_for(
    broker: TakingBroker, produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed() -> None:
        raise SystemExit

    broker.may_answer.clear()
    producer = produce(broker)
    future = producer.send("t", b"1")
    broker.asked.acquire(timeout=PATIENCE_S)
    monkeypatch.setattr(producer._sender, "run_once", killed)
    producer._client.wakeup()
    assert str(future.exception(PATIENCE_S)) == "Producer is closed forcefully."
    producer.flush(PATIENCE_S)
    with pytest.raises(IllegalStateException):
        producer.send("t", b"2")


def test_what_a_callback_sends_of_a_producer_that_is_refused_is_refused_at_once(
    broker: TakingBroker, produce: Produce, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread is awake while it calls, so nobody wakes it for the new record: it must not sleep for long."""
    refused = InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    broker.handlers[INIT_PRODUCER_ID_KEY] = lambda *_: refused
    again: list[RecordFuture] = []
    producer = produce(broker)
    assert isinstance(producer.send("t", b"1").exception(PATIENCE_S), ClusterAuthorizationFailed)
    sleeps_s: list[float] = []
    poll = producer._client.poll

    def poll_and_note(timeout_s: float) -> None:
        if producer._accumulator.incomplete:
            sleeps_s.append(timeout_s)
        poll(timeout_s)

    def send_again(*_: object) -> None:
        again.append(producer.send("t", b"3"))

    monkeypatch.setattr(producer._client, "poll", poll_and_note)
    second = producer.send("t", b"2", callback=send_again)
    assert isinstance(second.exception(PATIENCE_S), ClusterAuthorizationFailed)
    (third,) = again
    assert isinstance(third.exception(PATIENCE_S), ClusterAuthorizationFailed)
    assert sleeps_s and max(sleeps_s) < 1


class Counting:
    def __init__(self) -> None:
        self.errors: list[Exception | None] = []

    def on_acknowledgement(self, metadata: RecordMetadata, error: Exception | None) -> None:
        self.errors.append(error)


@pytest.mark.parametrize("part", ["value.serializer", "partitioner.class"])
def test_interceptors_hear_of_a_record_that_a_part_of_the_program_refused(
    broker: TakingBroker, produce: Produce, part: str
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("not this one")

    class Refusing:
        partition = staticmethod(refuse)

    heard = Counting()
    given: object = refuse if part == "value.serializer" else Refusing()
    producer = produce(broker, **{part: given}, interceptor_classes=[heard])
    with pytest.raises(RuntimeError, match="not this one"):
        producer.send("t", b"1")
    assert [str(error) for error in heard.errors] == ["not this one"]


def test_a_topic_that_was_denied_is_asked_for_again(broker: TakingBroker, produce: Produce) -> None:
    broker.topic_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    producer = produce(broker)
    assert isinstance(producer.send("t", b"1").exception(0), TopicAuthorizationFailed)
    broker.topic_error = ErrorCode.NONE
    assert producer.send("t", b"1").result(PATIENCE_S).offset == 0


class Answered:
    """Metadata whose question about a new topic is answered before who named it goes on."""

    def __init__(self, metadata: ClusterMetadata, wakeup: Callable[[], None], broker: TakingBroker) -> None:
        self._metadata = metadata
        self._wakeup = wakeup
        self._broker = broker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metadata, name)

    def add_topic(self, topic: str, now_ms: int) -> bool:
        is_new = self._metadata.add_topic(topic, now_ms)
        self._wakeup()
        wait_until(lambda: topic in self._metadata.snapshot.topic_errors, "the topic is refused")
        # Who waits for a later answer hears another one.
        self._broker.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return is_new


def test_a_refusal_that_comes_before_anybody_waits_for_it_is_told(broker: TakingBroker, produce: Produce) -> None:
    broker.topic_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    producer = produce(broker, max_block_ms=1000)
    producer._metadata = cast(Any, Answered(producer._metadata, producer._client.wakeup, broker))
    assert isinstance(producer.send("t", b"1").exception(0), TopicAuthorizationFailed)


class Going:
    """Metadata in which every topic is gone as soon as somebody has looked."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata
        self._snapshots = [metadata.snapshot]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metadata, name)

    @property
    def snapshot(self) -> ClusterSnapshot:
        return self._snapshots.pop() if self._snapshots else ClusterSnapshot({})


def test_partitions_are_told_though_the_topic_goes_at_that_moment(broker: TakingBroker, produce: Produce) -> None:
    producer = produce(broker)
    producer.partitions_for("t")
    producer._metadata = cast(Any, Going(producer._metadata))
    assert [each.partition for each in producer.partitions_for("t")] == [0]
