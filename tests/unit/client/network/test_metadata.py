"""When metadata is asked for, and when it is not."""

from __future__ import annotations

from kafka_zk.client.addresses import Address
from kafka_zk.client.network.backoff import ExponentialBackoff
from kafka_zk.client.network.metadata import ClusterMetadata, MetadataSettings
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker

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
