"""A cluster that writes inter.broker.protocol.version 2.8 (one: 2.7) comes to 3.9, a broker at a time, under load.

Its brokers are Kafka 2.8.2, 3.9.1 and ours, and take each other's place on the same directories, back too. Nothing
acknowledged is missing or there twice, and brokers send each other what the protocol has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_zk.log.files import partition_metadata
from kafka_zk.protocol.types import uuid_to_base64
from tests.support.apache import ApacheBroker, classpath_of_kafka_2_8
from tests.support.broker import OurBroker
from tests.support.metrics import Scrape, metrics_port
from tests.support.names import fresh
from tests.support.numbered import NumberReader, NumberWriter, check_numbers
from tests.support.processes import wait_until
from tests.support.three_brokers import Kind, ThreeBrokers
from tests.support.znodes import looking_at
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

PROTOCOL = "inter.broker.protocol.version"
TOPIC = "numbers"
PARTITIONS = 6
OLD = {
    "2.7": {"LeaderAndIsr": {4}, "UpdateMetadata": {6}, "FetchFollower": {12}, "AllocateProducerIds": set()},
    "2.8": {"LeaderAndIsr": {5}, "UpdateMetadata": {7}, "FetchFollower": {12}, "AllocateProducerIds": set()},
}
"""The versions that a broker is sent while all write that protocol. Blocks of producer ids come from ZooKeeper."""
NEW = {"LeaderAndIsr": {7}, "UpdateMetadata": {8}, "FetchFollower": {17}}


def apache_2_8(*arguments: object, **options: object) -> ApacheBroker:
    return ApacheBroker(*arguments, class_path=classpath_of_kafka_2_8(), **options)  # type: ignore[arg-type]


OURS, APACHE = OurBroker, ApacheBroker


class Estate(NamedTuple):
    """Where a cluster comes from: its protocol, its brokers, and what takes whose place before the protocol changes."""

    protocol: str
    kinds: tuple[Kind, Kind, Kind]
    replaced: tuple[tuple[int, Kind], ...]


ESTATES = {
    "Kafka 2.8.2": Estate(
        "2.8",
        (apache_2_8, apache_2_8, apache_2_8),
        # The first one is taken back once: ours leaves what 2.8.2 can start on.
        ((0, OURS), (0, apache_2_8), (0, OURS), (1, OURS), (2, OURS)),
    ),
    "3.9.1 that writes 2.8": Estate("2.8", (APACHE, APACHE, OURS), ((2, APACHE), (0, OURS), (1, OURS))),
    "ours that write 2.7": Estate("2.7", (OURS, OURS, OURS), ((2, APACHE), (1, APACHE), (1, OURS))),
}


@pytest.mark.slow
@pytest.mark.parametrize("estate", ESTATES.values(), ids=ESTATES.keys())
def test_a_cluster_comes_from_an_old_protocol_and_loses_no_record(
    estate: Estate, tmp_path: Path, zookeeper: ZooKeeperServer
) -> None:
    old, new = ({PROTOCOL: protocol, "kafka_zk.metrics.port": "0"} for protocol in (estate.protocol, "3.9"))
    connect = fresh_chroot(zookeeper, "upgraded")
    cluster = ThreeBrokers(tmp_path, connect, estate.kinds, {TOPIC: PARTITIONS}, settings=old)
    try:
        writer = NumberWriter(cluster.bootstrap, cluster.topics)
        reader = NumberReader(cluster.bootstrap, TOPIC, group=fresh("readers"))
        try:
            writer.goes_on()
            has_ids = estate.protocol == "2.8"
            assert (topic_id(connect) is not None) == has_ids
            for number, kind in estate.replaced:
                cluster.replace(number, kind)
                writer.goes_on()
                for each in cluster.brokers:
                    check_versions(cluster, each, OLD[estate.protocol])
            assert (topic_id(connect) is not None) == has_ids
            kinds = [kind_of(cluster, number) for number in cluster.brokers]
            for number, kind in enumerate(kinds):
                cluster.replace(number, kind, new)
                writer.goes_on()
            # The last controller of the old protocol is gone: all others are asked for by what writes the new one.
            wait_until(lambda: topic_id(connect) is not None, "the topic has an id")
            for number, kind in ((0, APACHE), (1, APACHE), (0, OURS), (2, OURS)):
                cluster.replace(number, kind, new)
                writer.goes_on()
                check_versions(cluster, number, NEW)
            writer.stop()
            reader.has(writer.acknowledged)
        finally:
            writer.stop()
            reader.stop()
        cluster.wait_settled()
        assert not writer.failures, writer.failures[:5]
        cluster.wait_equal()
        check_numbers(cluster.bootstrap, writer.acknowledged)
        check_ids(cluster)
        assert feature_version(connect) == 2
        assert not cluster.unexplained_errors()
        assert not cluster.unreadable_requests()
    finally:
        cluster.close()


def kind_of(cluster: ThreeBrokers, number: int) -> Kind:
    return OURS if isinstance(cluster.brokers[number], OurBroker) else APACHE


def check_versions(cluster: ThreeBrokers, number: int, expected: Mapping[str, set[int]]) -> None:
    """Of a broker of ours: what the others have sent it since its start."""
    broker = cluster.brokers[number]
    if not isinstance(broker, OurBroker):
        return
    series = Scrape(metrics_port(broker)).series()
    counted = [labels for name, labels in series if name == "kafka_network_requestmetrics_requests_total"]
    for request, versions in expected.items():
        found = {int(labels["version"]) for labels in counted if labels["request"] == request}
        # Who leads nothing is sent no fetch.
        assert found == versions or (request == "FetchFollower" and not found), (number, request, found)


def topic_id(connect: str) -> str | None:
    with looking_at(connect) as zk:
        found: str | None = json.loads(zk.get(f"/brokers/topics/{TOPIC}")[0]).get("topic_id")
        return found


def feature_version(connect: str) -> int:
    with looking_at(connect) as zk:
        return int(json.loads(zk.get("/feature")[0])["version"])


def check_ids(cluster: ThreeBrokers) -> None:
    """Each replica's directory belongs to the topic's id."""
    expected = topic_id(cluster.zookeeper)
    for number in cluster.brokers:
        for index in range(PARTITIONS):
            path = cluster.log_dir(number) / f"{TOPIC}-{index}" / "partition.metadata"
            found = partition_metadata.read(path)
            assert found is not None, path
            assert uuid_to_base64(found) == expected, path
