"""What the socket server counts, under Kafka's names."""

from __future__ import annotations

import math
from typing import Any

import gevent

from kafka_zk.clock import SimClock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings
from tests.integration.network.harness import Client, Script

GROUP = "kafka.server:type=socket-server-metrics,"


def read(metrics: MetricsRegistry, name: str) -> dict[str, Any]:
    metric = metrics.find(name)
    assert metric is not None, name
    return dict(metric.attributes())


def test_connections_bytes_and_requests_are_counted_per_listener() -> None:
    clock = SimClock()
    metrics = MetricsRegistry(clock)
    script = Script()
    endpoint = EndPoint("L", "PLAINTEXT", "127.0.0.1", 0)
    server = SocketServer(SocketServerSettings(endpoints=(endpoint,)), script, metrics=metrics)
    server.start()
    server.enable_processing()
    try:
        first, second = Client(server.bound_port("L")), Client(server.bound_port("L"))
        assert first.ask(b"e1234567") == b"e1234567"
        second.send(b"n1")
        script.wait_handled(2)
        for connection in server.connections():
            connection.client_software_name, connection.client_software_version = "tester", "1.0"
        clock.advance(1000)
        metrics.fold()
        listener = read(metrics, f"{GROUP}listener=L,networkProcessor=0")
        assert listener["connection-count"] == 2
        assert listener["connection-creation-total"] == 2
        assert listener["connection-close-total"] == 0
        assert listener["incoming-byte-total"] == 12 + 6
        assert listener["outgoing-byte-total"] == 12
        assert listener["request-total"] == 2
        assert listener["incoming-byte-rate"] > 0
        assert read(metrics, "kafka.network:type=RequestChannel,name=ResponseQueueSize")["Value"] == 1
        software = f"{GROUP}clientSoftwareName=tester,clientSoftwareVersion=1.0,listener=L,networkProcessor=0"
        assert read(metrics, software)["connections"] == 2
        idle = read(metrics, "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent")["Value"]
        assert 0.0 <= idle <= 1.0
        first.close()
        script.deferred[b"n1"].complete([])
        second.close()
        while server.connection_count:
            gevent.sleep(0)
        metrics.fold()
        assert metrics.find(software) is None
        assert read(metrics, f"{GROUP}listener=L,networkProcessor=0")["connection-close-total"] == 2
    finally:
        server.stop()


def test_the_pauses_of_a_listener_with_too_many_new_connections_are_shown() -> None:
    clock = SimClock()
    metrics = MetricsRegistry(clock)
    endpoint = EndPoint("L", "PLAINTEXT", "127.0.0.1", 0)
    settings = SocketServerSettings(
        endpoints=(endpoint,), max_connection_creation_rate_per_listener={"L": 1}, quota_windows=2, quota_window_ms=200
    )
    server = SocketServer(settings, Script(), metrics=metrics)
    server.start()
    server.enable_processing()
    try:
        pause = "connection-accept-throttle-time"
        assert math.isnan(read(metrics, f"{GROUP}listener=L")[pause])
        first, second = Client(server.bound_port("L")), Client(server.bound_port("L"))
        assert first.ask(b"e") == second.ask(b"e") == b"e", "the second after a pause"
        assert 0 < read(metrics, f"{GROUP}listener=L")[pause] <= 200
        clock.advance(1000)
        metrics.fold()
        assert read(metrics, GROUP.removesuffix(","))["broker-connection-accept-rate"] > 0
    finally:
        server.stop()


def test_connections_of_a_listener_that_is_gone_stay_counted_as_accepted() -> None:
    clock = SimClock()
    metrics = MetricsRegistry(clock)
    stays, goes = (EndPoint(name, "PLAINTEXT", "127.0.0.1", 0) for name in ("STAYS", "GOES"))
    server = SocketServer(SocketServerSettings(endpoints=(stays, goes)), Script(), metrics=metrics)
    server.start()
    server.enable_processing()
    try:
        clients = [Client(server.bound_port("GOES")) for _ in range(3)]
        assert [client.ask(b"e") for client in clients] == [b"e"] * 3
        clock.advance(1000)
        metrics.fold()
        server.use_endpoints_of(SocketServerSettings(endpoints=(stays,)))
        assert all(client.is_closed() for client in clients)
        clock.advance(1000)
        metrics.fold()
        assert read(metrics, GROUP.rstrip(","))["broker-connection-accept-rate"] > 0
        assert metrics.find(f"{GROUP}listener=GOES,networkProcessor=0") is None
    finally:
        server.stop()
