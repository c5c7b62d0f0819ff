"""What connections leave behind: nothing that waits for Python's collector.

The broker's collector looks at what has survived once only when memory has grown by half
(kafka_zk/garbage_collection.py): a connection that was open then and leaves a cycle would stay until that.
"""

from __future__ import annotations

import gc
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_zk.network.listener_tls import ListenerTls
from kafka_zk.tls.settings import TlsSettings
from tests.integration.network.harness import Client
from tests.integration.network.test_socket_server_logins import BAD, GOOD, LISTENER, login, serving, settle
from tests.interop.sasl.exchange import Scram, authenticate, handshake, token_text, versions
from tests.support.certificates import CertificateAuthority, Stores
from tests.support.login_fuzz import speak_plainly, speak_tls

CONNECTIONS = 5


@contextmanager
def garbage() -> Iterator[Counter[str]]:
    """What the collector finds that the block left behind, by type."""
    found: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(type(each).__qualname__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def good(client: Client) -> None:
    assert login(client)[4:7] == b"\0\0\0"
    client.ask(versions(0))


def good_scram(client: Client) -> None:
    scram = Scram()
    client.ask(handshake("SCRAM-SHA-256"))
    client.ask(authenticate(scram.final(token_text(client.ask(authenticate(scram.first()))))))
    client.ask(versions(0))


def wrong_password(client: Client) -> None:
    client.send(handshake("PLAIN"), authenticate(BAD))
    client.receive()
    client.receive()
    assert client.is_closed()


def raw_token(client: Client) -> None:
    client.ask(handshake("PLAIN", 0))
    assert client.ask(GOOD) == b""


def no_request(client: Client) -> None:
    client.send(b"\xff" * 30)
    assert client.is_closed()


def cut_request(client: Client) -> None:
    client.ask(versions())
    client.send(versions()[:20])
    assert client.is_closed()


def too_large(client: Client) -> None:
    client.send_raw(b"\x7f" * 30)
    assert client.is_closed()


def half_a_frame(client: Client) -> None:
    client.send_raw(b"\0\0\0\x40\0")


LIVES = (good, good_scram, wrong_password, raw_token, no_request, cut_request, too_large, half_a_frame)


@pytest.mark.parametrize("live", LIVES, ids=[live.__name__ for live in LIVES])
def test_a_connection_leaves_no_cycle(live: Callable[[Client], None]) -> None:
    with serving() as served:

        def lives(count: int) -> None:
            for _ in range(count):
                client = served.connect()
                live(client)
                client.close()
            settle(served)

        lives(2)
        with garbage() as found:
            lives(CONNECTIONS)
        assert not found


class OneTls:
    """Every listener has this one's TLS."""

    def __init__(self, stores: Stores) -> None:
        values = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(stores.keystore_pem)}
        self._security = ListenerTls(TlsSettings.of(values), None)

    def of(self, listener_name: str) -> ListenerTls:
        return self._security


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
def test_whatever_comes_before_a_login_leaves_no_cycle(is_tls: bool, seed: int, tmp_path: Path) -> None:
    stores = CertificateAuthority().issue("localhost", tmp_path)
    with serving(tls=OneTls(stores) if is_tls else None) as served:
        port = served.server.bound_port(LISTENER)

        def lives(begin: int, end: int) -> None:
            for number in range(begin, end):
                chance = random.Random(f"{seed}/{number}")
                if is_tls and chance.random() < 0.8:
                    speak_tls(port, chance, stores.ca_pem)
                else:
                    speak_plainly(port, chance)
            settle(served)

        lives(0, 5)
        with garbage() as found:
            lives(5, 45)
        assert not found
