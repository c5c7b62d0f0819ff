"""What others write into ZooKeeper reaches a running broker: topics, deletions, configs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages import metadata
from tests.support import wire, znodes
from tests.support.broker import OurBroker
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient

TOPIC = "changed"
HOUR_MS = 3_600_000


@pytest.fixture
def broker(tmp_path: Path, zookeeper_connect: str) -> Iterator[OurBroker]:
    often = {"log.retention.check.interval.ms": "200", "log.initial.task.delay.ms": "100"}
    soon = {"file.delete.delay.ms": "100", "log.segment.delete.delay.ms": "100"}
    running = OurBroker(tmp_path, zookeeper_connect, overrides={**often, **soon}).start()
    yield running
    running.kill()


@pytest.fixture
def client(broker: OurBroker) -> Iterator[RawClient]:
    with RawClient(broker.bootstrap) as connected:
        yield connected


def segments(broker: OurBroker, partition: int = 0) -> list[str]:
    return sorted(path.name for path in (broker.log_dir / f"{TOPIC}-{partition}").glob("*.log"))


def topic_id(client: RawClient, topic: str) -> object:
    request = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=topic)])
    return client.send(metadata.METADATA_REQUEST, request, 12).topics[0].topic_id


def test_a_topic_made_in_zookeeper_is_served(broker: OurBroker, client: RawClient, zookeeper_connect: str) -> None:
    znodes.create_topic(zookeeper_connect, TOPIC, {0: [0], 1: [0]})
    wire.wait_for_topic(client, TOPIC)
    assert wire.write(client, TOPIC, [b"value"], partition=1, acks=-1) == 0
    assert [record.value for record in wire.read(client, TOPIC, partition=1)] == [b"value"]


def test_a_topic_deleted_in_zookeeper_is_gone_and_its_directories_too(
    broker: OurBroker, client: RawClient, zookeeper_connect: str
) -> None:
    wire.create_topic(client, TOPIC, 2)
    wire.write(client, TOPIC, [b"value"])
    znodes.delete_topic(zookeeper_connect, TOPIC)
    wire.wait_for_topic(client, TOPIC, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert wire.try_produce(client, TOPIC, [b"value"])[0] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    wait_until(lambda: not list(broker.log_dir.glob(f"{TOPIC}-*")), "the directories are gone")
    wait_until(lambda: znodes.children(zookeeper_connect, "/admin/delete_topics") == [], "the wish is fulfilled")
    assert znodes.children(zookeeper_connect, "/brokers/topics") == []


def test_a_deleted_topic_can_be_made_again_at_once_and_is_empty(broker: OurBroker, client: RawClient) -> None:
    ids = set()
    wire.wait_for_brokers(client)
    for number in range(5):
        # As with Apache, a deletion is answered when Metadata shows it, a moment before the last znode is gone.
        wait_until(lambda: wire.try_create_topic(client, TOPIC, 2)[0] is ErrorCode.NONE, "it may be made again")
        wire.wait_for_topic(client, TOPIC)
        ids.add(topic_id(client, TOPIC))
        for partition in range(2):
            assert wire.write(client, TOPIC, [b"life %d" % number] * 10, partition=partition) == 0
        assert wire.delete_topic(client, TOPIC) is ErrorCode.NONE
        assert wire.topic_error(client, TOPIC) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(ids) == 5
    # Renamed first, and removed a moment later.
    broker.says(f"{TOPIC}-0.", times=5)
    wait_until(lambda: not list(broker.log_dir.glob(f"{TOPIC}-*")), "the directories are gone")


def test_deleted_directories_that_a_kill_left_behind_are_removed_by_the_next_start(
    tmp_path: Path, zookeeper_connect: str
) -> None:
    late = {"log.segment.delete.delay.ms": "3600000"}
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=late).start()
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC)
        wire.write(client, TOPIC, [b"value"])
        assert wire.delete_topic(client, TOPIC) is ErrorCode.NONE
    wait_until(lambda: list(broker.log_dir.glob(f"{TOPIC}-0.*-delete")), "the directory is renamed")
    broker.kill()
    again = OurBroker(tmp_path, zookeeper_connect, overrides={"log.segment.delete.delay.ms": "100"}).start()
    wait_until(lambda: not list(again.log_dir.glob(f"{TOPIC}-*")), "the directory is gone")
    assert again.stop() == 143


def test_a_segment_size_set_in_zookeeper_takes_effect(
    broker: OurBroker, client: RawClient, zookeeper_connect: str
) -> None:
    wire.create_topic(client, TOPIC)
    for _ in range(20):
        wire.write(client, TOPIC, [bytes(1000)])
    assert len(segments(broker)) == 1
    znodes.set_topic_config(zookeeper_connect, TOPIC, {"segment.bytes": "4000"})
    wait_until(
        lambda: wire.write(client, TOPIC, [bytes(1000)]) >= 0 and len(segments(broker)) > 2, "segments are rolled"
    )
    assert all(path.stat().st_size <= 4000 for path in sorted((broker.log_dir / f"{TOPIC}-0").glob("*.log"))[1:])


def test_a_retention_set_in_zookeeper_takes_effect_and_goes_when_it_is_taken_away(
    broker: OurBroker, client: RawClient, zookeeper_connect: str
) -> None:
    now_ms = int(time.time() * 1000)
    wire.create_topic(client, TOPIC, configs={"segment.bytes": "4000"})
    for number in range(10):
        wire.write(client, TOPIC, [bytes(3500)], timestamp=now_ms - (10 - number) * HOUR_MS)
    assert len(segments(broker)) == 10
    config = {"segment.bytes": "4000", "retention.ms": str(4 * HOUR_MS + HOUR_MS // 2)}
    znodes.set_topic_config(zookeeper_connect, TOPIC, config)
    wait_until(lambda: len(segments(broker)) == 4, "the old segments are gone")
    assert wire.offset_at(client, TOPIC, list_offsets_timestamp=-2) == 6
    assert [record.offset for record in wire.read(client, TOPIC)] == [6, 7, 8, 9]
    code, _ = wire.try_fetch(client, TOPIC, 5)
    assert code is ErrorCode.OFFSET_OUT_OF_RANGE
    znodes.set_topic_config(zookeeper_connect, TOPIC, {"segment.bytes": "4000"})
    wire.write(client, TOPIC, [bytes(3500)], timestamp=now_ms - 9 * HOUR_MS)
    wire.write(client, TOPIC, [bytes(3500)])
    broker.says("breach")  # What is gone may be told a moment later.
    checked = broker.process.output().count("breach")
    time.sleep(0.5)  # Two more rounds of retention must find nothing.
    assert len(segments(broker)) >= 5
    assert broker.process.output().count("breach") == checked


def test_changes_written_while_the_broker_was_away_are_followed_at_its_start(
    broker: OurBroker, zookeeper_connect: str
) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC)
        wire.create_topic(client, "doomed")
    assert broker.stop() == 143
    znodes.set_topic_config(zookeeper_connect, TOPIC, {"segment.bytes": "4000"})
    znodes.create_topic(zookeeper_connect, "new", {0: [0]})
    znodes.delete_topic(zookeeper_connect, "doomed")
    broker.start()
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, "new")
        wire.wait_for_topic(client, TOPIC)
        wire.wait_for_topic(client, "doomed", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        for _ in range(20):
            wire.write(client, TOPIC, [bytes(1000)])
        assert len(segments(broker)) > 4
    wait_until(lambda: not list(broker.log_dir.glob("doomed-*")), "the directory is gone")
