"""What a whole consumer makes of rare answers: logs that were cut off, leaders that moved, sessions that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_zk.client.consumer.errors import LogTruncation
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.protocol.errors import ErrorCode, TopicAuthorizationFailed, UnknownServerError
from kafka_zk.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.builder import build_batch
from kafka_zk.record.types import Record
from tests.support.our_consumer import poll_until, read, settings
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

FETCH, METADATA, OFFSET_FOR_LEADER_EPOCH = 1, 3, 23
FIND_COORDINATOR = 10
VERSIONS = {
    FETCH: (4, 12),
    METADATA: (0, 12),
    API_VERSIONS_KEY: (0, 4),
    OFFSET_FOR_LEADER_EPOCH: (0, 4),
    FIND_COORDINATOR: (0, 0),
}
T0 = TopicPartition("t", 0)


class Log:
    """One partition of one broker: records up to an offset, and whatever else a test wants to be said."""

    def __init__(self) -> None:
        self.broker = ScriptedBroker({}, versions=VERSIONS)
        self.broker.handlers = {
            METADATA: self.metadata,
            FETCH: self.fetch,
            OFFSET_FOR_LEADER_EPOCH: self.epoch_end,
        }
        self.leader_epoch = 5
        self.end_offset = 20
        self.ends: dict[int, tuple[int, int]] = {}
        self.fetch_errors: list[ErrorCode] = []
        self.topic_error = ErrorCode.NONE
        self.preferred_replicas: list[int] = []
        self.fetched: list[tuple[int, int]] = []
        self.asked: Any = None

    def metadata(self, request: Any, version: int) -> MetadataResponse:
        partition = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=self.leader_epoch)
        topic = MetadataResponseTopic(name="t", error_code=self.topic_error, partitions=[partition])
        if self.topic_error != ErrorCode.NONE:
            topic.partitions = []
        node = MetadataResponseBroker(node_id=1, host=self.broker.host, port=self.broker.port)
        return MetadataResponse(brokers=[node], controller_id=1, topics=[topic])

    def fetch(self, request: Any, version: int) -> FetchResponse:
        if self.fetch_errors and (error := self.fetch_errors.pop(0)) in (
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ):
            return FetchResponse(error_code=error)
        error = ErrorCode.NONE
        if request.topics:
            (self.asked,) = request.topics[0].partitions
        # An incremental fetch that names nothing asks for the same once more.
        asked = self.asked
        if asked.current_leader_epoch != self.leader_epoch:
            fenced = PartitionData(partition_index=0, error_code=ErrorCode.FENCED_LEADER_EPOCH)
            return FetchResponse(session_id=9, responses=[FetchableTopicResponse(topic="t", partitions=[fenced])])
        self.fetched.append((request.session_epoch, asked.fetch_offset))
        if self.preferred_replicas:
            other = PartitionData(partition_index=0, preferred_read_replica=self.preferred_replicas.pop(), records=b"")
            return FetchResponse(session_id=9, responses=[FetchableTopicResponse(topic="t", partitions=[other])])
        offsets = range(asked.fetch_offset, min(asked.fetch_offset + 5, self.end_offset))
        records = b""
        if offsets:
            made = [Record(offset, 1, None, b"%d" % offset) for offset in offsets]
            records = bytes(build_batch(made, base_offset=offsets[0], leader_epoch=self.leader_epoch))
        data = PartitionData(partition_index=0, high_watermark=self.end_offset, records=records)  # type: ignore[arg-type]
        return FetchResponse(session_id=9, responses=[FetchableTopicResponse(topic="t", partitions=[data])])

    def epoch_end(self, request: Any, version: int) -> OffsetForLeaderEpochResponse:
        (asked,) = request.topics[0].partitions
        leader_epoch, end_offset = self.ends[asked.leader_epoch]
        end = EpochEndOffset(partition=0, leader_epoch=leader_epoch, end_offset=end_offset)
        return OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic="t", partitions=[end])])


@pytest.fixture
def log() -> Iterator[Log]:
    made = Log()
    with made.broker:
        yield made


def reader(log: Log, **more: object) -> KafkaConsumer:
    consumer = KafkaConsumer(settings(log.broker.bootstrap, **more))
    consumer.assign([T0])
    return consumer


def test_a_position_whose_epoch_ended_before_it_goes_back_to_where_the_logs_part(log: Log) -> None:
    log.ends[4] = (4, 7)
    with reader(log) as consumer:
        consumer.seek(T0, OffsetAndMetadata(10, "", 4))
        assert [record.offset for record in read(consumer, 3)][:3] == [7, 8, 9]


def test_a_position_in_doubt_is_told_when_its_leader_was_asked(log: Log) -> None:
    log.ends[4] = (4, 7)
    with reader(log) as consumer:
        consumer.seek(T0, OffsetAndMetadata(10, "", 4))
        assert consumer.position(T0) == 7


def test_without_a_policy_the_program_is_told_where_the_logs_part(log: Log) -> None:
    log.ends[4] = (4, 7)
    with reader(log, auto_offset_reset="none") as consumer:
        consumer.seek(T0, OffsetAndMetadata(10, "", 4))
        with pytest.raises(LogTruncation) as told:
            poll_until([consumer], lambda: False)
        assert (told.value.offsets, told.value.diverging) == ({T0: 10}, {T0: 7})
        assert log.fetched == []
        consumer.seek(T0, 7)
        assert read(consumer, 1)[0].offset == 7


def test_a_leader_that_changed_is_asked_before_it_is_read_from(log: Log) -> None:
    log.end_offset = 5
    with reader(log, metadata_max_age_ms=50) as consumer:
        consumer.seek(T0, 0)
        read(consumer, 5)
        log.ends[5] = (5, 3)
        log.leader_epoch, log.end_offset = 6, 6
        assert [record.offset for record in read(consumer, 3)] == [3, 4, 5]


def test_a_session_that_the_broker_forgot_is_opened_again(log: Log) -> None:
    log.fetch_errors = [ErrorCode.NONE, ErrorCode.FETCH_SESSION_ID_NOT_FOUND]
    with reader(log) as consumer:
        consumer.seek(T0, 0)
        assert [record.offset for record in read(consumer, 20)] == list(range(20))
    assert [epoch for epoch, _ in log.fetched][:2] == [0, 0]


def test_a_topic_that_may_not_be_read_is_named(log: Log) -> None:
    log.topic_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with (
        reader(log) as consumer,
        pytest.raises(TopicAuthorizationFailed, match=r"Not authorized to access topics: \[t\]"),
    ):
        poll_until([consumer], lambda: False)


NEWER_THAN_US = 9999
"""An error code of a Kafka to come."""


def test_a_code_that_nobody_knows_is_told_to_the_program_and_the_group_is_asked_again(log: Log) -> None:
    answers = [FindCoordinatorResponse(error_code=NEWER_THAN_US)]
    lost = FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    log.broker.handlers[FIND_COORDINATOR] = lambda *_: answers.pop() if answers else lost
    with KafkaConsumer(settings(log.broker.bootstrap, group_id="g")) as consumer:
        consumer.subscribe(["t"])
        with pytest.raises(UnknownServerError):
            poll_until([consumer], lambda: False)
        asked = log.broker.seen.count((FIND_COORDINATOR, 0))
        poll_until([consumer], lambda: log.broker.seen.count((FIND_COORDINATOR, 0)) > asked + 1)
