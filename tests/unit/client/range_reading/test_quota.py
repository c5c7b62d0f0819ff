"""A range is read to its end from a broker that answers nothing while a client is above its quota."""

from __future__ import annotations

from kafka_zk.client.range_reading.range_reader import RangeReader
from kafka_zk.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kafka_zk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.types import TopicPartition
from tests.unit.client.range_reading.given import data
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

FETCH_KEY, METADATA_KEY = 1, 3


def test_an_answer_without_the_partition_is_no_failure() -> None:
    throttled = [True]

    def metadata(request: MetadataRequest, version: int) -> MetadataResponse:
        partition = MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1])
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)],
            topics=[MetadataResponseTopic(name="t", partitions=[partition])],
        )

    def fetch(request: FetchRequest, version: int) -> FetchResponse:
        if throttled and throttled.pop():
            return FetchResponse(throttle_time_ms=1)
        partition = PartitionData(partition_index=0, high_watermark=2, last_stable_offset=2, records=data(0, 2))
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])

    versions = {FETCH_KEY: (4, 12), METADATA_KEY: (0, 9), API_VERSIONS_KEY: (0, 4)}
    with (
        ScriptedBroker({FETCH_KEY: fetch, METADATA_KEY: metadata}, versions=versions) as broker,
        RangeReader({"bootstrap.servers": broker.bootstrap}) as reader,
    ):
        read = [batch.header.last_offset for batch in reader.read(TopicPartition("t", 0), 0, 2)]
    assert read == [1]
    assert not throttled
