"""A socket server with a handler that does what the frames say, and clients for it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gevent import socket as cooperative
from gevent.event import Event

from kafka_zk.config.endpoints import EndPoint
from kafka_zk.network.answer_queue import Deferred
from kafka_zk.network.connection import Connection
from kafka_zk.network.errors import CloseConnection
from kafka_zk.network.parts import Parts
from kafka_zk.network.server import SocketServer
from kafka_zk.network.settings import SocketServerSettings

TIMEOUT_S = 30
"""How long a client waits before a test has failed; nothing here takes a fiftieth of it."""


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def answer(body: bytes) -> Parts:
    return [framed(body)]


class Slice:
    """A part of an open file that knows whether it was released."""

    def __init__(self, fileno: int, position: int, size_bytes: int, *, is_cold: bool = False) -> None:
        self.fileno = fileno
        self.position = position
        self.size_bytes = size_bytes
        self.is_cold = is_cold
        self.is_intact = True
        self.release_count = 0

    def release(self) -> None:
        self.release_count += 1


class Script:
    """The handler. A frame's first byte says what happens to it:

    e: echo   l: a deferred answer   n: the same, but the next request may start   s: the next of `answers`
    b: block until `unblock`   m: echo, then mute for `mute_ms`   c: close the connection   x: a bug   0: no answer
    """

    def __init__(self) -> None:
        self.handled: list[bytes] = []
        self.deferred: dict[bytes, Deferred] = {}
        self.answers: list[Parts] = []
        self.unblock = Event()
        self.seen = Event()
        self.running_count = 0
        self.mute_ms = 1000

    def handle(self, frame: memoryview, connection: Connection) -> Parts | Deferred:
        body = bytes(frame)
        self.handled.append(body)
        self.seen.set()
        match body[:1]:
            case b"l" | b"n":
                self.deferred[body] = Deferred(lets_next_start=body[:1] == b"n")
                return self.deferred[body]
            case b"s":
                return self.answers.pop(0)
            case b"b":
                self.running_count += 1
                self.unblock.wait(TIMEOUT_S)
                self.running_count -= 1
                assert bytes(frame) == body, "the frame belongs to its request until the handler returns"
            case b"m":
                connection.mute(self.mute_ms)
            case b"c":
                raise CloseConnection("asked for")
            case b"x":
                raise RuntimeError("a bug in the handler")
            case b"0":
                return []
        return answer(body)

    def wait_handled(self, count: int) -> None:
        """Blocks. Until `count` requests have reached the handler."""
        while len(self.handled) < count:
            self.seen.clear()
            assert self.seen.wait(TIMEOUT_S), f"{len(self.handled)} of {count} requests handled"


class Client:
    """One connection, with time limits so that a test fails instead of hanging."""

    def __init__(self, port: int, *, host: str = "127.0.0.1", receive_buffer_bytes: int | None = None) -> None:
        self.socket: Any = cooperative.socket(cooperative.AF_INET6 if ":" in host else cooperative.AF_INET)
        if receive_buffer_bytes is not None:
            self.socket.setsockopt(cooperative.SOL_SOCKET, cooperative.SO_RCVBUF, receive_buffer_bytes)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect((host, port))

    def send(self, *bodies: bytes) -> None:
        """Blocks. All frames in one go."""
        self.socket.sendall(b"".join(framed(body) for body in bodies))

    def send_raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """Blocks. The body of the next answer."""
        (size,) = struct.unpack(">i", self.receive_exactly(4))
        return self.receive_exactly(size)

    def receive_exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = self.socket.recv(min(size, 1 << 20))
            assert part, "the server closed the connection"
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def ask(self, body: bytes) -> bytes:
        self.send(body)
        return self.receive()

    def is_closed(self) -> bool:
        """Blocks. Until the server closes (True) or sends something (False)."""
        try:
            return bool(self.socket.recv(1) == b"")
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()


@contextmanager
def serving(handler: Any, *endpoints: EndPoint, **settings: Any) -> Iterator[SocketServer]:
    """A running server on free ports, stopped at the end."""
    points = endpoints or (EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0),)
    server = SocketServer(SocketServerSettings(endpoints=points, **settings), handler)
    server.start()
    try:
        server.enable_processing()
        yield server
    finally:
        server.stop()


def connect(server: SocketServer, listener: str = "PLAINTEXT", **options: Any) -> Client:
    return Client(server.bound_port(listener), **options)


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
