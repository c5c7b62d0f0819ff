"""What some hand wrote into ZooKeeper and no Kafka would: the broker names it in a line, and serves what it can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kafka_zk.protocol.errors import ErrorCode
from tests.support import wire, znodes
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

GOOD, BAD = "good", "bad"
NOT_JSON = b"{nope"
SOON = {"controlled.shutdown.retry.backoff.ms": "100"}


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=SOON).start()
    with RawClient(broker.bootstrap) as client:
        for topic in (GOOD, BAD):
            wire.create_topic(client, topic)
    yield broker
    broker.kill()


def put(zookeeper_connect: str, garbage: Mapping[str, bytes]) -> None:
    with znodes.looking_at(zookeeper_connect) as client:
        for path, data in garbage.items():
            if client.exists(path):
                client.set(path, data)
            else:
                client.create(path, data, makepath=True)


def said(broker: OurBroker) -> str:
    """All it has said, the controller's log too."""
    logs = "".join(path.read_text() for path in (broker.folder / "logs").glob("*.log"))
    return broker.process.output() + logs


GARBAGE = {
    "/config/topics/bad": NOT_JSON,
    "/config/topics/no-such-topic": b'{"version":1,"config":{"retention.ms":"abc"}}',
    "/config/brokers/0": b'{"version":1,"config":{"log.retention.ms":"abc","log.dirs":"/elsewhere"}}',
    "/config/brokers/<default>": b"[]",
    "/config/users/bob": NOT_JSON,
    "/config/changes/stray": b"",
    "/config/changes/config_change_by-hand": b"{}",
    "/config/changes/config_change_0000000001": NOT_JSON,
    "/config/changes/config_change_0000000002": b'{"version":2,"entity_path":"nothing/x"}',
    "/brokers/topics/half": b'{"version":3}',
    "/brokers/topics/not json": NOT_JSON,
    "/brokers/topics/good/stray": b"",
    "/brokers/topics/good/partitions/x": b"",
    "/brokers/ids/stray": NOT_JSON,
    "/admin/reassign_partitions": NOT_JSON,
    "/admin/preferred_replica_election": NOT_JSON,
    "/admin/delete_topics/no-such-topic": b"",
    "/isr_change_notification/stray": NOT_JSON,
    "/log_dir_event_notification/log_dir_event_0000000000": NOT_JSON,
    "/stray": b"\xff\xfe",
}


def assert_it_serves_in_peace(broker: OurBroker) -> None:
    with RawClient(broker.bootstrap) as client:
        for topic in (GOOD, BAD):
            wire.wait_for_topic(client, topic)
            wire.write(client, topic, [b"value"], acks=-1)
        wire.create_topic(client, "new")
        wire.write(client, "new", [b"value"])
    for path in ("/config/topics/bad", "config_change_0000000001", "/brokers/topics/not json"):
        assert path in said(broker)
    assert "Traceback" not in said(broker)
    assert broker.stop() == 143


def test_a_broker_starts_among_garbage(broker: OurBroker, zookeeper_connect: str) -> None:
    assert broker.stop() == 143
    put(zookeeper_connect, GARBAGE)
    broker.start()
    assert "Invalid value abc for configuration log.retention.ms" in said(broker)
    assert "Ignoring a config in ZooKeeper that cannot be changed dynamically: log.dirs" in said(broker)
    assert_it_serves_in_peace(broker)


def test_garbage_that_comes_while_it_runs_stops_nothing(broker: OurBroker, zookeeper_connect: str) -> None:
    put(zookeeper_connect, GARBAGE)
    znodes.set_topic_config(zookeeper_connect, GOOD, {"retention.ms": "abc"})
    wait_until(lambda: "Invalid config of topic good in ZooKeeper" in said(broker), "the change is refused")
    with znodes.looking_at(zookeeper_connect) as client:
        notice = b'{"version":2,"entity_path":"topics/bad"}'
        client.create("/config/changes/config_change_", notice, sequence=True)
    assert_it_serves_in_peace(broker)


def test_a_wrong_value_of_a_topic_refuses_the_start_in_one_line(broker: OurBroker, zookeeper_connect: str) -> None:
    assert broker.stop() == 143
    znodes.set_topic_config(zookeeper_connect, BAD, {"retention.ms": "abc"})
    assert broker.run_to_its_end() == 1
    assert "Invalid config of topic bad in ZooKeeper: Invalid value abc" in said(broker)
    assert "Traceback" not in said(broker)


@pytest.mark.parametrize(
    ("path", "data", "message"),
    [
        ("/cluster/id", NOT_JSON, "Failed to parse the znode /cluster/id"),
        ("/brokers/ids/7", NOT_JSON, "Failed to parse the znode /brokers/ids/7"),
        ("/feature", NOT_JSON, "Failed to parse the znode /feature"),
        (
            "/feature",
            b'{"version":2,"status":1,"features":{"f":{"max_version_level":3}}}',
            "does not support: f at level",
        ),
    ],
)
def test_a_start_that_would_be_wrong_is_refused_in_one_line(
    broker: OurBroker, zookeeper_connect: str, path: str, data: bytes, message: str
) -> None:
    assert broker.stop() == 143
    put(zookeeper_connect, {path: data})
    assert broker.run_to_its_end() == 1
    assert message in said(broker)
    assert "Traceback" not in said(broker)


@pytest.mark.parametrize("path", ["/controller", "/controller_epoch"])
def test_a_broker_that_can_find_no_controller_stops_after_its_attempts(
    broker: OurBroker, zookeeper_connect: str, path: str
) -> None:
    assert broker.stop() == 143
    put(zookeeper_connect, {path: NOT_JSON})
    broker.start()
    with RawClient(broker.bootstrap) as client:
        assert wire.topic_error(client, GOOD) is ErrorCode.LEADER_NOT_AVAILABLE
    assert broker.stop() == 143
    assert "all the controlled shutdown attempts failed" in said(broker)
    assert "Traceback" not in broker.process.output()
