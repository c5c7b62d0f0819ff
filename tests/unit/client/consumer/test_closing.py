"""The end of a consumer: its listener gives the partitions up, and may use the consumer for that."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafka_zk.client.consumer.group.membership import Identity, MemberState
from kafka_zk.client.consumer.kafka_consumer import KafkaConsumer
from kafka_zk.client.consumer.listener import ConsumerRebalanceListener
from kafka_zk.client.errors import IllegalStateException
from kafka_zk.protocol.types import TopicPartition

T0 = TopicPartition("t", 0)
BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"


class Heard(ConsumerRebalanceListener):
    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer
        self.revoked: list[TopicPartition] = []

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.consumer.commit_async({})
        self.consumer.close()  # It is being closed: this changes nothing.
        self.revoked += partitions


def test_a_listener_may_use_the_consumer_that_is_closed() -> None:
    deserializers = {f"{part}.deserializer": BYTES for part in ("key", "value")}
    consumer = KafkaConsumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", **deserializers})
    heard = Heard(consumer)
    consumer.subscribe(["t"], heard)
    membership = consumer._member.rebalance._membership
    membership.identity, membership.state = Identity(1, "me"), MemberState.STABLE
    consumer._subscriptions.assign_from_group([T0])
    consumer.close(timeout_s=0)
    assert heard.revoked == [T0]
    with pytest.raises(IllegalStateException):
        consumer.commit_async({})
    consumer.close()
