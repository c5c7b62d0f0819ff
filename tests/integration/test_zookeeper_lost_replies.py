"""A real ZooKeeper whose replies are lost: a proxy lets requests through and closes the connection under the reply."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import gevent
import pytest
from gevent import socket
from gevent.server import StreamServer

from kafka_zk.zk import entity_configs, topics
from kafka_zk.zk.cluster import create_top_level_paths, report_log_dir_failure
from kafka_zk.zk.errors import GivenUp
from kafka_zk.zk.limits import DEFAULT_MAX_REQUEST_BYTES, room_for_data
from kafka_zk.zk.operations import Check, Create, Delete, SetData
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import ControllerRegistration, ControllerZNode, PartitionReplicas, TopicAssignment
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot


class LossyProxy:
    """Forwards to ZooKeeper; while `is_losing`, the next reply ends the connection instead of being passed on."""

    def __init__(self, connect: str) -> None:
        host, _, port = connect.partition(":")
        self._address = host, int(port)
        self._server = StreamServer(("127.0.0.1", 0), self._serve)
        self._server.start()
        self.is_losing = False
        self.lost_count = 0

    @property
    def connect(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.stop(timeout=1)

    def _serve(self, client: socket.socket, _address: object) -> None:
        server = socket.create_connection(self._address)
        upwards = gevent.spawn(self._forward, client, server)
        try:
            while data := server.recv(65536):
                if self.is_losing:
                    self.is_losing = False
                    self.lost_count += 1
                    return
                client.sendall(data)
        except OSError:
            return
        finally:
            upwards.kill()
            server.close()
            client.close()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            return


@pytest.fixture
def proxy(zookeeper: ZooKeeperServer) -> Iterator[LossyProxy]:
    made = LossyProxy(zookeeper.connect)
    yield made
    made.close()


@pytest.fixture
def client(zookeeper: ZooKeeperServer, proxy: LossyProxy) -> Iterator[ZkClient]:
    chroot = fresh_chroot(zookeeper).partition("/")[2]
    made = ZkClient(f"{proxy.connect}/{chroot}", connection_timeout_ms=30_000)
    made.start()
    yield made
    made.close()


def test_every_kind_of_write_survives_the_loss_of_its_reply(client: ZkClient, proxy: LossyProxy) -> None:
    create_top_level_paths(client)
    client.create(ControllerZNode.PATH, ControllerZNode.encode(ControllerRegistration(1, 0)))

    def lossy() -> None:
        proxy.is_losing = True

    lossy()
    assert client.create("/n", b"0") == "/n"
    lossy()
    assert client.set("/n", b"1", 0).version == 1
    lossy()
    checked, stat = client.multi([Check("/n", 1), SetData("/n", b"2", 1)])
    assert (checked, stat.version) == (True, 2)
    lossy()
    assert client.multi([Create("/n/a", b"x"), Create("/n/b", ephemeral=True)]) == ["/n/a", "/n/b"]
    lossy()
    assert client.multi([Check("/n", 2), Delete("/n/a")]) == [True, True]
    lossy()
    report_log_dir_failure(client, 3)
    assert len(client.children("/log_dir_event_notification")) == 1
    assert client.get("/n")[1].version == 2
    assert proxy.lost_count == 6


def test_a_topic_is_created_and_configured_once(client: ZkClient, proxy: LossyProxy) -> None:
    create_top_level_paths(client)
    client.create(ControllerZNode.PATH, ControllerZNode.encode(ControllerRegistration(1, 0)))
    proxied = client.exists

    def exists_and_lose(path: str) -> object:
        # The reply that gets lost is the one to the write that follows.
        found = proxied(path)
        proxy.is_losing = True
        return found

    client.exists = exists_and_lose  # type: ignore[method-assign,assignment]
    topics.create_topic(client, "t", TopicAssignment({0: PartitionReplicas((1,))}, uuid.UUID(int=5)), {"a": "b"})
    topics.mark_for_deletion(client, "t")
    assert proxy.lost_count >= 2
    proxy.is_losing = False
    assert entity_configs.entity_config(client, "topics/t") == {"a": "b"}
    assert client.children("/admin/delete_topics") == ["t"]


def test_a_value_that_a_real_zookeeper_refuses_costs_three_connections_and_no_more(
    zookeeper: ZooKeeperServer, proxy: LossyProxy
) -> None:
    chroot = fresh_chroot(zookeeper).partition("/")[2]
    client = ZkClient(f"{proxy.connect}/{chroot}", connection_timeout_ms=30_000, max_request_bytes=4_000_000)
    client.start()
    states: list[str] = []
    client.create("/n", b"old")
    client.on_state_change(states.append)
    with pytest.raises(GivenUp):
        client.set("/n", b"x" * 1_100_000)
    assert states.count("DISCONNECTED") == 3
    assert client.get("/n")[0] == b"old"
    limit = DEFAULT_MAX_REQUEST_BYTES
    assert client.set("/n", b"x" * room_for_data("/n", max_bytes=limit)).version == 1
    client.close()
