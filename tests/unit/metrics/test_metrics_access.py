"""Who may read the metrics, and what a wire shows of them."""

from __future__ import annotations

import base64
import logging
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import pytest
from gevent import socket

from kafka_zk.broker.metrics_port import metrics_server
from kafka_zk.clock import SystemClock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.describe import describe_broker
from kafka_zk.config.errors import ConfigException
from kafka_zk.metrics import MetricsRegistry, http
from kafka_zk.metrics.access import BasicAccess
from kafka_zk.metrics.http import MetricsServer
from tests.support.certificates import CertificateAuthority, Stores
from tests.support.processes import wait_until

PATIENCE_S = 20
Start = Callable[..., MetricsServer]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[MetricsServer] = []

    def start_one(**keys: str) -> MetricsServer:
        server = metrics_server(config(**keys), MetricsRegistry(SystemClock()), 0)
        server.start()
        started.append(server)
        return server

    yield start_one
    for server in started:
        server.stop()


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return CertificateAuthority().issue("broker", tmp_path / "stores")


def config(**keys: str) -> BrokerConfig:
    given = {f"kafka_zk.metrics.{name.replace('_', '.')}": value for name, value in keys.items()}
    return BrokerConfig.from_properties({"zookeeper.connect": "z:1", **given})


def status(server: MetricsServer, path: str = "/metrics", user: str = "", tls: ssl.SSLContext | None = None) -> int:
    """Of a request by the standard library's client, in a thread of its own."""
    request = urllib.request.Request(f"http{'s' if tls else ''}://127.0.0.1:{server.port}{path}")
    if user:
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")

    def ask() -> int:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S, context=tls) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            assert error.code != 401 or error.headers["WWW-Authenticate"] == 'Basic realm="kafka_zk", charset="UTF-8"'
            return error.code

    return int(gevent.get_hub().threadpool.apply(ask))


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("Basic " + base64.b64encode("müller:a:b".encode()).decode(), True),
        ("basic " + base64.b64encode("müller:a:b".encode()).decode(), True),
        ("Basic " + base64.b64encode("müller:a".encode()).decode(), False),
        ("Basic " + base64.b64encode(b"miller:a:b").decode(), False),
        ("Basic " + base64.b64encode(b"m").decode(), False),
        ("Basic !", False),
        ("Basic ü", False),
        ("Bearer " + base64.b64encode("müller:a:b".encode()).decode(), False),
        ("", False),
        (None, False),
    ],
)
def test_only_the_right_name_and_password_are_let_in(header: str | None, allowed: bool) -> None:
    access = BasicAccess("müller", "a:b")
    assert access.allows(header) is allowed
    assert "a:b" not in repr(access)


def test_every_path_asks_for_the_password(start: Start) -> None:
    server = start(basic_username="prometheus", basic_password="pw-4711")
    assert status(server) == status(server, "/nowhere") == status(server, user="prometheus:wrong") == 401
    assert status(server, user="prometheus:pw-4711") == 200
    assert status(server, "/nowhere", user="prometheus:pw-4711") == 404


def test_the_password_may_be_in_a_file(start: Start, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("pw-4711\n")
    server = start(basic_username="prometheus", basic_password_file=str(tmp_path / "password"))
    assert status(server, user="prometheus:pw-4711") == 200


def test_with_a_key_store_it_speaks_tls_alone(start: Start, stores: Stores) -> None:
    server = start(ssl_keystore_location=str(stores.keystore_pem))
    assert status(server, tls=ssl.create_default_context(cafile=stores.ca_pem)) == 200
    with pytest.raises(OSError):  # a reset, or the end before an answer
        status(server)


def test_it_may_ask_for_a_certificate(start: Start, stores: Stores) -> None:
    keys = {"ssl_keystore_location": str(stores.keystore_pem), "ssl_truststore_location": str(stores.ca_pem)}
    server = start(**keys, ssl_client_auth="required")
    trusting = ssl.create_default_context(cafile=stores.ca_pem)
    with pytest.raises(OSError):  # an alert, or the end before an answer
        status(server, tls=trusting)
    trusting.load_cert_chain(stores.keystore_pem)
    assert status(server, tls=trusting) == 200


def test_a_handshake_that_never_ends_gives_its_place_back(
    start: Start, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "REQUEST_S", 0.3)
    server = start(ssl_keystore_location=str(stores.keystore_pem))
    before = threading.active_count()
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(http.MAX_CONNECTIONS)]
    assert status(server, tls=ssl.create_default_context(cafile=stores.ca_pem)) == 200
    for client in idle:
        assert client.recv(1) == b""
        client.close()
    wait_until(lambda: threading.active_count() <= before, "their threads have ended")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"basic_password": "pw-4711"}, r"basic\.username must be a name without a colon"),
        ({"basic_username": "a:b", "basic_password": "pw-4711"}, "must be a name without a colon"),
        ({"basic_username": "a"}, r"One of .*basic\.password and .*basic\.password\.file must be set"),
        ({"basic_username": "a", "basic_password": ""}, "is empty"),
        ({"basic_username": "a", "basic_password_file": "/nowhere"}, "cannot be read: FileNotFoundError"),
        ({"ssl_client_auth": "required"}, r"is set, but neither .*ssl\.keystore\.location nor \.key"),
        ({"ssl_keystore_location": "/nowhere"}, "Failed to load PEM SSL keystore /nowhere"),
        ({"ssl_keystore_location": "/x", "ssl_keystore_password": "pw-4711"}, "password cannot be specified with PEM"),
    ],
)
def test_what_cannot_protect_it_stops_the_start(keys: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigException, match=message) as caught:
        metrics_server(config(**keys), MetricsRegistry(SystemClock()), 0)
    assert "pw-4711" not in str(caught.value)


def test_a_password_in_the_clear_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    keys = {"basic_username": "a", "basic_password": "pw-4711"}
    metrics_server(config(**keys), MetricsRegistry(SystemClock()), 0)
    assert caplog.messages == []
    caplog.set_level(logging.WARNING)
    metrics_server(config(**keys, host=""), MetricsRegistry(SystemClock()), 0)
    assert "The password of the metrics endpoint travels in the clear" in caplog.text
    assert "pw-4711" not in caplog.text


def test_describe_configs_hides_its_passwords() -> None:
    names = ["kafka_zk.metrics.basic.password", "kafka_zk.metrics.ssl.key.password"]
    made = config(basic_password="pw-4711", ssl_key_password="pw-4712")
    for entry in describe_broker(made, names):
        assert (entry.sensitive, entry.value) == (True, None)
