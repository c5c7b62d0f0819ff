"""How connections end: what was asked before is answered, what still waits is given up, and nothing is kept."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

import gevent
import pytest
from gevent import socket as cooperative

from kafka_zk.network import server as network_server
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.connection import Connection
from kafka_zk.network.parts import Parts
from kafka_zk.network.server import SocketServer
from tests.integration.network.harness import TIMEOUT_S, Client, Script, answer, connect, framed, serving

BAD_SIZE = struct.pack(">i", -1)


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server looks after its connections every 10 ms; how long they may be idle stays as it is."""
    monkeypatch.setattr(network_server, "MAX_REAP_INTERVAL_MS", 10)


class Left(Script):
    """Notes what happens to the late answers that nobody waits for any more."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[bool] = []

    def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
        late = super().handle(frame, connection)
        if isinstance(late, Deferred):
            late.when_left(self.left.append)
        return late


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Blocks."""
    with gevent.Timeout(TIMEOUT_S, AssertionError(what)):
        while not condition():
            gevent.sleep(0.001)


def everybody_had_a_turn(server: SocketServer) -> None:
    """Blocks. Whatever had come is taken up by now."""
    for _ in range(3):
        other = connect(server)
        assert other.ask(b"e") == b"e"
        other.close()


@pytest.mark.parametrize("garbage", [BAD_SIZE, framed(b"c")], ids=["no frame", "a refused request"])
def test_what_waits_for_its_replicas_is_answered_although_garbage_follows(garbage: bytes) -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        client.send_raw(framed(b"n1") + framed(b"n2") + garbage)
        script.wait_handled(2)
        everybody_had_a_turn(server)
        script.deferred[b"n2"].complete(answer(b"second"))
        script.deferred[b"n1"].complete(answer(b"first"))
        assert [client.receive(), client.receive()] == [b"first", b"second"]
        assert client.is_closed()


def test_a_client_that_sends_no_more_gets_the_answers_that_it_still_reads() -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        client.send(b"n1")
        client.socket.shutdown(cooperative.SHUT_WR)
        script.wait_handled(1)
        everybody_had_a_turn(server)
        script.deferred[b"n1"].complete(answer(b"late"))
        assert client.receive() == b"late"
        assert client.is_closed()


def test_an_answer_that_gets_ready_while_the_last_ones_are_being_sent_is_sent_too() -> None:
    script = Script()
    large = b"x" * 1_000_000
    with serving(script, send_buffer_bytes=4096) as server:
        client = connect(server, receive_buffer_bytes=4096)
        client.send_raw(framed(b"n1") + framed(b"n2") + BAD_SIZE)
        script.wait_handled(2)
        everybody_had_a_turn(server)
        script.deferred[b"n1"].complete(answer(large))
        everybody_had_a_turn(server)
        script.deferred[b"n2"].complete(answer(b"late"))
        assert client.receive() == large
        assert client.receive() == b"late"
        assert client.is_closed()


def test_behind_an_answer_that_failed_nothing_is_answered() -> None:
    script = Left()
    with serving(script) as server:
        client = connect(server)
        client.send(b"e0", b"n1", b"n2", b"n3")
        script.wait_handled(4)
        script.deferred[b"n3"].complete(answer(b"third"))
        script.deferred[b"n1"].fail(RuntimeError("a bug"))
        assert client.receive() == b"e0"
        assert client.is_closed()
        assert script.left == [True], "only the second was still waited for"


@pytest.mark.usefixtures("looks_often")
@pytest.mark.parametrize("ahead", [[], [b"e2"]], ids=["nothing", "a request"])
def test_who_waits_for_an_answer_is_told_that_the_client_has_gone(ahead: list[bytes]) -> None:
    script = Left()
    with serving(script) as server:
        client = connect(server)
        client.send(b"l1", *ahead)
        script.wait_handled(1)
        client.close()
        wait_until(lambda: script.left, "nobody was told")
        assert script.left[0] is False, "it may have ended its stream and still read"
        script.deferred[b"l1"].complete(answer(b"late"))
        wait_until(lambda: not server.connection_count, "the connection stays")


@pytest.mark.usefixtures("looks_often")
@pytest.mark.parametrize("asked", [framed(b"l") + framed(b"e"), framed(b"n") + BAD_SIZE], ids=["a request", "garbage"])
def test_who_is_told_that_the_client_sends_no_more_may_have_to_read(asked: bytes) -> None:
    class Reads(Script):
        def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
            late = super().handle(frame, connection)
            if isinstance(late, Deferred):
                late.when_left(lambda gone: self.read(late))
            return late

        def read(self, late: Deferred) -> None:
            gevent.sleep(0)
            late.complete(answer(b"what there is"))

    script = Reads()
    with serving(script) as server:
        client = connect(server)
        client.send_raw(asked)
        client.socket.shutdown(cooperative.SHUT_WR)
        assert client.receive() == b"what there is"


def test_who_waits_for_an_answer_is_told_that_the_connection_was_closed() -> None:
    script = Left()
    with serving(script) as server:
        client = connect(server)
        client.send(b"l1")
        script.wait_handled(1)
        next(server.connections()).close()
        assert client.is_closed()
        assert script.left == [True]


def test_a_client_that_is_there_and_sends_ahead_is_not_taken_to_have_gone() -> None:
    script = Left()
    with serving(script, max_idle_ms=10_000) as server:
        client = connect(server)
        client.send(b"l1")
        script.wait_handled(1)
        client.send(b"e2")
        everybody_had_a_turn(server)
        for connection in server.connections():
            connection.look_for_end()
        assert script.left == []
        script.deferred[b"l1"].complete(answer(b"late"))
        assert [client.receive(), client.receive()] == [b"late", b"e2"]


@pytest.mark.usefixtures("looks_often")
def test_a_request_that_hangs_gives_its_place_back_when_its_client_has_gone() -> None:
    script = Script()
    with serving(script, queued_max_requests=1) as server:
        hanging, other = connect(server), connect(server)
        hanging.send(b"b")
        script.wait_handled(1)
        other.send(b"e1")
        hanging.close()
        assert other.receive() == b"e1"
        assert server.requests.places_taken == 0
        script.unblock.set()
        wait_until(lambda: server.connection_count == 1, "the connection stays")
        assert server.requests.places_taken == 0, "and is not given back twice"


def test_a_connection_whose_request_hangs_expires_once() -> None:
    script = Script()
    with serving(script, queued_max_requests=1, max_idle_ms=50) as server:
        hanging = connect(server)
        hanging.send(b"b")
        script.wait_handled(1)
        wait_until(lambda: server.idle_closed_count, "it was not idle")
        assert connect(server).ask(b"e1") == b"e1", "its place is free"
        (listener,) = server._listeners.values()
        assert listener.close_idle(time.monotonic_ns()) <= 1, "not the one that expired before"
        script.unblock.set()


def test_a_slow_reader_who_reads_on_is_not_idle() -> None:
    script = Script()
    large = b"x" * 20_000_000
    script.answers.append(answer(large))
    with serving(script, send_buffer_bytes=4096) as server:
        client: Client = connect(server, receive_buffer_bytes=4096)
        client.send(b"s")
        client.receive_exactly(4)
        (listener,) = server._listeners.values()
        since_ns = time.monotonic_ns()
        # More than both kernels' buffers hold.
        client.receive_exactly(len(large) // 2)
        assert listener.close_idle(since_ns) == 0
        client.receive_exactly(len(large) // 2)
