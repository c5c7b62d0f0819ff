"""Brokers of both kinds on three ZooKeeper servers, which are restarted one by one and lose their quorum, under load.

Nothing acknowledged is missing or there twice. Without a quorum leaders go on: they need ZooKeeper only for changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.names import fresh
from tests.support.numbered import NumberReader, NumberWriter, check_numbers
from tests.support.processes import paused, wait_until
from tests.support.three_brokers import ThreeBrokers
from tests.support.zookeeper_ensemble import ZooKeeperEnsemble

KINDS = {"two ours": (OurBroker, OurBroker, ApacheBroker), "all ours": (OurBroker, OurBroker, OurBroker)}
OURS = 0
"""The broker that is ours in each of them."""

SESSION_S = 6
SHORT_S, LONG_S = 3, 30
PARTITIONS = 6
TOPIC = "numbers"


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[ZooKeeperEnsemble]:
    made = ZooKeeperEnsemble(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path, ensemble: ZooKeeperEnsemble) -> Iterator[ThreeBrokers]:
    settings = {"zookeeper.session.timeout.ms": str(SESSION_S * 1_000)}
    made = ThreeBrokers(tmp_path, ensemble.connect, KINDS[request.param], {TOPIC: PARTITIONS}, settings=settings)
    yield made
    made.close()


def lose_quorum(ensemble: ZooKeeperEnsemble, seconds: float) -> None:
    """Its leader and one follower are away for so long."""
    leader = ensemble.leader()
    away = [ensemble.servers[leader], ensemble.servers[(leader + 1) % len(ensemble.servers)]]
    for server in away:
        server.stop()
    time.sleep(seconds)
    for server in away:
        server.launch()


def wait_ready(ensemble: ZooKeeperEnsemble) -> None:
    for server in ensemble.servers:
        server.wait_ready()


@pytest.mark.slow
@pytest.mark.parametrize("cluster", KINDS, indirect=True)
def test_a_rolling_restart_and_a_lost_quorum_of_zookeeper_lose_no_record(
    cluster: ThreeBrokers, ensemble: ZooKeeperEnsemble
) -> None:
    ours = cluster.brokers[OURS]
    writer = NumberWriter(cluster.bootstrap, cluster.topics)
    reader = NumberReader(cluster.bootstrap, TOPIC, group=fresh("readers"))
    try:
        writer.goes_on()
        # The leader comes last: then each of them has once been away while it led or followed.
        leader = ensemble.leader()
        for index in sorted(range(len(ensemble.servers)), key=lambda index: index == leader):
            ensemble.servers[index].stop()
            ensemble.servers[index].start()
            writer.goes_on()
        cluster.wait_settled()

        for seconds in (SHORT_S, LONG_S):
            before = writer.count
            lose_quorum(ensemble, seconds)
            assert writer.count > before, "leaders go on without ZooKeeper"
            wait_ready(ensemble)
            writer.goes_on()
            cluster.wait_settled()

        # One of ours misses the return of the quorum, and with it the end of its session.
        epochs, said = cluster.broker_epochs(), len(ours.process.output())
        with paused(ours.process.pid):
            lose_quorum(ensemble, SHORT_S)
            wait_ready(ensemble)
            wait_until(lambda: OURS not in cluster.registered(), "its registration ends with its session")
        ours.says("Session expired.", "Registered broker 0 at path /brokers/ids/0", since=said)
        cluster.wait_settled()
        assert cluster.broker_epochs()[OURS] != epochs[OURS]
        writer.goes_on()
        writer.stop()
        reader.has(writer.acknowledged)
    finally:
        writer.stop()
        reader.stop()
    cluster.wait_settled()
    assert not writer.failures, writer.failures[:5]
    cluster.wait_equal()
    check_numbers(cluster.bootstrap, writer.acknowledged)
    assert not cluster.unexplained_errors()
