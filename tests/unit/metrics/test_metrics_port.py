"""The metrics port beside clients that do not end: what they may take, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gevent
import pytest
from gevent import socket

from kafka_zk.broker.parts import METRICS_DESCRIPTORS
from kafka_zk.clock import SystemClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.giving_way import let_others_in
from kafka_zk.log.segments.open_segments import connections_for
from kafka_zk.metrics import MetricsRegistry, http
from kafka_zk.metrics.http import MetricsServer
from tests.support.looks_at_sockets import looks_at_sockets

PATIENCE_S = 20


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    registry = MetricsRegistry(SystemClock())
    names = ("A", "B", "C")

    def rows() -> Any:
        for number in range(20_000):
            yield (("topic", "t" * 100), ("partition", str(number))), (number,) * 3

    registry.gauge_table("kafka.cluster:type=Partition", names, rows, row_count=lambda: 20_000)
    server = MetricsServer(registry, host="127.0.0.1", port=0)
    server.start()
    yield server
    server.stop()


def connect(server: MetricsServer) -> Any:
    client: Any = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)
    return client


def scrape(server: MetricsServer) -> bytes:
    """Blocks. A page, from a client that reads on."""
    with connect(server) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        return b"".join(iter(lambda: client.recv(1 << 20), b""))


def everybody_had_a_turn() -> None:
    for _ in range(20):
        gevent.sleep(0.001)


def test_unfinished_requests_take_eight_connections_and_end(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "REQUEST_S", 0.5)
    clients = [connect(server) for _ in range(50)]
    for client in clients:
        client.sendall(b"GET /metrics HT")
    everybody_had_a_turn()
    open_now = len(server._server.pool or clients)
    assert open_now == http.MAX_CONNECTIONS
    for client in clients:
        assert client.recv(1) == b"", "given up"
        client.close()
    # A page of this size may take longer on a busy machine.
    monkeypatch.undo()
    assert scrape(server).startswith(b"HTTP/1.1 200")


def test_a_scrape_that_is_given_up_waits_for_nothing_more(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "REQUEST_S", 0.5)
    clients = [connect(server) for _ in range(http.MAX_CONNECTIONS)]
    for client in clients:
        # A body that never comes, and an answer that nobody reads.
        client.sendall(b"GET /metrics HTTP/1.1\r\nContent-Length: 10\r\n\r\n")
    everybody_had_a_turn()
    monkeypatch.undo()
    assert scrape(server).startswith(b"HTTP/1.1 200"), "it came after them"


def test_slow_readers_share_pages(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = [connect(server) for _ in range(http.MAX_CONNECTIONS - 1)]
    for client in clients:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert client.recv(10) == b"HTTP/1.1 2"
    assert len(server._pages) == http.MAX_PAGES
    assert b"kafka_cluster_partition" in scrape(server)
    for client in clients:
        client.close()
    with gevent.Timeout(PATIENCE_S):
        while server._pages:
            gevent.sleep(0.001)


def test_whoever_sends_a_request_to_the_broker_has_a_turn_after_each_slice_of_a_scrape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "SLICE_NS", 0)
    assert looks_at_sockets(http._slices())


def test_requests_in_one_go_have_their_turns_like_others(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "SLICE_NS", 0)
    turns = 0
    turns_seen: list[int] = []
    answer = server._server.application

    def noted(*arguments: Any) -> Any:
        turns_seen.append(turns)
        return answer(*arguments)

    def take_turns() -> None:
        nonlocal turns
        while True:
            let_others_in()
            turns += 1

    server._server.application = noted
    other = gevent.spawn(take_turns)
    with connect(server) as client:
        client.sendall(b"GET /nothing HTTP/1.1\r\n\r\n" * 9 + b"GET /nothing HTTP/1.0\r\n\r\n")
        while client.recv(1 << 20):
            pass
    other.kill()
    assert len(turns_seen) == 10
    assert len(set(turns_seen)) > 5


def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    def host_of(**keys: str) -> str:
        given = {"zookeeper.connect": "z:1", **{f"kafka_zk.metrics.{key}": value for key, value in keys.items()}}
        return BrokerConfig.from_properties(given).kafka_zk_metrics_host

    assert host_of(port="0") == "127.0.0.1"
    assert host_of(port="0", host="") == ""
    assert host_of(port="0", host="10.0.0.1") == "10.0.0.1"


def test_its_sockets_are_not_those_of_clients() -> None:
    assert METRICS_DESCRIPTORS == http.MAX_CONNECTIONS + 1
    assert connections_for(1000, METRICS_DESCRIPTORS) == connections_for(1000) - METRICS_DESCRIPTORS


@pytest.mark.parametrize("path", [b"/metrics", b"/nowhere"])
def test_nothing_follows_the_head_that_was_asked_for(server: MetricsServer, path: bytes) -> None:
    """A client that keeps the connection would take it for its next answer."""
    with connect(server) as client:
        client.sendall(b"HEAD " + path + b" HTTP/1.1\r\nHost: h\r\n\r\nGET /end HTTP/1.0\r\n\r\n")
        told = b"".join(iter(lambda: client.recv(1 << 20), b""))
    first, second, body = told.split(b"\r\n\r\n")
    assert b"\r\nContent-Length: 0" not in first
    assert second.startswith(b"HTTP/1.1 404")
    assert body == b"The metrics are at /metrics.\n"
