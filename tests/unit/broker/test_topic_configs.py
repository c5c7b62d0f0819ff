"""When what is known of a topic's configs is read, kept, changed and forgotten."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

from kafka_zk.broker.topic_configs import TopicConfigs
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.control_requests import ReplicaStop
from kafka_zk.zk.errors import MalformedZNode
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import ConfigEntityZNode, TopicsZNode
from tests.simulation.model_zookeeper import ModelZooKeeper

BROKER = BrokerConfig.from_properties({"zookeeper.connect": "h:1", "log.retention.ms": "1"})


class Scene:
    """A model of ZooKeeper that counts the reads, and may do something before an answer arrives."""

    def __init__(self) -> None:
        self.reads = 0
        self.meanwhile: Callable[[], object] = lambda: None
        self._zookeeper = ModelZooKeeper()
        self._client = self._zookeeper.client()
        self.configs = TopicConfigs(cast(ZkClient, self), lambda: BROKER)

    def get_many(self, paths: Iterable[str]) -> list[Any]:
        answers = self._client.get_many(paths)
        self.reads += 1
        self.meanwhile()
        return answers

    def children(self, path: str) -> Any:
        return self._client.children(path)

    def create(self, topic: str) -> None:
        self._zookeeper.ensure(TopicsZNode.PATH + f"/{topic}")

    def store(self, topic: str, **overrides: str) -> None:
        data = ConfigEntityZNode.encode({name.replace("_", "."): value for name, value in overrides.items()})
        self.store_bytes(topic, data)

    def store_bytes(self, topic: str, data: bytes) -> None:
        path = ConfigEntityZNode.path(f"topics/{topic}")
        self._zookeeper.ensure(path)
        self._client.set(path, data)

    def retention_ms(self, topic: str) -> int:
        return self.configs.config_of(topic).retention_ms


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_topic_is_read_once(scene: Scene):
    scene.store("t", retention_ms="5")
    assert (scene.retention_ms("t"), scene.retention_ms("t")) == (5, 5)
    assert scene.reads == 1


def test_what_a_topic_does_not_override_is_the_brokers(scene: Scene):
    assert scene.retention_ms("t") == 1


def test_a_change_tells_what_held_before_and_what_holds_now(scene: Scene):
    scene.store("t", retention_ms="5")
    assert scene.retention_ms("t") == 5
    changed = scene.configs.change("t", {"retention.ms": "6"})
    assert changed is not None
    assert [config.retention_ms for config in changed] == [5, 6]
    assert scene.configs.change("t", {"retention.ms": "6"}) is None
    assert scene.retention_ms("t") == 6


def test_a_deleted_topic_is_read_anew(scene: Scene):
    scene.store("t", retention_ms="5")
    assert scene.retention_ms("t") == 5
    scene.store("t", retention_ms="6")
    scene.configs.forget([TopicPartition("t", 0), TopicPartition("t", 1)])
    assert scene.retention_ms("t") == 6


def test_what_is_read_amid_a_deletion_is_forgotten_with_the_last_log(scene: Scene):
    """The znode stands until all replicas are gone, and the broker's defaults may change before."""
    scene.store("t", retention_ms="5")
    scene.configs.forget([TopicPartition("t", 0)])
    assert scene.retention_ms("t") == 5
    stops = [ReplicaStop(TopicPartition("t", 0), -2, delete=True)]
    scene.configs.stopped(stops, lambda: {"t"})
    scene.store("t", retention_ms="6")
    assert scene.retention_ms("t") == 5
    scene.configs.stopped(stops, lambda: {"other"})
    assert scene.retention_ms("t") == 6


def test_a_replica_that_only_stops_is_not_forgotten(scene: Scene):
    scene.store("t", retention_ms="5")
    assert scene.retention_ms("t") == 5
    scene.store("t", retention_ms="6")
    scene.configs.stopped([ReplicaStop(TopicPartition("t", 0), 3, delete=False)], set)
    assert scene.retention_ms("t") == 5


def test_what_is_read_while_the_last_log_goes_is_not_kept(scene: Scene):
    scene.store("t", retention_ms="5")
    stops = [ReplicaStop(TopicPartition("t", 0), -2, delete=True)]
    scene.meanwhile = lambda: scene.configs.stopped(stops, set)
    assert scene.retention_ms("t") == 5
    scene.store("t", retention_ms="6")
    scene.meanwhile = lambda: None
    assert scene.retention_ms("t") == 6


def test_a_topic_without_a_znode_is_read_again(scene: Scene):
    # The log of a deleted topic may still be here, and be asked for its config.
    assert scene.retention_ms("t") == 1
    scene.store("t", retention_ms="5")
    assert scene.retention_ms("t") == 5


def test_only_topics_with_logs_are_known_when_the_start_is_over(scene: Scene):
    for topic in ("here", "elsewhere"):
        scene.create(topic)
        scene.store(topic, retention_ms="5")
    scene.configs.load()
    for topic in ("here", "elsewhere"):
        scene.store(topic, retention_ms="6")
    scene.configs.end_of_start({"here"})
    assert (scene.retention_ms("here"), scene.retention_ms("elsewhere")) == (5, 6)


def test_a_change_of_a_topic_without_logs_here_is_not_kept(scene: Scene):
    assert scene.configs.change("t", {"retention.ms": "6"}) is not None
    assert scene.retention_ms("t") == 1


def test_a_change_told_while_the_older_state_is_read_wins(scene: Scene):
    scene.store("t", retention_ms="5")
    scene.meanwhile = lambda: scene.configs.change("t", {"retention.ms": "6"})
    assert scene.retention_ms("t") == 6


def test_a_wrong_value_is_refused_with_the_topics_name(scene: Scene):
    scene.store("t", retention_ms="abc")
    with pytest.raises(InvalidConfig, match=r"topic t .* Invalid value abc for configuration retention\.ms"):
        scene.configs.config_of("t")


def test_a_wrong_change_leaves_what_was(scene: Scene):
    scene.store("t", retention_ms="5")
    assert scene.retention_ms("t") == 5
    with pytest.raises(InvalidConfig):
        scene.configs.change("t", {"retention.ms": "abc"})
    assert scene.retention_ms("t") == 5


@pytest.mark.parametrize("data", [b"{nope", b"[]", b'{"version":1,"config":[1]}', b"\xff\xfe\x00", b"5"])
def test_what_holds_no_overrides_is_taken_as_empty_and_named(
    scene: Scene, data: bytes, caplog: pytest.LogCaptureFixture
):
    scene.store_bytes("t", data)
    assert scene.retention_ms("t") == 1
    assert "/config/topics/t" in caplog.text


def test_a_value_that_is_no_text_is_refused(scene: Scene):
    scene.store_bytes("t", b'{"version":1,"config":{"retention.ms":5}}')
    with pytest.raises(MalformedZNode, match="/config/topics/t"):
        scene.configs.config_of("t")


def test_topics_with_the_same_overrides_share_what_is_made_of_them() -> None:
    scene = Scene()
    for topic, retention in (("t", "7"), ("u", "7"), ("v", "8")):
        scene.create(topic)
        scene.store(topic, retention_ms=retention)
    first, again, other, changed = (scene.configs.config_of(topic) for topic in ("t", "t", "u", "v"))
    assert first is again is other
    assert (first.retention_ms, changed.retention_ms) == (7, 8)


def test_a_changed_broker_changes_what_topics_do_not_override() -> None:
    broker = BrokerConfig.from_properties({"zookeeper.connect": "h:1", "log.retention.ms": "1"})
    scene = Scene()
    scene.configs = TopicConfigs(cast(ZkClient, scene), lambda: broker)
    scene.create("t")
    scene.store("t")
    assert scene.configs.config_of("t").retention_ms == 1
    broker.become(broker.with_dynamic(default={"log.retention.ms": "2"}, broker={}))
    assert scene.configs.config_of("t").retention_ms == 2
