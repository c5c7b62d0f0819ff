"""A range read from a scripted leader, at the caller's pace."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID

import pytest

from kafka_zk.client.range_reading.errors import TopicReplaced
from kafka_zk.client.range_reading.range_reader import RangeReader
from kafka_zk.clock import SystemClock
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from tests.unit.client.range_reading.given import data
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

FETCH, METADATA = 1, 3
VERSIONS = {FETCH: (4, 12), METADATA: (0, 12), API_VERSIONS_KEY: (0, 4)}
END = 15
PATIENCE_S = 20


class SkippingClock(SystemClock):
    """The machine's, and whatever a test adds."""

    skipped_ms = 0

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self.skipped_ms


def test_a_caller_may_take_its_time() -> None:
    clock = SkippingClock()
    may_answer = {offset: threading.Event() for offset in range(0, END, 5)}
    may_answer[0].set()

    def fetch(request: Any, version: int) -> FetchResponse:
        (asked,) = request.topics[0].partitions
        may_answer[asked.fetch_offset].wait(PATIENCE_S)
        records = data(asked.fetch_offset, 5)
        found = PartitionData(partition_index=0, high_watermark=END, records=records)  # type: ignore[arg-type]
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[found])])

    with ScriptedBroker({FETCH: fetch}, versions=VERSIONS) as broker:
        leader = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=0)
        topic = MetadataResponseTopic(name="t", partitions=[leader])
        node = MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)
        broker.handlers[METADATA] = lambda *_: MetadataResponse(brokers=[node], controller_id=1, topics=[topic])
        seen = []
        with RangeReader({"bootstrap.servers": broker.bootstrap}, clock=clock) as reader:
            for batch in reader.read(TopicPartition("t", 0), 0, END):
                offset = batch.header.base_offset
                seen.append(offset)
                # The answer to the next fetch is on its way all this time.
                clock.skipped_ms += 10 * 60_000
                may_answer.get(offset + 5, threading.Event()).set()
    assert seen == [0, 5, 10]


@pytest.mark.parametrize(("topic_id", "version"), [(NULL_UUID, 12), (UUID(int=7), 16)])
def test_a_topic_without_an_id_is_fetched_by_its_name(topic_id: UUID, version: int) -> None:
    def fetch(request: Any, version: int) -> FetchResponse:
        (asked,) = request.topics
        assert (asked.topic_id, asked.topic) == ((topic_id, "") if version >= 13 else (NULL_UUID, "t"))
        found = PartitionData(partition_index=0, high_watermark=5, records=data(0, 5))  # type: ignore[arg-type]
        answered = FetchableTopicResponse(topic=asked.topic, topic_id=asked.topic_id, partitions=[found])
        return FetchResponse(responses=[answered])

    with ScriptedBroker({FETCH: fetch}, versions={**VERSIONS, FETCH: (4, 16)}) as broker:
        leader = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=0)
        topic = MetadataResponseTopic(name="t", topic_id=topic_id, partitions=[leader])
        node = MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)
        broker.handlers[METADATA] = lambda *_: MetadataResponse(brokers=[node], controller_id=1, topics=[topic])
        with RangeReader({"bootstrap.servers": broker.bootstrap}) as reader:
            assert [batch.header.base_offset for batch in reader.read(TopicPartition("t", 0), 0, 5)] == [0]
        assert (FETCH, version) in broker.seen


def test_a_topic_that_was_made_anew_is_not_read_in_the_place_of_the_old_one() -> None:
    ids = [UUID(int=8)]

    def metadata(*_: object) -> MetadataResponse:
        leader = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=0)
        topic = MetadataResponseTopic(name="t", topic_id=ids[-1], partitions=[leader])
        node = MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)
        return MetadataResponse(brokers=[node], controller_id=1, topics=[topic])

    def fetch(request: Any, version: int) -> FetchResponse:
        (asked,) = request.topics
        (wanted,) = asked.partitions
        found = PartitionData(partition_index=0, high_watermark=END, records=data(wanted.fetch_offset, 5))  # type: ignore[arg-type]
        if wanted.fetch_offset == 5:
            # The old topic's records are gone with it.
            ids.append(UUID(int=9))
            found = PartitionData(partition_index=0, error_code=int(ErrorCode.UNKNOWN_TOPIC_ID))
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=asked.topic_id, partitions=[found])])

    with ScriptedBroker({FETCH: fetch}, versions={**VERSIONS, FETCH: (4, 16)}) as broker:
        broker.handlers[METADATA] = metadata
        seen = []
        told = "the planned offsets 5 to 14 of partition t-0 are gone"
        with RangeReader({"bootstrap.servers": broker.bootstrap}) as reader:
            found = reader.read(TopicPartition("t", 0), 0, END, UUID(int=8))
            seen.append(next(found).header.base_offset)
            with pytest.raises(TopicReplaced, match=told):
                next(found)
    assert seen == [0]
