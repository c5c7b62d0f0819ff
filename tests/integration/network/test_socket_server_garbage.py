"""Garbage and half-open connections: closed with one line, and nobody else notices."""

from __future__ import annotations

import logging
import random
import socket
import struct

import gevent
import pytest

from kafka_zk.network.frames import MIN_LARGE_BYTES
from tests.integration.network.harness import Script, Slice, answer, connect, framed, resident_bytes, serving

TLS_CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(200)

GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "a TLS hello": TLS_CLIENT_HELLO,
    "a negative size": struct.pack(">i", -7) + b"abc",
    "an oversized frame": struct.pack(">i", 104857601) + b"abc",
    "random bytes": b"\xff" + random.Random(5).randbytes(300),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_ends_its_connection_with_one_line(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving(Script()) as server:
        good, bad = connect(server), connect(server)
        caplog.clear()
        bad.send_raw(GARBAGE[kind])
        assert bad.is_closed()
        assert good.ask(b"e") == b"e"
        (line,) = [record for record in caplog.records if record.name.startswith("kafka.network")]
        assert line.levelno == logging.WARNING
        assert "Unexpected error from /127.0.0.1 (channelId=127.0.0.1:" in line.getMessage()
        assert "Invalid receive (size = " in line.getMessage()


def test_what_came_before_the_garbage_is_still_answered() -> None:
    with serving(Script()) as server:
        client = connect(server)
        client.send_raw(framed(b"e1") + framed(b"e2") + struct.pack(">i", -1))
        assert [client.receive(), client.receive()] == [b"e1", b"e2"]
        assert client.is_closed()


def test_a_handler_that_refuses_a_request_ends_the_connection_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Script()) as server:
        client = connect(server)
        caplog.clear()
        client.send(b"e1", b"c", b"e2")
        assert client.receive() == b"e1"
        assert client.is_closed()
        (line,) = caplog.records
        assert "Closing socket for 127.0.0.1:" in line.getMessage()
        assert "because of error: asked for" in line.getMessage()


def test_a_bug_in_the_handler_ends_only_its_own_connection(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Script()) as server:
        client, other = connect(server), connect(server)
        client.send(b"x")
        assert client.is_closed()
        assert other.ask(b"e") == b"e"
        assert "RuntimeError: a bug in the handler" in caplog.text


def test_what_was_asked_before_a_request_that_meets_a_bug_is_answered() -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        client.send(b"n", b"e2", b"x", b"e4")
        script.wait_handled(3)
        script.deferred[b"n"].complete(answer(b"late"))
        assert [client.receive(), client.receive()] == [b"late", b"e2"]
        assert client.is_closed()
        assert script.handled == [b"n", b"e2", b"x"]


def test_behind_half_an_answer_nothing_is_sent() -> None:
    class Broken(Slice):
        @property
        def is_intact(self) -> bool:  # type: ignore[override]
            script.deferred[b"n"].complete(answer(b"late"))
            raise RuntimeError("a bug in a slice")

        @is_intact.setter
        def is_intact(self, _: bool) -> None:
            pass

    script = Script()
    head = framed(bytes(100_000))[:4]
    script.answers.append([head, Broken(-1, 0, 100_000)])
    with serving(script) as server:
        client = connect(server)
        client.send(b"s", b"n")
        assert client.receive_exactly(4) == head
        assert client.is_closed()


def test_ten_thousand_requests_at_once_are_answered_in_order_whenever_the_client_reads() -> None:
    requests = [b"e%d" % number for number in range(10_000)]
    with serving(Script(), send_buffer_bytes=4096) as server:
        client, other = connect(server, receive_buffer_bytes=4096), connect(server)
        sending = gevent.spawn(client.send, *requests)
        for _ in range(100):
            assert other.ask(b"e") == b"e"
        assert [client.receive() for _ in requests] == requests
        sending.get()


def test_a_frame_that_comes_byte_by_byte_is_a_frame() -> None:
    with serving(Script()) as server:
        client = connect(server)
        for byte in framed(b"e-slowly"):
            client.send_raw(bytes([byte]))
        assert client.receive() == b"e-slowly"


def test_a_frame_cut_in_two_by_the_end_of_the_stream_is_dropped_quietly(caplog: pytest.LogCaptureFixture) -> None:
    script = Script()
    with serving(script) as server:
        client = connect(server)
        caplog.clear()
        client.send_raw(framed(b"e1") + framed(b"e-never whole")[:9])
        assert client.receive() == b"e1"
        client.socket.shutdown(socket.SHUT_WR)
        assert client.is_closed()
        assert script.handled == [b"e1"]
        assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


def test_frames_larger_than_every_buffer_arrive_whole() -> None:
    body = b"e" + random.Random(9).randbytes(5_000_000)
    with serving(Script()) as server:
        client = connect(server)
        # Told as a bool: pytest would look for the difference of two such texts for hours.
        arrived_whole = client.ask(body) == body
        assert arrived_whole
        assert client.ask(b"e-small again") == b"e-small again"


def test_a_frame_of_exactly_the_limit_is_served_and_one_more_byte_is_not() -> None:
    with serving(Script(), max_request_bytes=1000) as server:
        client = connect(server)
        assert client.ask(b"e" * 1000) == b"e" * 1000
        client.send(b"e" * 1001)
        assert client.is_closed()


def test_half_open_connections_by_the_thousand_cost_little_and_hold_up_nobody() -> None:
    announced = struct.pack(">i", 100_000_000) + b"and no more"
    with serving(Script(), backlog_size=2000) as server:
        good = connect(server)
        assert good.ask(b"e") == b"e"
        before = resident_bytes()
        half_open = [socket.create_connection(("127.0.0.1", server.bound_port("PLAINTEXT"))) for _ in range(1000)]
        try:
            for sock in half_open:
                sock.sendall(announced)
            while server.connection_count < 1001:
                assert good.ask(b"e") == b"e"
            for _ in range(100):
                assert good.ask(b"e") == b"e"
            cost = (resident_bytes() - before) / 1000
            assert cost < 60_000 + MIN_LARGE_BYTES, f"{cost:.0f} bytes a connection"
        finally:
            for sock in half_open:
                sock.close()


def test_a_thousand_open_connections_cost_less_than_60_kb_each(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Script(), backlog_size=2000) as server:
        good = connect(server)
        good.ask(b"e")
        before = resident_bytes()
        clients = [socket.create_connection(("127.0.0.1", server.bound_port("PLAINTEXT"))) for _ in range(1000)]
        try:
            # Each has sent and received something: what is left is the price of being idle.
            for sock in clients:
                sock.sendall(framed(b"e" + b"x" * 10_000))
            while server.connection_count < 1001 or any(
                c.last_active_ns == c.received_ns for c in server.connections()
            ):
                assert good.ask(b"e") == b"e"
            cost = (resident_bytes() - before) / 1000
            with capsys.disabled():
                print(f"\nidle connection: {cost / 1000:.1f} KB resident, client side included")
            assert cost < 60_000
        finally:
            for sock in clients:
                sock.close()
