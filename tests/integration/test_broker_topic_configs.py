"""Which configs the log of a topic follows: those of the topic that is there now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.protocol.errors import ErrorCode
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.znodes import set_topic_config


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path, zookeeper_connect).start()
    yield running
    running.stop()


def code_of_a_record_without_key(client: RawClient) -> ErrorCode:
    """INVALID_RECORD as long as the log is compacted."""
    code, _ = wire.try_produce(client, "planes", [b"N14228"])
    return code


def make_again(client: RawClient) -> None:
    """Delete the topic and create it without configs, as soon as its deletion has ended."""
    assert wire.delete_topic(client, "planes") is ErrorCode.NONE
    wait_until(lambda: wire.try_create_topic(client, "planes")[0] is ErrorCode.NONE, "it can be created again")
    wire.wait_for_topic(client, "planes")


def test_a_topic_made_again_does_not_inherit_the_configs_of_the_deleted_one(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, "planes", configs={"cleanup.policy": "compact"})
        assert code_of_a_record_without_key(client) is ErrorCode.INVALID_RECORD
        make_again(client)
        assert code_of_a_record_without_key(client) is ErrorCode.NONE


def test_a_change_reaches_the_log_of_a_topic_that_was_made_again(broker: OurBroker, zookeeper_connect: str) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, "planes")
        make_again(client)
        set_topic_config(zookeeper_connect, "planes", {"cleanup.policy": "compact"})
        wait_until(lambda: code_of_a_record_without_key(client) is ErrorCode.INVALID_RECORD, "the change is applied")
        set_topic_config(zookeeper_connect, "planes", {})
        wait_until(lambda: code_of_a_record_without_key(client) is ErrorCode.NONE, "and taken back")
