"""The ZooKeeper the other integration tests stand on."""

from __future__ import annotations

from tests.support.zookeeper import ZooKeeperServer, plain_client


def test_a_stopped_zookeeper_comes_back_on_the_same_port_with_its_data(zookeeper: ZooKeeperServer) -> None:
    client = plain_client(zookeeper.connect)
    client.create("/kept", b"x")
    zookeeper.stop()
    zookeeper.start()
    client.stop()
    client.close()
    client = plain_client(zookeeper.connect)
    assert client.get("/kept")[0] == b"x"
    client.delete("/kept")
    client.stop()
    client.close()
