"""The ZooKeeper the other integration tests stand on."""

from __future__ import annotations

from tests.support.znodes import looking_at
from tests.support.zookeeper import ZooKeeperServer


def test_a_stopped_zookeeper_comes_back_on_the_same_port_with_its_data(zookeeper: ZooKeeperServer) -> None:
    with looking_at(zookeeper.connect) as client:
        client.create("/kept", b"x")
        zookeeper.stop()
        zookeeper.start()
    with looking_at(zookeeper.connect) as client:
        assert client.get("/kept")[0] == b"x"
        client.delete("/kept")
