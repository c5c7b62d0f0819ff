"""A broker's own connections over TLS: they end where the other side cannot prove that it is the wanted host."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_server

import gevent
import pytest

from kafka_zk.network.channel import BrokerChannel, PeerSecurity
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.tls_stream import Step, TlsStream
from kafka_zk.protocol.messages.api_versions import ApiVersionsRequest
from kafka_zk.tls.contexts import client_context, server_context
from kafka_zk.tls.settings import TlsSettings
from tests.support.identities import Identity, authority, pem_settings

CA = authority()
ANSWER = bytes.fromhex("00000012000000000000000000010012000000030000")
"""ApiVersions v0 to the first request: no error, one API."""


@contextmanager
def peer(own: Identity, *, shakes_hands: bool = True) -> Iterator[int]:
    """Something that answers one request over TLS; its port."""
    context = server_context(TlsSettings.of(pem_settings(own, CA)))
    listening = create_server(("127.0.0.1", 0))

    def serve() -> None:
        accepted = listening.accept()[0]
        try:
            if not shakes_hands:
                accepted.recv(1 << 16)
                accepted.recv(1)
                return
            with context.wrap_socket(accepted, server_side=True) as secured:
                secured.recv(1 << 16)
                secured.sendall(ANSWER)
                secured.recv(1)
        except OSError:
            pass
        finally:
            accepted.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()


def connect(port: int, *, host: str = "127.0.0.1", trusted: Identity = CA, timeout_ms: int = 5000) -> BrokerChannel:
    security = PeerSecurity(tls=client_context(TlsSettings.of(pem_settings(None, trusted))))
    return BrokerChannel.connect(host, port, client_id="1", connect_timeout_ms=timeout_ms, security=security)


def test_requests_are_answered_over_tls() -> None:
    with peer(CA.issue("broker")) as port:
        channel = connect(port)
        assert channel.send(ApiVersionsRequest(), 0).error_code == 0
        channel.close()


@pytest.mark.parametrize(("own", "trusted"), [
    (CA.issue("broker", hosts=("elsewhere", "127.0.0.2")), CA),
    (CA.issue("127.0.0.1", hosts=()), CA),
    (CA.issue("broker"), authority("Other")),
    (CA.issue("broker", days=-1), CA),
], ids=["another host", "an address as a common name", "another authority", "expired"])  # fmt: skip
def test_a_peer_that_cannot_prove_who_it_is_gets_no_request(own: Identity, trusted: Identity) -> None:
    with peer(own) as port, pytest.raises(NetworkError, match="failed authentication due to: SSL handshake failed"):
        connect(port, trusted=trusted)


def test_a_peer_that_does_not_shake_hands_is_given_up_in_time() -> None:
    with peer(CA.issue("broker"), shakes_hands=False) as port, pytest.raises(NetworkError, match="timed out"):
        connect(port, timeout_ms=300)


def test_a_client_never_falls_back_to_what_it_was_not_told() -> None:
    """A server of an old version only is refused, too."""
    context = client_context(TlsSettings.of(pem_settings(None, CA)))
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.check_hostname and context.verify_mode == ssl.CERT_REQUIRED


def test_a_descriptor_is_not_closed_under_the_thread_that_shakes_hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetcher whose leader changes is killed while it connects; whoever gets the number next was written into."""
    begun, found = threading.Event(), []

    def slowly(stream: TlsStream) -> Step:
        begun.set()
        time.sleep(0.1)
        found.append(stream.sock.fileno())
        return Step.READABLE

    monkeypatch.setattr(TlsStream, "step", slowly)
    with peer(CA.issue("broker")) as port:
        connecting = gevent.spawn(connect, port)
        while not begun.is_set():
            gevent.sleep(0.001)
        connecting.kill()
    assert found and found[0] >= 0
