"""Requests encoded beforehand, size prefix included: a load generator only sends them."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable

from kafka_zk.protocol.header import encode_request_header
from kafka_zk.protocol.messages.fetch import FETCH_REQUEST, FetchPartition, FetchRequest, FetchTopic
from kafka_zk.protocol.messages.produce import (
    PRODUCE_REQUEST,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_zk.record import Record, build_batch

PRODUCE_VERSION = 9
FETCH_VERSION = 12
CLIENT_ID = "bench"


def batch_of(record_count: int, value_bytes: int) -> bytes:
    """One plain batch of records without keys, as a producer sends it."""
    now_ms = time.time_ns() // 1_000_000
    records = [Record(index, now_ms, None, bytes(value_bytes)) for index in range(record_count)]
    return bytes(build_batch(records))


def produce(topic: str, partition: int, batch: bytes) -> bytes:
    """A produce of one batch to one partition with acks=1."""
    return produce_to_all(topic, [partition], batch)


def produce_to_all(topic: str, partitions: Iterable[int], batch: bytes) -> bytes:
    """A produce of the same batch to each of the partitions with acks=1."""
    data = TopicProduceData(
        name=topic, partition_data=[PartitionProduceData(index=index, records=batch) for index in partitions]
    )
    request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data])
    return _frame(0, PRODUCE_VERSION, PRODUCE_REQUEST.encode(request, PRODUCE_VERSION))


def fetch(topic: str, partition: int, offset: int, size_bytes: int) -> bytes:
    """A fetch outside a session of up to `size_bytes` from one partition; it never waits."""
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=size_bytes)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=size_bytes, topics=[FetchTopic(topic=topic, partitions=[wanted])]
    )
    return _frame(1, FETCH_VERSION, FETCH_REQUEST.encode(request, FETCH_VERSION))


def _frame(api_key: int, api_version: int, body: bytes) -> bytes:
    content = encode_request_header(api_key, api_version, 0, CLIENT_ID) + body
    return struct.pack(">i", len(content)) + content
