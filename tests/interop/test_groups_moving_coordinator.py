"""__consumer_offsets is led by Apache's broker, by ours, by Apache's ... while members live: nobody loses an offset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.interop.test_cluster_with_apache import APACHE, OURS, Cluster
from tests.support.fleet import JAVA, LIBRDKAFKA, Fleet
from tests.support.librdkafka import offsets_committed_by
from tests.support.processes import wait_until
from tests.support.zookeeper import eventually

OFFSETS = "__consumer_offsets"
OFFSETS_PARTITIONS = 3
PARTITIONS = 6
LONG_GONE = {f"long-gone-{number}": number + 7 for number in range(6)}
"""Groups without members, and what they have committed: some in each partition of the offsets topic."""


@pytest.fixture
def cluster(tmp_path: Path, zookeeper_connect: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    made = Cluster(tmp_path, zookeeper_connect, controller=request.param)
    yield made
    made.close()


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[Fleet]:
    bootstrap = ",".join(broker.bootstrap for broker in cluster.brokers.values())
    with Fleet(tmp_path / "fleet", bootstrap, "watched", PARTITIONS, replicas=2) as made:
        yield made


def lead(cluster: Cluster, broker_id: int) -> None:
    """Make a broker the coordinator of every group, as an operator does: first replica, then preferred election."""
    numbers = range(OFFSETS_PARTITIONS)
    replicas = [broker_id, APACHE + OURS - broker_id]
    listed = [{"topic": OFFSETS, "partition": number} for number in numbers]
    moves = [{**each, "replicas": replicas} for each in listed]
    cluster.zk.create("/admin/reassign_partitions", json.dumps({"version": 1, "partitions": moves}).encode())
    eventually(lambda: not cluster.zk.exists("/admin/reassign_partitions"), 60)
    for number in numbers:
        eventually(lambda n=number: cluster.state(OFFSETS, n)[1] == {APACHE, OURS}, 60)
    cluster.zk.create("/admin/preferred_replica_election", json.dumps({"version": 1, "partitions": listed}).encode())
    for number in numbers:
        cluster.wait_for(OFFSETS, broker_id, {APACHE, OURS}, number)


def write_long_gone(cluster: Cluster) -> None:
    for group, offset in LONG_GONE.items():
        consumer = cluster.clients[OURS].consumer(group_id=group)
        consumer.commit(offsets=[TopicPartition("watched", 0, offset)], asynchronous=False)
        cluster.clients[OURS].leave(consumer)


def assert_nothing_is_forgotten(cluster: Cluster, fleet: Fleet, group: str, before: list[int]) -> list[int]:
    """What groups without members committed is there, and the living group has not gone back; where it is now."""
    for gone, offset in LONG_GONE.items():
        consumer = cluster.clients[OURS].consumer(group_id=gone)
        found = offsets_committed_by(consumer, [TopicPartition("watched", 0)])
        cluster.clients[OURS].leave(consumer)
        assert found == [offset], gone
    now = fleet.committed(group)
    assert all(later >= earlier for later, earlier in zip(now, before, strict=True)), (before, now)
    return now


def rebalances(fleet: Fleet) -> int:
    """How often anybody was told of a change."""
    return sum(crew.process.output().count(" owns ") for crew in fleet.crews)


@pytest.mark.parametrize(
    "cluster",
    [OURS, pytest.param(APACHE, marks=pytest.mark.slow)],
    ids=["we-control", "apache-controls"],
    indirect=True,
)
def test_a_coordinator_that_moves_between_apache_and_us_disturbs_nobody(cluster: Cluster, fleet: Fleet) -> None:
    group = "living"
    fleet.enlist(JAVA, f"{group}:range:2:")
    fleet.enlist(LIBRDKAFKA, f"{group}:range:2:")
    fleet.wait_until_shared(group)
    write_long_gone(cluster)
    fleet.writer.wait_for_more()
    committed = fleet.committed(group)
    for coordinator in (APACHE, OURS, APACHE, OURS):
        told = rebalances(fleet)
        lead(cluster, coordinator)
        fleet.writer.wait_for_more()
        fleet.wait_until_all_read(group)
        committed = assert_nothing_is_forgotten(cluster, fleet, group, committed)
        assert rebalances(fleet) == told, "members need not notice that another broker coordinates them"
    # Who comes and goes under one coordinator is known to the next.
    comes = fleet.enlist(LIBRDKAFKA, f"{group}:range:2:")
    fleet.wait_until_shared(group)
    lead(cluster, APACHE)
    fleet.dismiss(comes)
    fleet.wait_until_shared(group)
    fleet.assert_each_read_once(group)
    # The coordinator dies.
    cluster.kill(APACHE)
    fleet.writer.wait_for_more()
    fleet.wait_until_all_read(group)
    ends = fleet.writer.stop()
    fleet.wait_until_all_read(group)
    fleet.dismiss(*fleet.crews)
    wait_until(lambda: fleet.committed(group) == ends, "all is committed to the survivor")
