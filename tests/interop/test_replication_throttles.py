"""Throttled replicas (KIP-73) between a broker of Apache's and ours: a transfer takes as long in either direction.

A replica is added by a reassignment while its leader, or its follower, is throttled. Each broker throttles with an
account of its own that nothing was recorded in before, so the four transfers do not touch each other.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.interop.test_cluster_with_apache import APACHE, OURS, Cluster
from tests.interop.test_metrics import JmxBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Written
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import wait_until

SIZE = 10_000_000
RECORD = 50_000
BYTES_PER_SECOND = 1_000_000
WITHIN = 0.10

# Small steps: the times differ by less than one of them.
FINE = {"replica.fetch.max.bytes": "131072", "replica.fetch.backoff.ms": "50", "replica.fetch.wait.max.ms": "50"}


def _apache(folder: Path, connect: str, *, broker_id: int, overrides: Mapping[str, str]) -> JmxBroker:
    return JmxBroker(folder, connect, broker_id=broker_id, overrides={**overrides, **FINE})


def _ours(folder: Path, connect: str, *, broker_id: int, overrides: Mapping[str, str]) -> OurBroker:
    shown = {"kafka_zk.metrics.port": "0"}
    return OurBroker(folder, connect, broker_id=broker_id, overrides={**overrides, **FINE, **shown})


@pytest.fixture
def cluster(tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    made = Cluster(tmp_path, zookeeper_connect, controller=OURS, apache=_apache, ours=_ours)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.alone
def test_a_throttled_transfer_takes_as_long_from_apache_to_ours_as_back(cluster: Cluster) -> None:
    for side in ("leader", "follower"):
        there = transfer_s(cluster, side, source=APACHE, target=OURS)
        back = transfer_s(cluster, side, source=OURS, target=APACHE)
        print(f"throttled at the {side}: Apache to ours {there:.2f} s, ours to Apache {back:.2f} s")
        assert abs(there - back) <= WITHIN * max(there, back), f"throttled at the {side}"
        assert min(there, back) > 0.8 * SIZE / BYTES_PER_SECOND, "it was throttled at all"
    assert byte_rates(cluster) == {"LeaderReplication", "FollowerReplication"}


def transfer_s(cluster: Cluster, side: str, *, source: int, target: int) -> float:
    """How long the first copy of a topic on `target` takes while one side is throttled."""
    throttled = source if side == "leader" else target
    topic = f"from-{source}-throttled-at-the-{side}"
    cluster.create(topic, [[source]], retention_ms="-1")
    cluster.clients[source].write(topic, [Written(os.urandom(RECORD)) for _ in range(SIZE // RECORD)], acks="all")
    alter(cluster, ResourceType.TOPIC, topic, {f"{side}.replication.throttled.replicas": f"0:{throttled}"})
    # Notices are taken in their order: who knows its own has taken the topic's, too.
    rate = {f"{side}.replication.throttled.rate": str(BYTES_PER_SECOND)}
    alter(cluster, ResourceType.BROKER, str(throttled), rate)
    wait_until(lambda: rate.items() <= told(cluster, throttled).items(), f"broker {throttled} knows its rate")
    move = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [source, target]}]}
    began = time.monotonic()
    cluster.zk.create("/admin/reassign_partitions", json.dumps(move).encode())
    wait_until(lambda: cluster.state(topic) == (source, {source, target}), f"{topic} is on both brokers")
    took_s = time.monotonic() - began
    wait_until(lambda: not cluster.zk.exists("/admin/reassign_partitions"), "the reassignment has ended")
    wait_until(
        lambda: cluster.segments(source, topic) == cluster.segments(target, topic), f"both have the same of {topic}"
    )
    return took_s


def alter(cluster: Cluster, kind: ResourceType, name: str, configs: Mapping[str, str]) -> None:
    entries = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in configs.items()]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin = cluster.clients[OURS].admin
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def told(cluster: Cluster, broker_id: int) -> dict[str, str | None]:
    """The configs of a broker as it knows them itself."""
    resource = ConfigResource(ResourceType.BROKER, str(broker_id))
    found = cluster.clients[broker_id].admin.describe_configs([resource])[resource].result(PATIENCE_S)
    return {name: entry.value for name, entry in found.items()}


def byte_rates(cluster: Cluster) -> set[str]:
    """The throttles that both brokers show."""
    apache, ours = cluster.brokers[APACHE], cluster.brokers[OURS]
    assert isinstance(apache, JmxBroker) and isinstance(ours, OurBroker)
    beans = {bean.properties.get("type") for bean in apache.mbeans() if "byte-rate" in bean.attributes}
    series = {name for name, _ in Scrape(metrics_port(ours)).series()}
    kinds = ("LeaderReplication", "FollowerReplication")
    return {kind for kind in kinds if kind in beans and f"kafka_server_{kind.lower()}_byte_rate" in series}
