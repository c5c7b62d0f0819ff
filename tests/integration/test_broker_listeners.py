"""Several listeners on one broker: what each is bound to, what is advertised, who talks to whom where."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from tests.support.broker import OurBroker
from tests.support.metrics import Scrape, metrics_port
from tests.support.processes import free_port, wait_until
from tests.support.raw_client import RawClient
from tests.support.wire import create_topic, wait_for_brokers
from tests.support.znodes import looking_at
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

LISTENERS = {
    "listeners": "INTERNAL://:0,EXTERNAL://[::1]:0,CONTROLLER://localhost:0",
    "advertised.listeners": "INTERNAL://localhost:0,EXTERNAL://kafka.example.com:19092,CONTROLLER://localhost:0",
    "listener.security.protocol.map": "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
    "control.plane.listener.name": "CONTROLLER",
    "kafka_zk.metrics.port": "0",
    "kafka_zk.metrics.host": "127.0.0.1",
}


@pytest.fixture(scope="module")
def connect(zookeeper: ZooKeeperServer) -> str:
    """Two servers, one of them down, and a chroot of two steps that nobody has made."""
    chroot = fresh_chroot(zookeeper, "deep").removeprefix(zookeeper.connect)
    return f"127.0.0.1:{free_port()},{zookeeper.connect}{chroot}/below"


@pytest.fixture(scope="module")
def broker(connect: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    started = OurBroker(tmp_path_factory.mktemp("listeners"), connect, overrides=LISTENERS).start()
    with RawClient(started.bootstrap) as client:
        wait_for_brokers(client)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def registration(broker: OurBroker, connect: str, zookeeper: ZooKeeperServer) -> dict[str, Any]:
    with looking_at(zookeeper.connect) as client:
        found: dict[str, Any] = json.loads(client.get(f"/{connect.partition('/')[2]}/brokers/ids/0")[0])
        return found


def bound_ports(broker: OurBroker) -> dict[str, int]:
    """By the host that the log names."""
    found = re.findall(r"Awaiting socket connections on (\S+):(\d+)\.", broker.process.output())
    return {host: int(port) for host, port in found}


def advertised_to(bootstrap: str) -> tuple[str, int]:
    """The broker's address as its Metadata tells it to who asks at `bootstrap`."""
    with RawClient(bootstrap) as client:
        (only,) = client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9).brokers
    return only.host, only.port


def test_each_free_port_is_bound_logged_and_registered(broker: OurBroker, registration: dict[str, Any]) -> None:
    ports = bound_ports(broker)
    assert set(ports) == {"0.0.0.0", "[::1]", "localhost"}
    assert broker.port == ports["0.0.0.0"], "the port file names the first listener"
    assert registration["endpoints"] == [
        f"INTERNAL://localhost:{ports['0.0.0.0']}",
        "EXTERNAL://kafka.example.com:19092",
        f"CONTROLLER://localhost:{ports['localhost']}",
    ]


def test_the_registration_has_apaches_keys(registration: dict[str, Any]) -> None:
    assert set(registration) == {
        "version",
        "host",
        "port",
        "jmx_port",
        "timestamp",
        "endpoints",
        "listener_security_protocol_map",
        "features",
    }
    names = ("INTERNAL", "EXTERNAL", "CONTROLLER")
    assert registration["listener_security_protocol_map"] == dict.fromkeys(names, "PLAINTEXT")
    assert (registration["version"], registration["jmx_port"], registration["features"]) == (5, -1, {})


def test_a_client_is_told_the_address_of_the_listener_it_asks(broker: OurBroker) -> None:
    ports = bound_ports(broker)
    assert advertised_to(f"127.0.0.1:{ports['0.0.0.0']}") == ("localhost", ports["0.0.0.0"])
    assert advertised_to(f"127.0.0.1:{ports['localhost']}") == ("localhost", ports["localhost"])


def test_a_client_over_ipv6_is_told_the_advertised_host_and_port(broker: OurBroker) -> None:
    bootstrap = f"[::1]:{bound_ports(broker)['[::1]']}"
    (node,) = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=20).brokers.values()
    assert (node.host, node.port) == ("kafka.example.com", 19092)


def test_the_controller_uses_its_own_listener_and_clients_the_others(broker: OurBroker) -> None:
    def requests(listener: str) -> float:
        name = "kafka_server_socket_server_metrics_request_total"
        return Scrape(metrics_port(broker)).value(name, listener=listener, networkprocessor="0")

    control_before, internal_before = requests("CONTROLLER"), requests("INTERNAL")
    with RawClient(broker.bootstrap) as client:
        create_topic(client, "planes")
    # LeaderAndIsr and UpdateMetadata; everything that the client asked came in at its own listener.
    assert requests("CONTROLLER") >= control_before + 2
    assert requests("INTERNAL") > internal_before


def test_connections_are_counted_by_listener(broker: OurBroker) -> None:
    def connections(listener: str) -> float:
        name = "kafka_server_socket_server_metrics_connection_count"
        return Scrape(metrics_port(broker)).value(name, listener=listener, networkprocessor="0")

    before = connections("INTERNAL")
    with RawClient(broker.bootstrap), RawClient(broker.bootstrap):
        wait_until(lambda: connections("INTERNAL") == before + 2, "both connections are counted")


def test_a_listener_without_a_host_advertises_the_machines_own_name(tmp_path: Path, zookeeper_connect: str) -> None:
    broker = OurBroker(tmp_path, zookeeper_connect, overrides={"listeners": "PLAINTEXT://:0"}).start()
    try:
        with RawClient(broker.bootstrap) as client:
            wait_for_brokers(client)
        assert advertised_to(broker.bootstrap) == (socket.getfqdn(), broker.port)
    finally:
        broker.stop()
