"""Topics that may not be read: the program is told, the others are read on, and it ends when it is allowed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.protocol.errors import ErrorCode, InvalidTopicException, TopicAuthorizationFailed
from kafka_zk.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafka_zk.protocol.messages.metadata import MetadataResponseTopic
from kafka_zk.protocol.types import TopicPartition
from tests.support.our_consumer import PATIENCE_S
from tests.unit.client.consumer.test_answers_of_brokers import FETCH, METADATA, T0, Log, reader

U0 = TopicPartition("u", 0)


@pytest.fixture
def log() -> Iterator[Log]:
    made = Log()
    with made.broker:
        yield made


def read_on(consumer: KafkaConsumer, count: int) -> tuple[list[int], int]:
    """Offsets read, and how often the program was told of a topic that it may not read."""
    offsets: list[int] = []
    told = 0
    deadline_s = time.monotonic() + PATIENCE_S
    while len(offsets) < count:
        assert time.monotonic() < deadline_s, f"not in time: {offsets}, told {told} times"
        try:
            offsets += [record.offset for record in consumer.poll(0.1)]
        except TopicAuthorizationFailed:
            told += 1
    return offsets, told


def test_beside_a_topic_that_is_denied_the_others_are_read(log: Log) -> None:
    def metadata(request: Any, version: int) -> Any:
        answer = log.metadata(request, version)
        denied = MetadataResponseTopic(name="u", error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        answer.topics = [*answer.topics, denied]
        return answer

    log.broker.handlers[METADATA] = metadata
    with reader(log) as consumer:
        consumer.assign([T0, U0])
        consumer.seek(T0, 0)
        consumer.seek(U0, 0)
        offsets, told = read_on(consumer, 20)
    assert offsets == list(range(20))
    assert told >= 1


def test_what_is_allowed_later_is_read(log: Log) -> None:
    log.topic_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with reader(log) as consumer:
        consumer.seek(T0, 0)
        with pytest.raises(TopicAuthorizationFailed):
            read_on_until_told(consumer)
        log.topic_error = ErrorCode.NONE
        assert read_on(consumer, 20)[0] == list(range(20))


def read_on_until_told(consumer: KafkaConsumer) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        consumer.poll(1)


def test_one_long_poll_is_told_at_once(log: Log) -> None:
    log.topic_error = ErrorCode.INVALID_TOPIC_EXCEPTION
    with reader(log) as consumer:
        consumer.seek(T0, 0)
        with pytest.raises(InvalidTopicException, match=r"Invalid topics: \[t\]"):
            consumer.poll(PATIENCE_S)


@pytest.mark.parametrize("call", ["position", "beginning_offsets"])
def test_who_asks_for_offsets_is_told_and_does_not_wait(log: Log, call: str) -> None:
    log.topic_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with reader(log) as consumer, pytest.raises(TopicAuthorizationFailed, match=r"topics: \[t\]"):
        if call == "position":
            consumer.position(T0, 20)
        else:
            consumer.unsubscribe()
            consumer.beginning_offsets([T0], 20)


def test_a_topic_whose_records_may_not_be_read_is_named(log: Log) -> None:
    denied = PartitionData(partition_index=0, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    answer = FetchResponse(session_id=9, responses=[FetchableTopicResponse(topic="t", partitions=[denied])])
    log.broker.handlers[FETCH] = lambda *_: answer
    with reader(log) as consumer:
        consumer.seek(T0, 0)
        with pytest.raises(TopicAuthorizationFailed, match=r"^Not authorized to access topics: \[t\]$"):
            read_on_until_told(consumer)
