"""Servers that accept a connection and then say nothing: kazoo's own loop over a simulated wire and clock."""

from __future__ import annotations

import math
import struct
import threading
from types import SimpleNamespace
from typing import Any

import gevent.threadpool
import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped
from kazoo.protocol import connection as kazoo_connection
from kazoo.protocol.serialization import Exists
from kazoo.retry import ForceRetryError, KazooRetry

from kafka_zk.zk import kazoo_pipeline
from kafka_zk.zk.kazoo_loop import LoopHandler
from kafka_zk.zk.kazoo_pipeline import pipeline

SESSION_S = 60.0
GRANTED = struct.pack(">iiqi16s?", 0, int(SESSION_S * 1000), 0x1000, 16, b"p" * 16, False)
NO_NODE = -101
PING_XID = -2
MOMENT_S = 0.001
HORIZON_S = 1_000.0


class EndOfTime(Exception):
    """The connection outlived the test."""


class Wire(LoopHandler):
    """One server, the way to it, and the clock: `select` moves it to what happens next.

    The server answers until `silent_from_s`, `answers_after_s` after it was asked. `asks_every_s`: how often somebody
    here has a request. `stands_still` (at, until): this process does not run in between; with `as_machine` nothing
    arrives in between either.
    """

    def __init__(
        self,
        *,
        silent_from_s: float = math.inf,
        answers_after_s: float = MOMENT_S,
        asks_every_s: float = math.inf,
        stands_still: tuple[float, float] = (math.inf, math.inf),
        as_machine: bool = False,
    ) -> None:
        super().__init__(server_count=1)
        self.now_s = 0.0
        self.pings_s: list[float] = []
        self.client: Any = None
        self._silent_from_s, self._answers_after_s = silent_from_s, answers_after_s
        self._asks_every_s, self._asks_at_s = asks_every_s, asks_every_s
        self._stands_still, self._as_machine = stands_still, as_machine
        self._arrivals: list[tuple[float, bytes]] = []
        self._wakes = 0

    # -- as kazoo's handler

    def create_connection(self, *args: Any, timeout: float | None = None, **options: Any) -> Any:
        return self

    def select(self, readers: Any, writers: Any, errors: Any, timeout: float | None = None) -> Any:
        if writers:
            return [], writers, []
        until_s = self.now_s + (timeout or 0)
        while not (ready := self._readable(readers)) and self.now_s < until_s:
            self._pass_to(min([until_s, self._asks_at_s, *(at for at, _ in self._arrivals)]))
        return ready, [], []

    def _readable(self, readers: Any) -> list[Any]:
        if self._asks_at_s <= self.now_s:
            self._asks_at_s = self.now_s + self._asks_every_s
            self.client._queue.append((Exists("/x", None), self.async_result()))
            self._wakes += 1
        arrived = any(at <= self.now_s for at, _ in self._arrivals)
        ready = {self: arrived, self.client._connection._read_sock: self._wakes > 0}
        return [each for each in readers if ready[each]]

    def _pass_to(self, next_s: float) -> None:
        began_s, ended_s = self._stands_still
        if next_s > began_s:
            next_s, self._stands_still = max(next_s, ended_s), (math.inf, math.inf)
            if self._as_machine:
                self._arrivals = [(at + ended_s - began_s, frame) for at, frame in self._arrivals]
        self.now_s = next_s
        if self.now_s > HORIZON_S:
            raise EndOfTime

    # -- as the socket

    def send(self, frames: bytes) -> int:
        if self.now_s == 0:
            self._arrive(GRANTED)
            return len(frames)
        position = 0
        while position < len(frames):
            size, xid = struct.unpack_from(">ii", frames, position)
            position += 4 + size
            if xid == PING_XID:
                self.pings_s.append(self.now_s)
            if self.now_s < self._silent_from_s:
                self._arrive(struct.pack(">iqi", xid, 1, 0 if xid == PING_XID else NO_NODE))
        return len(frames)

    def _arrive(self, body: bytes) -> None:
        self._arrivals.append((self.now_s + self._answers_after_s, struct.pack(">i", len(body)) + body))

    def recv(self, size: int) -> bytes:
        _, whole = self._arrivals.pop(0)
        if whole[size:]:
            self._arrivals.insert(0, (self.now_s, whole[size:]))
        return whole[:size]

    def setblocking(self, _: bool) -> None:
        """Nothing blocks here."""

    def close(self) -> None:
        """Nothing is open."""


class WakeUps:
    """The end of kazoo's socket pair that a request wakes its loop with."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def recv(self, count: int) -> None:
        self._wire._wakes -= count


def given_up_at(wire: Wire, monkeypatch: pytest.MonkeyPatch, host: str = "zk1") -> float:
    """When the connection was given up, in seconds. Raises EndOfTime."""
    clock = SimpleNamespace(monotonic=lambda: wire.now_s)
    monkeypatch.setattr(kazoo_connection, "time", clock)
    monkeypatch.setattr(kazoo_pipeline, "time", clock, raising=False)
    wire.client = pipeline(KazooClient(host, timeout=SESSION_S, handler=wire))
    wire.client._connection._read_sock = WakeUps(wire)
    wire.client._connection._connect_attempt(host, "10.0.0.1", 2181, KazooRetry())
    return wire.now_s


def test_a_server_that_says_nothing_is_given_up_while_another_can_still_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = Wire(silent_from_s=100)
    heard_s = 100 - SESSION_S / 6
    assert given_up_at(wire, monkeypatch) - heard_s >= SESSION_S * 7 / 12
    assert wire.now_s - 100 <= SESSION_S * 3 / 4


@pytest.mark.parametrize("asks_every_s", [0.1, 1, 9, 15])
def test_requests_to_a_silent_server_are_no_sign_of_its_life(
    monkeypatch: pytest.MonkeyPatch, asks_every_s: float
) -> None:
    wire = Wire(silent_from_s=100, asks_every_s=asks_every_s)
    assert given_up_at(wire, monkeypatch) - 100 <= SESSION_S * 3 / 4


def test_a_server_is_asked_for_a_sign_of_life_every_sixth_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire()
    with pytest.raises(EndOfTime):
        given_up_at(wire, monkeypatch)
    pauses = [late - early for early, late in zip(wire.pings_s, wire.pings_s[1:], strict=False)]
    assert pauses and max(pauses) <= SESSION_S / 6 + MOMENT_S


@pytest.mark.parametrize("asks_every_s", [math.inf, 1])
@pytest.mark.parametrize("still_s", [10, 59, 300])
@pytest.mark.parametrize("answers_after_s", [MOMENT_S, 25])
@pytest.mark.parametrize("began_s", [95, 99.9, 109])
@pytest.mark.parametrize("as_machine", [False, True])
def test_a_healthy_server_is_never_given_up_because_this_process_stood_still(
    monkeypatch: pytest.MonkeyPatch,
    asks_every_s: float,
    still_s: float,
    answers_after_s: float,
    began_s: float,
    as_machine: bool,
) -> None:
    wire = Wire(
        asks_every_s=asks_every_s,
        answers_after_s=answers_after_s,
        stands_still=(began_s, began_s + still_s),
        as_machine=as_machine,
    )
    with pytest.raises(EndOfTime):
        given_up_at(wire, monkeypatch)


def test_what_has_arrived_is_read_before_a_silence_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(silent_from_s=100)
    given_up_at(wire, monkeypatch)
    connection = wire.client._connection
    connection._socket = wire
    with pytest.raises(ConnectionDropped):
        connection._give_up_if_silent()
    wire._arrive(b"a watch event")
    wire.now_s += 10
    connection._give_up_if_silent()


def test_a_standstill_does_not_hide_that_a_server_has_fallen_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(silent_from_s=100, stands_still=(110, 130))
    assert given_up_at(wire, monkeypatch) <= 130 + SESSION_S * 3 / 4


def test_one_server_of_an_ensemble_has_its_share_of_the_session_to_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr("kazoo.handlers.utils.create_tcp_connection", lambda *_, **options: asked.update(options))
    LoopHandler(server_count=3).create_connection(address=("10.0.0.1", 2181), timeout=SESSION_S)
    assert asked["timeout"] == SESSION_S / 3


def test_a_server_that_was_given_up_is_tried_last(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(silent_from_s=100)
    given_up_at(wire, monkeypatch, "10.0.0.1")
    wire.client.hosts = [("10.0.0.1", 2181), ("10.0.0.2", 2181), ("10.0.0.3", 2181)]
    for _ in range(20):
        assert wire.client._connection._expand_client_hosts()[-1] == ("10.0.0.1", "10.0.0.1", 2181)


def test_a_resolver_that_does_not_answer_does_not_stop_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_in: list[int] = []

    def getaddrinfo(host: str, port: int, *_: Any) -> list[Any]:
        asked_in.append(threading.get_ident())
        return [(0, 0, 0, "", ("10.0.0.1", port))]

    monkeypatch.setattr(kazoo_connection.socket, "getaddrinfo", getaddrinfo)
    client = pipeline(KazooClient("zk1:2181", handler=Wire()))
    assert client._connection._expand_client_hosts() == [("zk1", "10.0.0.1", 2181)]
    assert asked_in and threading.get_ident() not in asked_in


def test_a_reconnect_that_finds_no_thread_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else leaves kazoo's loop ends it, and the session goes while its server still has it."""

    def refused(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    hub = SimpleNamespace(threadpool=gevent.threadpool.ThreadPool(1))
    monkeypatch.setattr(kazoo_pipeline, "gevent", SimpleNamespace(get_hub=lambda: hub))
    monkeypatch.setattr(gevent.threadpool, "start_new_thread", refused)
    client = pipeline(KazooClient("127.0.0.1:2181", handler=Wire()))
    with pytest.raises(ForceRetryError):
        client._connection._connect_loop(KazooRetry())
