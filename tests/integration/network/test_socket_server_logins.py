"""Logins over real sockets: frames in any pieces, failures that wait while holding nothing, fuzz before a login."""

from __future__ import annotations

import gc
import json
import logging
import random
import select
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import gevent
import pytest
from gevent import Greenlet

from kafka_zk.api import all as all_apis
from kafka_zk.api.before_login import BeforeLogin
from kafka_zk.api.cluster.api_versions import versions_answer
from kafka_zk.api.dispatch import Dispatcher
from kafka_zk.api.registry import ApiRegistry
from kafka_zk.api.services import Services
from kafka_zk.clock import SystemClock
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.listener_tls import TlsListeners
from kafka_zk.network.request_metrics import RequestMetrics
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings
from kafka_zk.sasl.scram_credentials import Mechanism
from kafka_zk.sasl.server.plain import PlainServer
from kafka_zk.sasl.server.scram import ScramServer
from kafka_zk.security.authentication.authenticator import EnabledMechanism, ListenerLogins
from kafka_zk.supervision import unexpected_errors
from tests.integration.network.harness import TIMEOUT_S, Client, connect, framed, resident_bytes
from tests.interop.sasl.exchange import (
    Scram,
    authenticate,
    handshake,
    plain,
    token_text,
    versions,
)
from tests.support.login_fuzz import BAD, GOOD, wire_of_a_login
from tests.unit.sasl.test_server_mechanisms import credential

GOLDEN = Path(__file__).parents[2] / "golden" / "wire" / "java-clients-and-brokers.jsonl"
LISTENER = "SASL_PLAINTEXT"
DELAY_MS = 100


class Serving(NamedTuple):
    server: SocketServer
    request_metrics: RequestMetrics

    @property
    def logins(self) -> Any:
        return self.server._listeners[LISTENER].logins

    def connect(self) -> Client:
        return connect(self.server, LISTENER)


def few_apis() -> ApiRegistry:
    """Those that need no other part of a broker."""
    registry = ApiRegistry()
    for served in all_apis.load():
        if served.key in (17, 18, 36):
            registry.add(served)
    return registry


@contextmanager
def serving(
    max_reauth_ms: int = 0, tls: TlsListeners | None = None, *, queued_max_request_bytes: int = -1
) -> Iterator[Serving]:
    """A server that serves logins and, after them, ApiVersions; with `tls` over SASL_SSL."""
    clock = SystemClock()
    metrics = MetricsRegistry(clock)
    alice = {"alice": credential("alice-secret")}
    mechanisms = {
        "PLAIN": EnabledMechanism(lambda: PlainServer({"alice": "alice-secret"}), max_reauth_ms),
        "SCRAM-SHA-256": EnabledMechanism(lambda: ScramServer(Mechanism.SHA_256, alice.get, lambda: "nonce")),
    }
    services = Services(clock=clock)
    services.authentication = BeforeLogin({LISTENER: ListenerLogins(mechanisms)}, clock, lambda: versions_answer(0))
    request_metrics = RequestMetrics(metrics)
    endpoints = (EndPoint(LISTENER, "SASL_SSL" if tls else LISTENER, "127.0.0.1", 0),)
    settings = SocketServerSettings(
        endpoints=endpoints, failed_login_delay_ms=DELAY_MS, queued_max_request_bytes=queued_max_request_bytes
    )
    server = SocketServer(settings, Dispatcher(services, few_apis(), request_metrics), metrics=metrics, tls=tls)
    server.start()
    server.enable_processing()
    try:
        yield Serving(server, request_metrics)
    finally:
        server.stop()


def login(client: Client, token: bytes = GOOD) -> bytes:
    client.ask(handshake("PLAIN"))
    return client.ask(authenticate(token))


# --- frames --------------------------------------------------------------------------------------------------------


def golden_login() -> list[tuple[bytes, bytes]]:
    """The frames of a Java client that logs in with PLAIN, and Apache's answers."""
    rows = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    found = [row for row in rows if row["seq"] in (704, 705)]
    return [(bytes.fromhex(row["request_hex"]), bytes.fromhex(row["response_hex"])) for row in found]


def test_the_login_of_a_java_client_is_answered_as_apache_did_however_it_is_cut() -> None:
    """(security 12.13)"""
    (shake, _), (token, logged_in) = golden_login()
    stream = framed(shake) + framed(token)
    with serving() as served:
        for cut in range(1, len(stream)):
            client = served.connect()
            client.send_raw(stream[:cut])
            if cut % 8 == 0:
                gevent.sleep(0.001)
            client.send_raw(stream[cut:])
            assert client.receive()[:6] == shake[4:8] + b"\0\0"
            assert client.receive() == logged_in
            client.close()
        assert served.logins.authenticated == len(stream) - 1


def test_a_whole_login_and_a_request_may_come_at_once() -> None:
    """(security 12.13)"""
    with serving() as served:
        client = served.connect()
        client.send(versions(), handshake("PLAIN"), authenticate(GOOD), versions(0))
        answers = [client.receive() for _ in range(4)]
        assert answers[2][4:7] == b"\0\0\0"
        assert len(answers[3]) > 100
        client.close()


def test_a_scram_login_comes_byte_by_byte() -> None:
    """(security 12.13)"""
    with serving() as served:
        client, scram = served.connect(), Scram()

        def ask_slowly(body: bytes) -> bytes:
            for byte in framed(body):
                client.send_raw(bytes([byte]))
                gevent.sleep(0)
            return client.receive()

        ask_slowly(handshake("SCRAM-SHA-256"))
        first = ask_slowly(authenticate(scram.first()))
        final = ask_slowly(authenticate(scram.final(token_text(first))))
        assert token_text(final).startswith(b"v=")
        assert len(ask_slowly(versions(0))) > 100
        client.close()


def test_frames_of_a_login_are_no_requests_in_the_metrics() -> None:
    with serving() as served:
        client = served.connect()
        client.ask(versions())
        login(client)
        assert not [name for name in ("SaslHandshake", "SaslAuthenticate") if served.request_metrics.of(name).rows]
        assert not served.request_metrics.of("ApiVersions").rows
        client.ask(versions(0))
        assert len(served.request_metrics.of("ApiVersions").rows) == 1
        client.close()


def test_a_larger_frame_is_refused_before_the_login_and_taken_after_it() -> None:
    """(security 12.15)"""
    large = framed(versions(0) + bytes(600_000))
    with serving() as served:
        client = served.connect()
        client.send_raw(large[:1000])
        assert client.is_closed()
        assert served.logins.failed == 1
        client = served.connect()
        login(client)
        client.send_raw(large)
        assert len(client.receive()) > 100
        client.close()


def test_a_claimed_size_takes_no_memory_before_a_login() -> None:
    """CVE-2022-34917: arrays and frames that are claimed, not sent."""
    with serving() as served:
        gc.collect()
        before = resident_bytes()
        for _ in range(200):
            client = served.connect()
            client.ask(handshake("PLAIN"))
            # A token of 2^31 - 1 bytes.
            client.send(authenticate(b"")[:-2] + b"\x80\x80\x80\x80\x08" + b"x")
            assert client.is_closed()
            client.close()
        assert resident_bytes() - before < 20 << 20
        assert served.logins.failed == 0


# --- failures ------------------------------------------------------------------------------------------------------


def test_who_has_not_logged_in_takes_no_memory_of_requests() -> None:
    with serving(queued_max_request_bytes=1000) as served:
        memory = served.server.memory
        assert memory is not None
        good = served.connect()
        login(good)
        slow = [served.connect() for _ in range(3)]
        for client in slow:
            client.send_raw(framed(bytes(500_000))[:100])
        assert good.ask(versions(0)) != b"", "it is served"
        assert memory.used_bytes == 0
        good.send_raw(framed(versions(0))[:-1])
        eventually(lambda: memory.used_bytes == len(versions(0)))
        for client in (*slow, good):
            client.close()
        eventually(lambda: memory.used_bytes == 0)


def test_a_failure_counts_at_once_and_is_told_later() -> None:
    """(security 12.16)"""
    with serving() as served:
        client = served.connect()
        client.ask(handshake("PLAIN"))
        began_s = time.monotonic()
        client.send(authenticate(BAD))
        while not served.logins.failed:
            gevent.sleep(0.001)
        # However slow the machine is: a timer that is due earlier has its turn earlier.
        assert not select.select([client.socket], [], [], 0)[0], "it is told later"
        answer = client.receive()
        assert time.monotonic() - began_s >= DELAY_MS / 1000
        assert b"Invalid username or password" in answer
        assert client.is_closed()
        client.close()


def test_no_name_of_a_mechanism_makes_two_lines_of_one_or_a_long_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving() as served:
        client = served.connect()
        client.ask(handshake("X)\n[2026-11-28 13:00:00,000] INFO forged" + 30_000 * "x"))
        client.close()
    (line,) = [record.getMessage() for record in caplog.records if "Failed authentication" in record.getMessage()]
    assert r"(Unsupported SASL mechanism X)\n[2026-11-28 13:00:00,000] INFO forgedxxx" in line
    assert line.isprintable() and len(line) < 400


def test_a_thousand_failures_at_once_hold_up_nobody() -> None:
    """KIP-306: while they sit out their delay they hold no place of a request, no buffer and no time of the loop."""
    with serving() as served:
        good = served.connect()
        login(good)
        gc.collect()
        before = resident_bytes()
        waiting = []
        for _ in range(1000):
            client = served.connect()
            client.send(handshake("PLAIN"), authenticate(BAD))
            waiting.append(client)
        times_s = []
        while served.logins.failed < 1000 or len(times_s) < 50:
            # Of the loop's thread: what other programs do meanwhile does not count.
            began_s = time.thread_time()
            good.ask(versions(0))
            times_s.append(time.thread_time() - began_s)
            gevent.sleep(0)
        assert resident_bytes() - before < 60 << 20
        assert sorted(times_s)[len(times_s) * 99 // 100] < 0.5
        assert served.server.requests.queue_size == 0
        for client in waiting:
            client.receive()
            assert b"Invalid" in client.receive()
            client.close()
        good.close()


def test_wrong_passwords_that_come_at_once_are_refused_in_turns_with_others() -> None:
    """Whoever has logged in waits for some of them, not for the burst."""
    with serving() as served:
        good = served.connect()
        login(good)
        waiting = [served.connect() for _ in range(300)]
        gevent.sleep(0.1)
        for client in waiting:
            client.send(handshake("PLAIN"), authenticate(BAD))
        failed_counts = [0]
        while served.logins.failed < 300:
            good.ask(versions(0))
            failed_counts.append(served.logins.failed)
        assert max(after - before for before, after in pairwise(failed_counts)) < 60, failed_counts
        for client in waiting:
            client.receive()
            assert b"Invalid" in client.receive()
            client.close()
        good.close()


def test_a_server_that_stops_does_not_wait_for_failed_logins() -> None:
    with serving() as served:
        client = served.connect()
        client.send(handshake("PLAIN"), authenticate(BAD))
        client.receive()
        began_s = time.monotonic()
        served.server.stop()
        assert time.monotonic() - began_s < 2
        client.close()


def test_a_known_and_an_unknown_user_are_told_the_same() -> None:
    with serving() as served:
        told = []
        for user in ("alice", "nobody"):
            client = served.connect()
            told.append(login(client, plain(user, "wrong")))
            client.close()
        assert told[0] == told[1]


# --- sessions ------------------------------------------------------------------------------------------------------


def test_a_session_that_has_ended_ends_with_its_next_request_and_not_before() -> None:
    """(security 12.25)"""
    with serving(max_reauth_ms=200) as served:
        idle, busy = served.connect(), served.connect()
        for client in (idle, busy):
            assert login(client)[-9:-1] == struct.pack(">q", 200)
        gevent.sleep(0.3)
        busy.send(versions(0))
        assert busy.is_closed()
        assert served.logins.expired == served.server.killed_sessions_count == 1
        assert served.server.connection_count == 1, "one that asks for nothing lives on"
        login(idle)
        assert len(idle.ask(versions(0))) > 100
        assert (served.logins.authenticated, served.logins.reauthenticated) == (2, 1)
        for client in (idle, busy):
            client.close()


def test_a_client_of_version_0_counts_as_one_that_cannot_log_in_again() -> None:
    with serving() as served:
        for version in (0, 1):
            client = served.connect()
            client.ask(handshake("PLAIN"))
            client.ask(authenticate(GOOD, version))
            client.close()
        assert (served.logins.authenticated, served.logins.without_reauthentication) == (2, 1)


# --- fuzz ----------------------------------------------------------------------------------------------------------


def one_fuzzed_connection(served: Serving, chance: random.Random) -> None:
    """Blocks. Some frames, good or mangled, framed rightly or not; then whatever the server says to them."""
    client = served.connect()
    client.socket.settimeout(0.05)
    try:
        for _ in range(chance.randrange(1, 6)):
            client.send_raw(wire_of_a_login(chance))
            if chance.random() < 0.5:
                client.socket.recv(65536)
    except (OSError, TimeoutError):
        pass
    finally:
        client.close()


def fuzz(served: Serving, seed: int, until: Callable[[], bool]) -> int:
    """Blocks. Fuzzes with ten clients at a time; how many connections there were."""
    count = 0

    def client(number: int) -> None:
        nonlocal count
        chance = random.Random(f"{seed}-{number}")
        while not until():
            one_fuzzed_connection(served, chance)
            count += 1

    gevent.joinall([gevent.spawn(client, number) for number in range(10)], raise_error=True)
    return count


def live_greenlets() -> int:
    gc.collect()
    return sum(isinstance(each, Greenlet) and not each.dead for each in gc.get_objects())


@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_whatever_comes_before_a_login_leaves_nothing_behind(seconds: int, caplog: pytest.LogCaptureFixture) -> None:
    """(security 12.39): no traceback, flat memory, no greenlet left."""
    with serving() as served:
        fuzz(served, 1, deadline(1))
        settle(served)
        before, greenlets, errors = resident_bytes(), live_greenlets(), sum(unexpected_errors.values())
        assert fuzz(served, 2, deadline(seconds)) > 20 * seconds
        settle(served)
        assert live_greenlets() <= greenlets
        assert resident_bytes() - before < 30 << 20
        assert sum(unexpected_errors.values()) == errors
        assert not [record for record in caplog.records if record.exc_info], caplog.text
        client = served.connect()
        assert login(client)[4:7] == b"\0\0\0"
        client.close()


def eventually(claim: Callable[[], bool]) -> None:
    with gevent.Timeout(TIMEOUT_S):
        while not claim():
            gevent.sleep(0.001)


def deadline(seconds: float) -> Callable[[], bool]:
    end_s = time.monotonic() + seconds
    return lambda: time.monotonic() > end_s


def settle(served: Serving) -> None:
    """Blocks until every connection is over."""
    with gevent.Timeout(10, AssertionError("connections are left")):
        while served.server.connection_count:
            gevent.sleep(0.01)
