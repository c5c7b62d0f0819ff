"""What the admin client asks of the leaders of partitions, and when it asks once more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.offset_listing import OffsetSpec
from kafka_zk.client.errors import TimeoutException
from kafka_zk.protocol.errors import ErrorCode, OffsetOutOfRange, UnknownTopicOrPartition
from kafka_zk.protocol.messages import delete_records as messages
from kafka_zk.protocol.messages import metadata
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, Handler, ScriptedBroker

METADATA, LIST_OFFSETS, DELETE_RECORDS = 3, 2, 21
VERSIONS = {API_VERSIONS_KEY: (0, 4), METADATA: (0, 12), LIST_OFFSETS: (0, 9), DELETE_RECORDS: (0, 2)}
QUICK = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "2"}
T0, T1, NOWHERE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("nowhere", 0)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """A broker that leads two partitions of one topic."""
    with ScriptedBroker({}, versions=VERSIONS) as scripted:

        def describe(request: metadata.MetadataRequest, _: int) -> metadata.MetadataResponse:
            return metadata.MetadataResponse(
                brokers=[metadata.MetadataResponseBroker(node_id=1, host=scripted.host, port=scripted.port)],
                topics=[_topic(topic.name or "") for topic in request.topics or ()],
            )

        scripted.handlers[METADATA] = describe
        yield scripted


def _topic(name: str) -> metadata.MetadataResponseTopic:
    if name != "t":
        return metadata.MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partitions = [metadata.MetadataResponsePartition(partition_index=index, leader_id=1) for index in range(2)]
    return metadata.MetadataResponseTopic(name=name, partitions=partitions)


def admin_of(broker: ScriptedBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap, **QUICK})


def deleting(*rounds: dict[int, ErrorCode]) -> Handler:
    rest = list(rounds)

    def delete(request: messages.DeleteRecordsRequest, _: int) -> messages.DeleteRecordsResponse:
        codes = rest.pop(0)
        partitions = [
            messages.DeleteRecordsPartitionResult(
                partition_index=each.partition_index,
                low_watermark=each.offset,
                error_code=codes.get(each.partition_index, ErrorCode.NONE),
            )
            for each in request.topics[0].partitions
        ]
        return messages.DeleteRecordsResponse(
            topics=[messages.DeleteRecordsTopicResult(name="t", partitions=partitions)]
        )

    return delete


def test_a_partition_that_fails_leaves_the_others_their_answers(broker: ScriptedBroker) -> None:
    broker.handlers[DELETE_RECORDS] = deleting({1: ErrorCode.OFFSET_OUT_OF_RANGE})
    with admin_of(broker) as admin:
        answers = admin.delete_records({T1: 9, T0: 4})
    assert list(answers) == [T1, T0]
    assert answers[T0] == 4
    assert isinstance(answers[T1], OffsetOutOfRange)


def test_a_leader_that_moved_is_looked_up_again_and_asked_for_the_rest(broker: ScriptedBroker) -> None:
    broker.handlers[DELETE_RECORDS] = deleting({1: ErrorCode.NOT_LEADER_OR_FOLLOWER}, {})
    with admin_of(broker) as admin:
        assert admin.delete_records({T0: 4, T1: 9}) == {T0: 4, T1: 9}
    asked = [key for key, _ in broker.seen]
    assert METADATA in asked[asked.index(DELETE_RECORDS) :]
    assert asked.count(DELETE_RECORDS) == 2


def test_a_topic_that_nobody_knows_is_waited_for_where_records_are_deleted(broker: ScriptedBroker) -> None:
    with admin_of(broker) as admin:
        answer = admin.delete_records({NOWHERE: 1}, timeout_ms=20)[NOWHERE]
    assert isinstance(answer, TimeoutException)
    assert "deleteRecords(api=METADATA)" in str(answer)


def test_a_topic_that_nobody_knows_has_no_offsets(broker: ScriptedBroker) -> None:
    with admin_of(broker) as admin:
        answer = admin.list_offsets({NOWHERE: OffsetSpec.LATEST})[NOWHERE]
    assert isinstance(answer, UnknownTopicOrPartition)
    assert str(answer) == (
        "Failed to fetch metadata for partition nowhere-0 because metadata for topic `nowhere` could not be found"
    )
