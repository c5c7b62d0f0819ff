"""queued.max.request.bytes: whom Apache Kafka lets wait, we let wait."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker

LIMIT = 1_000_000
SETTINGS = {
    "socket.request.max.bytes": str(LIMIT),
    "queued.max.request.bytes": str(LIMIT),
    "num.network.threads": "1",
}
PATIENCE_S = 60
SOON_S = 0.7


@pytest.fixture(params=[ApacheBroker, OurBroker], ids=["apache", "ours"])
def port(request: pytest.FixtureRequest, zookeeper_connect: str, tmp_path: Path) -> Iterator[int]:
    running = request.param(tmp_path, zookeeper_connect, overrides=SETTINGS).start()
    yield running.port
    running.stop()


class Client:
    """An ApiVersions with a client id of any length, sent as far as a test wants."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    def send(self, frame_bytes: int, *, sent_bytes: int | None = None) -> None:
        head = struct.pack(">hhih", 18, 0, 1, -1)
        frame = struct.pack(">i", frame_bytes) + head + bytes(frame_bytes - len(head))
        self._socket.sendall(frame[:sent_bytes])

    def is_answered(self, timeout_s: float = PATIENCE_S) -> bool:
        self._socket.settimeout(timeout_s)
        try:
            (left,) = struct.unpack(">i", self._socket.recv(4))
        except TimeoutError:
            return False
        while left:
            left -= len(self._socket.recv(left))
        return True

    def close(self) -> None:
        self._socket.close()


def test_half_requests_hold_memory_and_one_may_overdraw_it(port: int) -> None:
    first, second, third = Client(port), Client(port), Client(port)
    first.send(LIMIT - 1, sent_bytes=1_000)
    third.send(10)
    assert third.is_answered(), "one byte is left"
    second.send(LIMIT - 1, sent_bytes=1_000)
    # As soon as the broker has seen it there is nothing left, and it is read no further.
    for _ in range(1_000):
        third.send(10)
        if not third.is_answered(SOON_S):
            break
    else:
        raise AssertionError("half requests hold no memory")
    second.close()
    assert third.is_answered()
    first.close()
    third.close()
