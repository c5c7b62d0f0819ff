"""Which topics a consumer asks brokers about: asking creates a topic where brokers may, also one that was deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_zk.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from kafka_zk.protocol.types import TopicPartition
from tests.support.our_consumer import PATIENCE_S, poll_until, settings
from tests.unit.client.consumer.test_answers_of_brokers import METADATA, T0, VERSIONS, Log
from tests.unit.client.scripted_broker import ScriptedBroker

LIST_OFFSETS = 2
U0 = TopicPartition("u", 0)


class Topics(Log):
    """The log of `t`; besides every topic that is asked for is there, and ends at offset 7."""

    def __init__(self) -> None:
        super().__init__()
        self.broker.__exit__()
        handlers = {**self.broker.handlers, METADATA: self.topics, LIST_OFFSETS: self.ends_of_topics}
        self.broker = ScriptedBroker(handlers, versions={**VERSIONS, LIST_OFFSETS: (1, 1)})
        self.named: list[list[str]] = []
        self.has_leaders = True

    def topics(self, request: Any, version: int) -> Any:
        answer = super().metadata(request, version)
        names = sorted(topic.name for topic in request.topics)
        self.named.append(names)
        leader_id = 1 if self.has_leaders else -1
        partition = MetadataResponsePartition(partition_index=0, leader_id=leader_id, leader_epoch=self.leader_epoch)
        answer.topics = [MetadataResponseTopic(name=name, partitions=[partition]) for name in names]
        return answer

    def ends_of_topics(self, request: Any, version: int) -> ListOffsetsResponse:
        found = ListOffsetsPartitionResponse(partition_index=0, offset=7)
        topics = [ListOffsetsTopicResponse(name=topic.name, partitions=[found]) for topic in request.topics]
        return ListOffsetsResponse(topics=topics)


@pytest.fixture
def log() -> Iterator[Topics]:
    made = Topics()
    with made.broker:
        yield made


@pytest.fixture
def consumer(log: Topics) -> Iterator[KafkaConsumer]:
    """It asks again every few milliseconds."""
    with KafkaConsumer(settings(log.broker.bootstrap, metadata_max_age_ms=5, retry_backoff_ms=1)) as made:
        yield made


def test_a_topic_whose_end_was_asked_for_is_not_asked_for_again(log: Topics, consumer: KafkaConsumer) -> None:
    consumer.assign([T0])
    assert consumer.end_offsets([U0]) == {U0: 7}
    assert ["t", "u"] in log.named
    log.named.clear()
    consumer.pause([T0])
    poll_until([consumer], lambda: len(log.named) > 2)
    assert log.named[1:] == [["t"]] * (len(log.named) - 1)


def test_a_topic_is_asked_for_as_long_as_somebody_waits_for_its_end(log: Topics, consumer: KafkaConsumer) -> None:
    consumer.assign([T0])
    log.has_leaders = False
    with pytest.raises(TimeoutException):
        consumer.end_offsets([U0], 0.3)
    assert log.named.count(["t", "u"]) > 2
    log.has_leaders = True
    assert consumer.end_offsets([U0]) == {U0: 7}


def test_who_reads_nothing_any_more_asks_for_no_topic(log: Topics, consumer: KafkaConsumer) -> None:
    consumer.assign([T0])
    poll_until([consumer], lambda: ["t"] in log.named)
    consumer.unsubscribe()
    log.named.clear()
    deadline_s = time.monotonic() + PATIENCE_S
    while len(log.named) < 3:
        assert time.monotonic() < deadline_s, log.named
        consumer.end_offsets([U0])
    assert not any("t" in names for names in log.named[1:])
