"""The keys of an issuer over HTTP: rotation, failures, and answers that never end or never fit."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import gevent
import pytest

from kafka_zk.clock import SimClock, SystemClock
from kafka_zk.config.errors import ConfigException
from kafka_zk.sasl.oauth_http import stores_of
from kafka_zk.sasl.oauth_urls import check_url
from kafka_zk.security.authentication import key_fetcher
from kafka_zk.security.authentication.key_fetcher import FetchFailed, KeyFetcher, fetch
from kafka_zk.security.authentication.settings import KeySource
from tests.support.certificates import CertificateAuthority
from tests.support.oauth_server import OAuthServer
from tests.unit.sasl.test_token_validators import RSA, jwk

KEY = "sasl.oauthbearer.jwks.endpoint.url"


class Issuer:
    """Serves `keys`, or what `answer` does instead."""

    def __init__(self) -> None:
        self.keys = ["one"]
        self.count = 0
        self.answer: Callable[[BaseHTTPRequestHandler], object] | None = None
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.count += 1
                if issuer.answer is not None:
                    issuer.answer(self)
                    return
                body = json.dumps({"keys": [jwk(RSA, kid) for kid in issuer.keys]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/keys"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


def fetcher_of(issuer: Issuer, refresh_ms: int = 3_600_000) -> KeyFetcher:
    return KeyFetcher(KeySource(issuer.url, refresh_ms, 10, 50), SystemClock())


def eventually(condition: Callable[[], object]) -> None:
    with gevent.Timeout(30):
        while not condition():
            gevent.sleep(0.01)


def test_an_unknown_key_id_brings_one_early_look(issuer: Issuer) -> None:
    """(security 12.24: rotation)"""
    fetcher = fetcher_of(issuer)
    fetcher.start()
    try:
        assert fetcher.keys_of("one")
        issuer.keys = ["two"]
        assert not fetcher.keys_of("two"), "this login fails"
        eventually(lambda: fetcher.keys_of("two"))
        for _ in range(100):
            fetcher.keys_of("made up")
        eventually(lambda: issuer.count >= 3)
        gevent.sleep(0.2)
        assert issuer.count == 3
    finally:
        fetcher.stop()


def test_an_issuer_that_is_down_keeps_its_keys(issuer: Issuer) -> None:
    """(security 12.24: JWKS down)"""
    fetcher = fetcher_of(issuer, refresh_ms=100)
    fetcher.start()
    try:
        issuer.answer = lambda request: request.send_error(503)
        eventually(lambda: issuer.count > 5)
        assert fetcher.keys_of("one")
        issuer.answer = None
        issuer.keys = ["two"]
        eventually(lambda: fetcher.keys_of("two"))
    finally:
        fetcher.stop()


def test_an_issuer_that_is_down_is_asked_until_the_time_for_it_is_over(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """(security 12.24) At once, and after 100, 300 and, as 700 is too late, 500 ms: as Apache's brokers ask.

    On a clock that only these pauses move.
    """
    clock = SimClock()
    pauses_ms: list[int] = []

    def pause(seconds: float) -> None:
        pauses_ms.append(round(seconds * 1000))
        clock.advance(pauses_ms[-1])
        gevent.sleep(0)

    fetcher = KeyFetcher(KeySource(issuer.url, 3_600_000, 100, 500), clock)
    fetcher.start()
    try:
        issuer.answer = lambda request: request.send_error(503)
        monkeypatch.setattr(key_fetcher, "gevent", SimpleNamespace(sleep=pause, spawn=gevent.spawn))
        fetcher.keys_of("two")
        eventually(lambda: "could not be refreshed" in caplog.text)
        assert (pauses_ms, issuer.count) == ([100, 200, 200], 5)
    finally:
        fetcher.stop()


def test_the_loop_runs_while_an_issuer_is_slow(issuer: Issuer) -> None:
    has_turned = threading.Event()
    issuer.answer = lambda request: has_turned.wait(5)
    fetcher = fetcher_of(issuer)
    turns = 0

    def count() -> None:
        nonlocal turns
        while True:
            gevent.sleep(0.005)
            turns += 1
            if turns == 20:
                has_turned.set()

    counting = gevent.spawn(count)
    with pytest.raises(ConfigException):
        fetcher.start()
    counting.kill()
    fetcher.stop()
    assert has_turned.is_set()


TRICKLES_S = 30.0


def trickle(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    with suppress(OSError):
        for _ in range(int(TRICKLES_S / 0.05)):
            request.wfile.write(b" ")
            request.wfile.flush()
            time.sleep(0.05)


def flood(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    with suppress(OSError):
        for _ in range(100):
            request.wfile.write(b" " * 65536)


def redirect(request: BaseHTTPRequestHandler) -> None:
    request.send_response(302)
    request.send_header("Location", "file:///etc/passwd")
    request.end_headers()


@pytest.mark.parametrize("answer", [trickle, flood, redirect])
def test_an_answer_has_a_size_and_a_time(
    issuer: Issuer, answer: Callable[[BaseHTTPRequestHandler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_fetcher, "FETCH_S", 0.5)
    issuer.answer = answer
    began_s = time.monotonic()
    with pytest.raises(FetchFailed):
        fetch(issuer.url)
    assert time.monotonic() - began_s < TRICKLES_S / 2


@pytest.mark.parametrize(
    ("names", "trusts", "why"),
    [
        (("localhost",), True, None),
        (("localhost",), False, "SSL handshake failed"),
        (("elsewhere.example",), True, "SSL handshake failed: Hostname mismatch"),
    ],
)
def test_keys_behind_https_come_from_a_server_that_is_trusted(
    tmp_path: Path, names: tuple[str, ...], trusts: bool, why: str | None
) -> None:
    """(security 12.24) The stores are options of the login module; host names are compared whatever these say."""
    stores = CertificateAuthority().issue("server", tmp_path, sans=names)
    trust = {"ssl.truststore.location": f" {stores.ca_pem} ", "ssl.truststore.type": "PEM"} if trusts else {}
    server = OAuthServer(stores)
    context = stores_of(server.keys_url, {**trust, "ssl.endpoint.identification.algorithm": ""})
    try:
        if why is None:
            assert list(fetch(server.keys_url, context)) == ["one"]
        else:
            with pytest.raises(FetchFailed, match=why):
                fetch(server.keys_url, context)
            assert server.key_requests == 0
    finally:
        server.stop()


def test_a_start_asks_an_issuer_again_that_fails_at_first(issuer: Issuer) -> None:
    def fail_once(request: BaseHTTPRequestHandler) -> None:
        issuer.answer = None
        request.send_error(503)

    issuer.answer = fail_once
    fetcher = fetcher_of(issuer)
    fetcher.start()
    assert fetcher.keys_of("one") and issuer.count == 2
    fetcher.stop()


def test_keys_in_a_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "keys of tokens.json"
    file.write_text(json.dumps({"keys": [jwk(RSA, "one")]}))
    assert list(fetch(file.as_uri())) == ["one"]


@pytest.mark.parametrize(
    ("url", "allowed"),
    [("ftp://h/k", None), ("no url", None), ("", None), ("http://h/k", "http://other/k"), ("file:///etc/x", "")],
)
def test_other_urls_are_refused(url: str, allowed: str | None) -> None:
    """CVE-2025-27817"""
    with pytest.raises(ConfigException):
        check_url(url, KEY, allowed)


def test_an_allowed_url_is_taken() -> None:
    check_url("https://h/k", KEY, "https://g/k, https://h/k")
    check_url("http://h/k", KEY)
