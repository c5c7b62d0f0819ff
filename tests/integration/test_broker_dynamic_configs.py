"""Each dynamic config of a broker does what it says as soon as it is set, from the API and from ZooKeeper by hand."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.processes import accepts_connections, free_port, wait_until
from tests.support.raw_client import RawClient
from tests.support.znodes import as_json, looking_at
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

ALL = ConfigResource(ResourceType.BROKER, "")
OWN = ConfigResource(ResourceType.BROKER, "0")
LOGGERS = ConfigResource(ResourceType.BROKER_LOGGER, "0")
STATIC = {
    # One topic here can have no other leader, and nobody is to wait for one.
    "controlled.shutdown.enable": "false",
    "log.retention.check.interval.ms": "100",
    "log.initial.task.delay.ms": "0",
    "log.segment.delete.delay.ms": "0",
    "producer.id.expiration.check.interval.ms": "100",
}


class Scene:
    """One broker, and who changes its configuration."""

    def __init__(self, broker: OurBroker, connect: str) -> None:
        self.broker = broker
        self.connect = connect
        self.admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        self.client = RawClient(broker.bootstrap)

    def close(self) -> None:
        self.client.close()
        self.admin.close()

    def set(self, resource: ConfigResource, **values: str) -> None:
        changes = [ConfigChange(_key(name), ConfigOperation.SET, value) for name, value in values.items()]
        self.admin.incremental_alter_configs({resource: changes})

    def unset(self, resource: ConfigResource, *names: str) -> None:
        changes = [ConfigChange(_key(name), ConfigOperation.DELETE) for name in names]
        self.admin.incremental_alter_configs({resource: changes})

    def source_of(self, name: str) -> int:
        entries = self.admin.describe_configs([OWN])[OWN]
        return next(entry.source for entry in entries if entry.name == name)

    def topic(self, name: str, *replicas: int) -> str:
        self.admin.create_topics([NewTopic(name, assignment={0: replicas or (0,)})])
        wire.wait_for_topic(self.client, name)
        return name

    def code_of(self, topic: str, size_bytes: int = 10) -> ErrorCode:
        code, _ = wire.try_produce(self.client, topic, [b"x" * size_bytes], acks=-1)
        return code

    def server_log(self) -> str:
        return (self.broker.folder / "logs" / "server.log").read_text()


def _key(name: str) -> str:
    return name.replace("_", ".")


@pytest.fixture(scope="module")
def scene(zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    connect = fresh_chroot(zookeeper, "dynamic-configs")
    broker = OurBroker(tmp_path_factory.mktemp("broker"), connect, overrides=STATIC).start()
    made = Scene(broker, connect)
    yield made
    made.close()
    broker.stop()


def test_the_largest_batch(scene: Scene) -> None:
    topic = scene.topic("large")
    assert scene.code_of(topic, 2000) is ErrorCode.NONE
    scene.set(ALL, message_max_bytes="1000")
    wait_until(lambda: scene.code_of(topic, 2000) is ErrorCode.MESSAGE_TOO_LARGE, "the limit of all brokers counts")
    assert scene.source_of("message.max.bytes") == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    scene.set(OWN, message_max_bytes="5000")
    wait_until(lambda: scene.code_of(topic, 2000) is ErrorCode.NONE, "the broker's own limit is stronger")
    assert scene.source_of("message.max.bytes") == ConfigSource.DYNAMIC_BROKER_CONFIG
    scene.unset(OWN, "message_max_bytes")
    scene.unset(ALL, "message_max_bytes")
    wait_until(lambda: scene.source_of("message.max.bytes") == ConfigSource.DEFAULT_CONFIG, "both are gone")
    assert scene.code_of(topic, 10_000) is ErrorCode.NONE


def test_retention_of_logs_that_are_there_already(scene: Scene) -> None:
    topic = scene.topic("kept")
    assert scene.code_of(topic) is ErrorCode.NONE
    scene.set(ALL, log_retention_ms="1")

    def is_empty() -> bool:
        return wire.offset_at(scene.client, topic, list_offsets_timestamp=-2) == 1

    wait_until(is_empty, "what is older than a millisecond goes")
    scene.unset(ALL, "log_retention_ms")


def test_replicas_that_must_be_in_sync(scene: Scene) -> None:
    nobody = 9
    topic = scene.topic("synced", 0, nobody)
    scene.set(OWN, min_insync_replicas="2")
    wait_until(lambda: scene.code_of(topic) is ErrorCode.NOT_ENOUGH_REPLICAS, "one replica is too few")
    scene.unset(OWN, "min_insync_replicas")
    wait_until(lambda: scene.code_of(topic) is ErrorCode.NONE, "one is enough again")


def test_connections_of_one_address(scene: Scene) -> None:
    scene.set(OWN, max_connections_per_ip_overrides="127.0.0.1:3")

    def is_refused() -> bool:
        held = [socket.create_connection(("127.0.0.1", scene.broker.port)) for _ in range(3)]
        try:
            held[-1].settimeout(0.2)
            return held[-1].recv(1) == b""
        except TimeoutError:
            return False
        finally:
            for each in held:
                each.close()

    wait_until(is_refused, "what is one too many is closed")
    scene.unset(OWN, "max_connections_per_ip_overrides")
    wait_until(lambda: not is_refused(), "there is room again")


def test_the_cleaner_goes_on_with_other_settings(scene: Scene) -> None:
    log = scene.broker.folder / "logs" / "log-cleaner.log"
    before = log.read_text().count("Starting the log cleaner")
    scene.set(OWN, log_cleaner_threads="2", log_cleaner_backoff_ms="1")
    wait_until(lambda: log.read_text().count("Starting the log cleaner") > before, "its threads start anew")
    scene.unset(OWN, "log_cleaner_threads", "log_cleaner_backoff_ms")


def test_levels_of_loggers(scene: Scene) -> None:
    topic = scene.topic("logged")
    resource = ConfigResource(ResourceType.TOPIC, topic)

    def lines_of_a_change() -> int:
        before = scene.server_log().count(f"Updating topic {topic} with")
        scene.set(resource, retention_ms="1000000")
        return scene.server_log().count(f"Updating topic {topic} with") - before

    admin_manager = "kafka.server.ZkAdminManager"
    changes = [ConfigChange(admin_manager, ConfigOperation.SET, "ERROR")]
    wait_until(lambda: lines_of_a_change() == 1, "changes are logged")
    scene.admin.incremental_alter_configs({LOGGERS: changes})
    assert lines_of_a_change() == 0
    scene.admin.incremental_alter_configs({LOGGERS: [ConfigChange(admin_manager, ConfigOperation.DELETE)]})
    wait_until(lambda: lines_of_a_change() == 1, "changes are logged again")


@pytest.mark.parametrize("name", ["0", "<default>"])
def test_what_another_hand_writes_into_zookeeper(scene: Scene, name: str) -> None:
    topic = scene.topic(f"by-hand-{len(name)}")
    _write(scene.connect, name, {"message.max.bytes": "1000", "log.dirs": "/elsewhere", "num.io.threads": "x"})
    wait_until(lambda: scene.code_of(topic, 2000) is ErrorCode.MESSAGE_TOO_LARGE, "what can be used is used")
    _write(scene.connect, name, {})
    wait_until(lambda: scene.code_of(topic, 2000) is ErrorCode.NONE, "and taken back")


def test_listeners_that_come_and_go(scene: Scene) -> None:
    first = f"PLAINTEXT://127.0.0.1:{scene.broker.port}"
    port = free_port()
    two = f"{first},OTHER://127.0.0.1:{port}"
    changes = {
        "listeners": two,
        "advertised.listeners": two,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
    }
    _write(scene.connect, "0", changes)
    wait_until(lambda: accepts_connections(port), "the new listener is open")

    def addresses() -> list[int]:
        with RawClient(f"127.0.0.1:{port}") as client:
            answer = client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 12)
            return [broker.port for broker in answer.brokers]

    wait_until(lambda: addresses() == [port], "who asks there is told to come back there")
    _write(scene.connect, "0", {})
    wait_until(lambda: not accepts_connections(port), "it is closed again")
    assert scene.code_of(scene.topic("through-the-first")) is ErrorCode.NONE


def test_what_breaks_a_rule_changes_nothing(scene: Scene) -> None:
    topic = scene.topic("ruled")
    _write(scene.connect, "0", {"message.max.bytes": "1000", "log.retention.ms": "0"})
    wait_until(lambda: "could not be applied" in scene.server_log(), "the log says so")
    assert scene.code_of(topic, 2000) is ErrorCode.NONE
    _write(scene.connect, "0", {})


def _write(connect: str, name: str, values: dict[str, str]) -> None:
    path = f"/config/brokers/{name}"
    with looking_at(connect) as client:
        client.ensure_path(path)
        client.set(path, as_json({"version": 1, "config": values}))
        notice = as_json({"version": 2, "entity_path": f"brokers/{name}"})
        client.create("/config/changes/config_change_", notice, sequence=True)
