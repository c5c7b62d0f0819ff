"""A broker of a few lines that takes what producers send."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_zk.client.producer.kafka_producer import KafkaProducer
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_zk.record.batch import BatchHeader, batches
from kafka_zk.record.record import decode_records
from kafka_zk.record.types import Record
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

PRODUCE_KEY, METADATA_KEY, INIT_PRODUCER_ID_KEY = 0, 3, 22
VERSIONS = {PRODUCE_KEY: (3, 11), METADATA_KEY: (0, 12), INIT_PRODUCER_ID_KEY: (0, 4), API_VERSIONS_KEY: (0, 4)}
PATIENCE_S = 20

Verdict = Callable[[BatchHeader, list[Record]], PartitionProduceResponse | None]
"""What becomes of a batch; None: the connection is closed instead of an answer."""


class TakingBroker(ScriptedBroker):
    """One broker with the topic `t` of `partition_count` partitions; `taken` are the batches it said yes to."""

    def __init__(self, partition_count: int = 1) -> None:
        self.verdicts: list[Verdict] = []
        self.taken: dict[int, list[tuple[BatchHeader, list[Record]]]] = defaultdict(list)
        self.topic_error = ErrorCode.NONE
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.asked = threading.Semaphore(0)
        """Released at each Produce request, before its answer."""
        self._partition_count = partition_count
        super().__init__(
            {PRODUCE_KEY: self._produce, METADATA_KEY: self._metadata, INIT_PRODUCER_ID_KEY: self._init_producer_id},
            versions=VERSIONS,
        )

    def values(self, partition: int = 0) -> list[bytes | None]:
        return [record.value for _, records in self.taken[partition] for record in records]

    def _metadata(self, *_: Any) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(
                partition_index=index, leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1]
            )
            for index in range(self._partition_count if self.topic_error == ErrorCode.NONE else 0)
        ]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host=self.host, port=self.port)],
            controller_id=1,
            topics=[MetadataResponseTopic(name="t", partitions=partitions, error_code=self.topic_error)],
        )

    def _init_producer_id(self, *_: Any) -> InitProducerIdResponse:
        return InitProducerIdResponse(producer_id=7, producer_epoch=0)

    def _produce(self, request: Any, version: int) -> ProduceResponse | None:
        self.asked.release()
        self.may_answer.wait(PATIENCE_S)
        topics = []
        for topic in request.topic_data:
            answers = [self._judge(data) for data in topic.partition_data]
            if None in answers:
                return None
            topics.append(TopicProduceResponse(name=topic.name, partition_responses=answers))
        return ProduceResponse(responses=topics)

    def _judge(self, data: Any) -> PartitionProduceResponse | None:
        (batch,) = batches(data.records)
        records = decode_records(batch)
        offset = sum(len(taken) for _, taken in self.taken[data.index])
        yes = PartitionProduceResponse(index=data.index, base_offset=offset)
        verdict = self.verdicts.pop(0)(batch.header, records) if self.verdicts else yes
        if verdict is None:
            return None
        verdict.index = data.index
        if verdict.error_code == ErrorCode.NONE:
            verdict.base_offset = offset
            self.taken[data.index].append((batch.header, records))
        return verdict


@pytest.fixture
def broker() -> Iterator[TakingBroker]:
    with TakingBroker() as broker:
        yield broker
        broker.may_answer.set()


Produce = Callable[..., KafkaProducer]


@pytest.fixture
def produce() -> Iterator[Produce]:
    """Makes producers with quick retries; they are closed at the end."""
    made: list[KafkaProducer] = []

    def make(broker: ScriptedBroker, **changes: object) -> KafkaProducer:
        config: dict[str, object] = {
            "bootstrap.servers": broker.bootstrap,
            "key.serializer": "ByteArraySerializer",
            "value.serializer": "ByteArraySerializer",
            "retry.backoff.ms": 1,
            "retry.backoff.max.ms": 1,
            "reconnect.backoff.ms": 1,
            "reconnect.backoff.max.ms": 1,
        }
        producer = KafkaProducer({**config, **{name.replace("_", "."): value for name, value in changes.items()}})
        made.append(producer)
        return producer

    yield make
    for producer in made:
        producer.close(0)


def refusing(error: ErrorCode, **more: Any) -> Verdict:
    return lambda *_: PartitionProduceResponse(error_code=error, base_offset=-1, **more)


def hanging_up(*_: Any) -> None:
    return None
