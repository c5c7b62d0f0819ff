"""Which configs the log of a topic follows: those of the topic that is there now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from kafka_zk.admin.topics import NewTopic
from kafka_zk.broker.server import KafkaServer
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.log.manager import LogManager
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import ConfigEntityZNode, PartitionReplicas, TopicAssignment, TopicZNode
from tests.integration.conftest import ConnectZk
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.znodes import set_topic_config
from tests.support.zookeeper import eventually


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


def test_a_topic_deleted_while_the_broker_starts_leaves_no_configs_to_the_next_one_of_its_name(
    tmp_path: Path, zookeeper_connect: str, connect_zk: ConnectZk, monkeypatch: pytest.MonkeyPatch
) -> None:
    zk = connect_zk()
    elsewhere = TopicAssignment({0: PartitionReplicas((9,))}, uuid4())
    zk.create(TopicZNode.path("planes"), TopicZNode.encode(elsewhere), make_parents=True)
    config = ConfigEntityZNode.path("topics/planes")
    zk.create(config, ConfigEntityZNode.encode({"cleanup.policy": "compact"}), make_parents=True)
    recover = LogManager.startup

    def recover_for_long(manager: LogManager) -> None:
        recover(manager)
        zk.delete(config)
        zk.delete(TopicZNode.path("planes"))

    monkeypatch.setattr(LogManager, "startup", recover_for_long)
    server = KafkaServer(
        BrokerConfig.from_properties(
            {
                "zookeeper.connect": zookeeper_connect,
                "broker.id": "1",
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": str(tmp_path / "data"),
            }
        )
    )
    server.startup()
    try:
        parts = server._parts
        parts._topic_admin.create(NewTopic("planes", 1, 1))
        manager, replica = parts._log_manager, TopicPartition("planes", 0)
        eventually(lambda: parts._replica_manager.hosted.find(*replica) is not None)
        log = manager.get_log(replica)
        assert log is not None and log.config.cleanup_policy == ["delete"]
    finally:
        server.shutdown()
