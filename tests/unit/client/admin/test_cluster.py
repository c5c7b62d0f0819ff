"""One admin client's connections: what an interrupted call leaves behind, brokers that come back elsewhere."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from kafka_zk.client.addresses import SocketAddress
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.cluster import Cluster, NoNode
from kafka_zk.client.admin.connection import Connection
from kafka_zk.client.config import ClientConfig
from kafka_zk.config.tables.admin import ADMIN_KEYS
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.unit.client.admin.test_admin import METADATA_KEY, VERSIONS, listing
from tests.unit.client.scripted_broker import ScriptedBroker

PATIENCE_S = 60


def test_a_call_that_is_interrupted_leaves_its_answer_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> bytes:
        raise KeyboardInterrupt

    with (
        ScriptedBroker({METADATA_KEY: listing("a")}, versions=VERSIONS) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
    ):
        admin.list_topics()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Connection, "_receive_frame", interrupted)
            admin.list_topics()
        assert [topic.name for topic in admin.list_topics()] == ["a"]


def test_a_broker_that_came_back_elsewhere_is_found() -> None:
    with (
        socket.socket() as reserved,
        ScriptedBroker({}, versions=VERSIONS) as first,
        ScriptedBroker({}, versions=VERSIONS) as second,
    ):
        # Nobody listens there, and nobody else gets that port.
        reserved.bind(("127.0.0.1", 0))
        ports = [reserved.getsockname()[1]]

        def metadata(*_: Any) -> MetadataResponse:
            nodes = [(1, first.port), (2, ports[0])]
            return MetadataResponse(
                brokers=[MetadataResponseBroker(node_id=number, host=first.host, port=port) for number, port in nodes]
            )

        first.handlers[METADATA_KEY] = second.handlers[METADATA_KEY] = metadata
        config = {"bootstrap.servers": first.bootstrap, "reconnect.backoff.ms": "1", "reconnect.backoff.max.ms": "1"}
        cluster = Cluster(ClientConfig(ADMIN_KEYS, config), client_id="c", log_prefix="c")
        deadline_s = time.monotonic() + PATIENCE_S
        with pytest.raises(NoNode):
            cluster.node(2, deadline_s)
        ports[0] = second.port
        assert _found(cluster, 2, deadline_s)
        cluster.close()


def _found(cluster: Cluster, node_id: int, deadline_s: float) -> bool:
    while time.monotonic() < deadline_s:
        try:
            return cluster.node(node_id, deadline_s) == node_id
        except NoNode:
            time.sleep(0.005)
    return False


NO_FAMILY_HERE = 12
"""Of DECnet, which Linux does not have any more."""


def test_an_address_for_which_there_is_no_socket_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel without IPv6, whose hosts file names ::1 nevertheless; or no descriptor is free."""
    with pytest.raises(OSError):
        socket.socket(NO_FAMILY_HERE, socket.SOCK_STREAM)
    with ScriptedBroker({METADATA_KEY: listing("a")}, versions=VERSIONS) as broker:
        there: list[tuple[int, SocketAddress]] = [(NO_FAMILY_HERE, ("::1", broker.port))]
        monkeypatch.setattr("kafka_zk.client.admin.connection.resolve", lambda _: there)
        config = {"bootstrap.servers": broker.bootstrap}
        cluster = Cluster(ClientConfig(ADMIN_KEYS, config), client_id="c", log_prefix="c")
        with pytest.raises(NoNode):
            cluster.any_node(time.monotonic() + PATIENCE_S)
        there.append((socket.AF_INET, (broker.host, broker.port)))
        with AdminClient(config) as admin:
            assert [topic.name for topic in admin.list_topics()] == ["a"]


def test_a_client_that_may_bootstrap_again_finds_a_cluster_that_moved() -> None:
    """All brokers have other addresses by now; the bootstrap address leads to them."""
    with socket.socket() as reserved, ScriptedBroker({}, versions=VERSIONS) as broker:
        # Nobody listens there, and nobody else gets that port.
        reserved.bind(("127.0.0.1", 0))
        node = MetadataResponseBroker(node_id=1, host=broker.host, port=reserved.getsockname()[1])
        broker.handlers[METADATA_KEY] = lambda *_: MetadataResponse(brokers=[node], controller_id=1)
        config = {
            "bootstrap.servers": broker.bootstrap,
            "metadata.recovery.strategy": "rebootstrap",
            "request.timeout.ms": "20000",
            "default.api.timeout.ms": "20000",
            "reconnect.backoff.ms": "1",
            "reconnect.backoff.max.ms": "1",
        }
        with AdminClient(config) as admin:
            assert admin.list_topics() == []
            cluster = admin._cluster
            cluster._drop(-1)
            cluster.learn(MetadataResponse(brokers=[node]))
            node.port = broker.port
            assert admin.list_topics() == []
            assert cluster._nodes[1].port == broker.port
