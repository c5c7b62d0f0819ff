"""Configurations written to ZooKeeper: what is announced, and two clients at once."""

from __future__ import annotations

import json
from typing import Any

import gevent
import pytest

from kafka_zk.admin.broker_configs import BrokerConfigs
from kafka_zk.admin.config_rules import Change, Operation
from kafka_zk.admin.configs import ConfigAdmin
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidConfig, InvalidRequest, UnknownTopicOrPartition
from kafka_zk.zk.znodes import ControllerRegistration, ControllerZNode
from tests.simulation.model_zookeeper import ModelZooKeeper


class Topics:
    """Metadata that knows one topic."""

    def topic(self, name: str) -> object | None:
        return object() if name == "t" else None


class Levels:
    def __init__(self) -> None:
        self.levels = {"root": "INFO", "kafka": "INFO"}

    def all(self) -> dict[str, str]:
        return dict(self.levels)

    def set(self, logger_name: str, level: str) -> None:
        self.levels[logger_name] = level

    def unset(self, logger_name: str) -> None:
        self.levels[logger_name] = self.levels["root"]


class Scene:
    def __init__(self) -> None:
        self.zookeeper = ModelZooKeeper().with_kafka_paths()
        self.zookeeper.ensure("/controller", ControllerZNode.encode(ControllerRegistration(1, timestamp_ms=0)))
        self.loggers = Levels()
        self.zk: Any = self.zookeeper.client()
        metadata: Any = Topics()
        config = BrokerConfig.from_properties({"zookeeper.connect": "z:1", "broker.id": "1"})
        self.admin = ConfigAdmin(self.zk, metadata, BrokerConfigs(config), 1, self.loggers)

    def set_on_topic(self, name: str, value: str, *, validate_only: bool = False) -> None:
        changes = [Change(Operation.SET, name, value)]
        self.admin.alter_topic("t", changes, keep_others=True, validate_only=validate_only)

    def stored(self, path: str) -> dict[str, str]:
        return dict(json.loads(self.zk.get(f"/config/{path}")[0])["config"])

    def announced(self) -> list[str]:
        names = sorted(self.zk.children("/config/changes"))
        return [json.loads(self.zk.get(f"/config/changes/{name}")[0])["entity_path"] for name in names]


def test_a_change_is_written_and_announced() -> None:
    scene = Scene()
    scene.set_on_topic("retention.ms", "5")
    scene.admin.alter_broker(
        "1", [Change(Operation.SET, "log.retention.ms", "6")], keep_others=True, validate_only=False
    )
    scene.admin.alter_broker(
        "", [Change(Operation.SET, "log.retention.ms", "7")], keep_others=True, validate_only=False
    )
    assert scene.stored("topics/t") == {"retention.ms": "5"}
    assert scene.stored("brokers/1") == {"log.retention.ms": "6"}
    assert scene.stored("brokers/<default>") == {"log.retention.ms": "7"}
    assert scene.announced() == ["topics/t", "brokers/1", "brokers/<default>"]


def test_two_clients_at_once_do_not_undo_each_other() -> None:
    scene = Scene()
    scene.zookeeper.switch = lambda: gevent.sleep(0)
    changes = [("retention.ms", "5"), ("segment.bytes", "1048576"), ("flush.ms", "7")]
    gevent.joinall([gevent.spawn(scene.set_on_topic, *change) for change in changes], raise_error=True)
    assert scene.stored("topics/t") == dict(changes)


@pytest.mark.parametrize(
    ("name", "value", "validate_only"), [("retention.ms", "x", False), ("retention.ms", "5", True)]
)
def test_what_is_wrong_or_only_looked_at_is_not_written(name: str, value: str, validate_only: bool) -> None:
    scene = Scene()
    try:
        scene.set_on_topic(name, value, validate_only=validate_only)
    except InvalidConfig:
        assert value == "x"
    assert scene.announced() == []


def test_other_brokers_and_unknown_topics_are_refused() -> None:
    scene = Scene()
    with pytest.raises(InvalidRequest, match="Unexpected broker id, expected 1, but received 2"):
        scene.admin.check_broker("2", [], keep_others=True)
    with pytest.raises(InvalidRequest, match="Node id must be an integer, but it is: two"):
        scene.admin.check_broker("two", [], keep_others=True)
    for number in ("2147483648", "9" * 5_000):
        with pytest.raises(InvalidRequest, match="Node id must be an integer, but it is: "):
            scene.admin.check_broker(number, [], keep_others=True)
    with pytest.raises(UnknownTopicOrPartition, match="The topic 'u' does not exist"):
        scene.admin.alter_topic("u", [], keep_others=False, validate_only=False)


def test_a_topic_that_no_znode_may_be_called_after_has_no_overrides_to_read() -> None:
    scene = Scene()
    with pytest.raises(BrokerError) as refusal:
        scene.admin.alter_topic("..", [], keep_others=True, validate_only=False)
    assert refusal.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    with pytest.raises(UnknownTopicOrPartition):
        scene.admin.alter_topic("..", [], keep_others=False, validate_only=False)


def test_levels_are_set_and_unset() -> None:
    scene = Scene()
    scene.admin.alter_log_levels("1", [Change(Operation.SET, "kafka", "DEBUG")], validate_only=True)
    assert scene.loggers.levels["kafka"] == "INFO"
    scene.admin.alter_log_levels("1", [Change(Operation.SET, "kafka", "DEBUG")], validate_only=False)
    assert scene.loggers.levels["kafka"] == "DEBUG"
    scene.admin.alter_log_levels("1", [Change(Operation.DELETE, "kafka", None)], validate_only=False)
    assert scene.loggers.levels["kafka"] == "INFO"
