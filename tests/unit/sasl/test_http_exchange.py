"""Requests over HTTP end in time, and take what they are told to take."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_zk.sasl.http_exchange import Answer, TooLarge, TooSlow, exchange

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"


@contextmanager
def answering(begin: bytes, *, drips: bool = False, asked_until: bytes = b"") -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers one request with `begin`, and `drips`: one byte more now and then, for ever. Its port, and
    what it was asked, up to `asked_until`."""
    asked: list[bytes] = []
    is_over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening.accept()[0] as accepted:
            asked.append(accepted.recv(1 << 16))
            while not asked[0].endswith(asked_until):
                asked[0] += accepted.recv(1 << 16)
            try:
                accepted.sendall(begin)
                while drips and not is_over.wait(0.02):
                    accepted.sendall(b"1")
            except OSError:
                pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], asked
    finally:
        is_over.set()
        thread.join()
        listening.close()


@pytest.mark.parametrize(("scheme", "begin"), [
    ("http", b""),
    ("http", b"HTTP/1.1 2"),
    ("http", b"HTTP/1.1 200 OK\r\nHeader: "),
    ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n"),
    ("http", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ("https", b"\x16\x03\x03\x40\x00"),
], ids=["nothing", "status", "header", "body", "chunk", "handshake"])  # fmt: skip
def test_an_answer_that_trickles_ends_in_time(scheme: str, begin: bytes) -> None:
    with answering(begin, drips=True) as (port, _):
        began_s = time.monotonic()
        with pytest.raises(TooSlow, match="the answer takes too long"):
            exchange(f"{scheme}://127.0.0.1:{port}/", timeout_s=0.3, max_bytes=100_000)
        assert 0.3 <= time.monotonic() - began_s < 2


def test_a_request_is_answered() -> None:
    with answering(GOOD, asked_until=b"x=y") as (port, asked):
        url = f"http://127.0.0.1:{port}/a/b?c=d#e"
        assert exchange(url, method="POST", body=b"x=y", headers={"Name": "n"}, timeout_s=10, max_bytes=4) == Answer(
            200, b"body"
        )
    assert asked[0].startswith(b"POST /a/b?c=d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port)
    assert b"\r\nName: n\r\n" in asked[0]
    assert asked[0].endswith(b"\r\n\r\nx=y")


def test_an_answer_may_be_too_large() -> None:
    with answering(GOOD) as (port, _), pytest.raises(TooLarge, match="larger than 3 bytes"):
        exchange(f"http://127.0.0.1:{port}", timeout_s=10, max_bytes=3)


def test_no_thread_waits_for_an_exchange_that_is_over() -> None:
    before = threading.active_count()
    with answering(GOOD) as (port, _):
        exchange(f"http://127.0.0.1:{port}", timeout_s=1000, max_bytes=4)
    assert threading.active_count() == before
