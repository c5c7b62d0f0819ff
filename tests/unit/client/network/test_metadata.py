"""When metadata is asked for, and when it is not."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafka_zk.client.addresses import Address
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.metadata import ClusterMetadata, MetadataSettings
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_zk.protocol.types import TopicPartition

PAUSE_MS = 100
ANSWER = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)])


def test_a_topic_named_while_an_answer_is_under_way_waits_for_no_pause() -> None:
    pause = ExponentialBackoff(PAUSE_MS, PAUSE_MS, lambda: 0.5)
    metadata = ClusterMetadata([Address("h", 1)], MetadataSettings(60_000, pause))
    question = metadata.next_question()
    metadata.add_topic("t", 0)
    metadata.update(question, ANSWER, 5)
    assert metadata.ms_until_update(5) == 0
    metadata.update(metadata.next_question(), ANSWER, 6)
    metadata.request_update()
    assert metadata.ms_until_update(6) == PAUSE_MS


def answer_about(topic_id: int, leader_id: int, leader_epoch: int) -> MetadataResponse:
    """Topic `t` with one partition; id 0: it is not there."""
    partition = MetadataResponsePartition(partition_index=0, leader_id=leader_id, leader_epoch=leader_epoch)
    topic = MetadataResponseTopic(name="t", topic_id=UUID(int=topic_id), partitions=[partition])
    if not topic_id:
        topic = MetadataResponseTopic(name="t", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    brokers = [MetadataResponseBroker(node_id=number, host="h", port=number) for number in (1, 2)]
    return MetadataResponse(brokers=brokers, topics=[topic])


@pytest.mark.parametrize("gone_between", [True, False])
def test_the_leaders_of_a_topic_made_anew_are_followed_though_its_epochs_are_lower(gone_between: bool) -> None:
    metadata = ClusterMetadata([Address("h", 1)], MetadataSettings(60_000, ExponentialBackoff(1, 1, lambda: 0.5)))
    metadata.set_topics(["t"], 0)
    gone = [answer_about(0, -1, -1)] if gone_between else []
    for answer in (answer_about(7, 1, 5), *gone, answer_about(8, 1, 0), answer_about(8, 2, 1)):
        metadata.update(metadata.next_question(), answer, 1)
    assert metadata.snapshot.leader_of(TopicPartition("t", 0)) == 2


def test_an_older_epoch_of_the_same_topic_is_not_believed() -> None:
    metadata = ClusterMetadata([Address("h", 1)], MetadataSettings(60_000, ExponentialBackoff(1, 1, lambda: 0.5)))
    metadata.set_topics(["t"], 0)
    for answer in (answer_about(7, 1, 5), answer_about(7, 2, 4)):
        metadata.update(metadata.next_question(), answer, 1)
    assert metadata.snapshot.leader_of(TopicPartition("t", 0)) == 1
