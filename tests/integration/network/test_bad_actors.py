"""Clients that are slow or greedy on purpose: others go on, and what they take is bounded. (issue 16, bad actors)"""

from __future__ import annotations

import gc
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path

import gevent
import pytest

from kafka_zk.network import tls_transport
from kafka_zk.tls.contexts import server_context
from kafka_zk.tls.settings import TlsSettings
from tests.integration.network.harness import resident_bytes
from tests.integration.network.test_socket_server_leftovers import OneTls
from tests.integration.network.test_socket_server_logins import GOOD, LISTENER, serving, settle
from tests.integration.network.test_socket_server_tls import client_hello
from tests.interop.sasl.exchange import authenticate, handshake, metadata, versions
from tests.support.certificates import CertificateAuthority

SLOW = 300
LIMIT_S = 3.0


def good_login_s(port: int, ca_pem: Path) -> float:
    """Seconds of a whole login over TLS, by a thread: this loop serves it meanwhile."""

    def log_in() -> float:
        began_s = time.perf_counter()
        context = ssl.create_default_context(cafile=str(ca_pem))
        with (
            socket.create_connection(("127.0.0.1", port), 30) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secured,
        ):
            for body in (handshake("PLAIN"), authenticate(GOOD), versions(0)):
                secured.sendall(len(body).to_bytes(4, "big") + body)
                assert secured.recv(65536)
        return time.perf_counter() - began_s

    return float(gevent.get_hub().threadpool.apply(log_in))


def test_handshakes_byte_by_byte_hold_up_nobody_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow-loris: each sends a byte of its ClientHello now and then."""
    monkeypatch.setattr(tls_transport, "HANDSHAKE_TIMEOUT_S", LIMIT_S)
    stores = CertificateAuthority().issue("localhost", tmp_path)
    hello = client_hello()
    with serving(tls=OneTls(stores)) as served:
        port = served.server.bound_port(LISTENER)
        calm_s = sorted(good_login_s(port, stores.ca_pem) for _ in range(20))
        gc.collect()
        before = resident_bytes()
        slow = [served.connect() for _ in range(SLOW)]
        times_s = []
        for position in range(20):
            for client in slow:
                client.send_raw(hello[position : position + 1])
            times_s.append(good_login_s(port, stores.ca_pem))
        assert resident_bytes() - before < SLOW * 100_000
        # They share one loop with this test, which has just written to all of them.
        assert sorted(times_s)[-2] < calm_s[-2] + 0.5
        for client in slow:
            assert client.is_closed()
            client.close()
        settle(served)
        good_login_s(port, stores.ca_pem)


def test_no_listener_renegotiates() -> None:
    context = server_context(TlsSettings.of({}))
    assert context.options & ssl.OP_NO_RENEGOTIATION


@pytest.mark.parametrize("glued", ["before the token", "instead of it"])
def test_a_request_among_the_frames_of_a_login_ends_it(glued: str, caplog: pytest.LogCaptureFixture) -> None:
    """All in one go: nothing behind the failure is served, and one line tells."""
    caplog.set_level("INFO")
    frames = [
        handshake("PLAIN"),
        metadata(),
        *([authenticate(GOOD), versions(0)] if glued == "before the token" else []),
    ]
    with serving() as served:
        client = served.connect()
        client.send(*frames)
        assert client.receive()[4:6] == b"\0\0"
        with suppress(AssertionError):
            while True:
                assert len(client.receive()) < 100, "the list of APIs, or of brokers"
        client.close()
        settle(served)
        assert (served.logins.authenticated, served.logins.failed) == (0, 1)
    assert len([record for record in caplog.records if "Failed authentication" in record.getMessage()]) == 1
