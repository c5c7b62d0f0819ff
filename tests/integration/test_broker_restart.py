"""A broker that comes back: what its clients, who ask it before it knows the cluster again, are told."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import metadata
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import POLL_S
from tests.support.raw_client import ConnectionClosed, RawClient

TOPIC = "stays"


def codes_until_it_is_served(broker: OurBroker, *, creates: bool) -> set[ErrorCode]:
    """What Metadata says of the topic from the first answer on."""
    request = metadata.MetadataRequest(
        topics=[metadata.MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=creates
    )
    found: set[ErrorCode] = set()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(OSError, ConnectionClosed), RawClient(broker.bootstrap) as client:
            while ErrorCode.NONE not in found:
                found.add(ErrorCode(client.send(metadata.METADATA_REQUEST, request, 9).topics[0].error_code))
            return found
        time.sleep(POLL_S / 10)
    raise AssertionError(f"never served: {found}")


@pytest.mark.parametrize("creates", [False, True])
def test_a_topic_that_was_there_is_never_called_unknown(tmp_path: Path, zookeeper_connect: str, creates: bool) -> None:
    broker = OurBroker(tmp_path, zookeeper_connect).start()
    try:
        with RawClient(broker.bootstrap) as client:
            wire.create_topic(client, TOPIC, 2)
            assert wire.topic_error(client, "no-such-topic") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for _ in range(3):
            broker.kill()
            broker.launch()
            assert codes_until_it_is_served(broker, creates=creates) <= {
                ErrorCode.NONE,
                ErrorCode.LEADER_NOT_AVAILABLE,
            }
        with RawClient(broker.bootstrap) as client:
            assert wire.topic_error(client, "no-such-topic") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert wire.delete_topic(client, TOPIC) is ErrorCode.NONE
            assert wire.topic_error(client, TOPIC) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    finally:
        broker.kill()


def first_brokers(broker: OurBroker) -> list[int]:
    """The brokers in the first answer that a client gets after a start."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(OSError, ConnectionClosed), RawClient(broker.bootstrap) as client:
            answer = client.send(metadata.METADATA_REQUEST, metadata.MetadataRequest(topics=[]), 9)
            return [node.node_id for node in answer.brokers]
        time.sleep(POLL_S / 10)
    raise AssertionError("never answered")


def test_no_client_is_told_of_a_cluster_without_brokers(tmp_path: Path, zookeeper_connect: str) -> None:
    """librdkafka would part from all its brokers, and a member that waits for its commit would hang for ever."""
    # One place for requests: a client that waits must not keep it from the controller.
    broker = OurBroker(tmp_path, zookeeper_connect, overrides={"queued.max.requests": "1"}).start()
    try:
        for _ in range(4):
            broker.kill()
            broker.launch()
            assert first_brokers(broker) == [broker.broker_id]
    finally:
        broker.kill()
