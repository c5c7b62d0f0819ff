"""ZooKeeper over TLS: certificates as identities, the check of names, and networks that are nearly down."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from kafka_zk.zk.errors import ConnectionTimeout
from kafka_zk.zk.identity import identity
from kafka_zk.zk.operations import ANYONE_READ, Acl, Create
from kafka_zk.zk.session import ZkClient
from tests.support.broker import OurBroker
from tests.support.secure_zookeeper import SecureZooKeeper, acls, tls_properties
from tests.support.trickle import Trickle
from tests.support.zookeeper import eventually

LONG = {"zookeeper.session.timeout.ms": "60000"}
OWNER = Acl(31, "x509", "CN=broker")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureZooKeeper]:
    made = SecureZooKeeper(tmp_path_factory.mktemp("secure-zookeeper"))
    made.start()
    yield made
    made.stop()


def client(connect: str, values: dict[str, str], timeout_ms: int = 60_000, session_ms: int = 18_000) -> ZkClient:
    found = identity(values, {})
    return ZkClient(
        connect,
        session_timeout_ms=session_ms,
        connection_timeout_ms=timeout_ms,
        identity=found,
        protects=found.is_somebody,
    )


def test_every_way_of_creating_a_znode_protects_it(server: SecureZooKeeper) -> None:
    """(security 12.36)"""
    zk = client(f"{server.tls_connect}/every/way", tls_properties(server.client_stores()))
    zk.start()
    try:
        paths = [zk.create("/a"), zk.create("/a/b", ephemeral=True), zk.create("/a/n-", sequential=True)]
        paths += [zk.create("/p/q/r", make_parents=True), "/p", "/p/q", "/"]
        zk.ensure_path("/e/f")
        zk.ensure_paths(["/g/h", "/g/i"])
        made = zk.multi([Create("/m"), Create("/m/e", ephemeral=True), Create("/m/s-", sequential=True)])
        for path in [*paths, "/e", "/e/f", "/g", "/g/h", "/g/i", *made]:
            assert zk.get_acl(path) == [OWNER, ANYONE_READ], path
    finally:
        zk.close()


def test_a_broker_with_a_certificate_owns_its_znodes_and_its_session_ends_with_it(
    server: SecureZooKeeper, tmp_path: Path
) -> None:
    values = {**tls_properties(server.client_stores()), "zookeeper.set.acl": "true", **LONG}
    broker = OurBroker(tmp_path, f"{server.tls_connect}/owned", overrides=values).start()
    try:
        lists = acls(f"{server.connect}/owned")
        assert any("id='CN=broker'" in entry for entry in lists["/brokers/ids/0"])
        broker.process.kill()
        # Below its session's timeout: the helper closes it, over TLS.
        eventually(lambda: "/brokers/ids/0" not in acls(f"{server.connect}/owned"), 30)
        assert "changeit-Pw" not in broker.process.output()
    finally:
        broker.stop()


def test_a_server_with_another_name_is_refused_unless_names_do_not_count(tmp_path: Path) -> None:
    server = SecureZooKeeper(tmp_path, sans=("elsewhere.example",))
    server.start()
    try:
        values = tls_properties(server.client_stores())
        with pytest.raises(ConnectionTimeout):
            client(server.tls_connect, values, 2_000).start()
        trusting = client(server.tls_connect, {**values, "zookeeper.ssl.endpoint.identification.algorithm": ""})
        trusting.start()
        trusting.close()
        other = SecureZooKeeper(tmp_path / "other").client_stores()
        with pytest.raises(ConnectionTimeout):
            client(server.tls_connect, {**values, **tls_properties(other)}, 2_000).start()
    finally:
        server.stop()


def test_a_handshake_byte_by_byte_never_stops_the_loop(server: SecureZooKeeper) -> None:
    """(security 12.37)"""
    proxy = Trickle(server.tls_port, pause_s=0.0015)
    zk = client(f"{proxy.connect}/slow", tls_properties(server.client_stores()), session_ms=60_000)
    between_turns: list[int] = []
    ticking = gevent.spawn(_tick, proxy, between_turns)
    try:
        zk.start()
        zk.create("/x", b"y" * 300)
        assert zk.get("/x")[0] == b"y" * 300
        assert len(between_turns) > 100
        # Had the loop stood still for the server's part of a handshake, nearly all of it would have come meanwhile.
        assert max(between_turns) < sum(between_turns) / 4
    finally:
        ticking.kill()
        proxy.pause_s, proxy.size = 0, 65_536
        zk.close()
        proxy.stop()


def test_a_handshake_that_never_ends_is_given_up(server: SecureZooKeeper) -> None:
    """(security 12.37)"""
    proxy = Trickle(server.tls_port, pause_s=0.2)
    zk = client(proxy.connect, tls_properties(server.client_stores()), 1_500, 3_000)
    began = time.monotonic()
    try:
        with pytest.raises(ConnectionTimeout):
            zk.start()
        assert time.monotonic() - began < 20
    finally:
        zk.close()
        proxy.stop()


def test_much_is_read_and_written_over_records_in_parts(server: SecureZooKeeper) -> None:
    proxy = Trickle(server.tls_port, pause_s=0.0, size=1_000)
    zk = client(f"{proxy.connect}/much", tls_properties(server.client_stores()))
    zk.start()
    try:
        values = [bytes([number % 256]) * (number * 37 % 20_000) for number in range(200)]
        zk.multi_many([[Create(f"/n{number}", value)] for number, value in enumerate(values)])
        found = zk.get_many([f"/n{number}" for number in range(200)])
        assert [answer[0] for answer in found if isinstance(answer, tuple)] == values
        assert zk.generation == 1
    finally:
        zk.close()
        proxy.stop()


def _tick(proxy: Trickle, between_turns: list[int]) -> None:
    """How many bytes passed from one turn of the loop to the next."""
    last = proxy.passed_bytes
    while True:
        gevent.sleep(0.01)
        now = proxy.passed_bytes
        between_turns.append(now - last)
        last = now
