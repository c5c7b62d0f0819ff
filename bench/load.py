"""A load generator that is cheaper than the brokers it loads: it sends frames encoded beforehand and counts bytes.

The answer to each frame has a size that does not change (asked once, before the load), so answers are told apart
without looking at them. Their bytes are not even copied from the kernel (recv with MSG_TRUNC); over TLS they are
decrypted, which no client can save.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from selectors import EVENT_READ, DefaultSelector

RECEIVE_BYTES = 4 << 20
DRAIN_TIMEOUT_S = 30


@dataclass(frozen=True)
class Outcome:
    """What one load did."""

    answered_count: int
    seconds: float
    answer_bytes: int
    latencies_ns: Sequence[int] = field(repr=False)

    @property
    def per_second(self) -> float:
        return self.answered_count / self.seconds

    def latency_ms(self, share: float) -> float:
        ordered = sorted(self.latencies_ns)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e6


@dataclass(frozen=True)
class Exchange:
    """A frame and the size of its answer, both with the size prefix."""

    frame: bytes
    answer_bytes: int


def ask(port: int, frame: bytes) -> bytes:
    """One frame, one whole answer without its size prefix, on a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as sock:
        sock.sendall(frame)
        (size,) = struct.unpack(">i", _exactly(sock, 4))
        return _exactly(sock, size)


def _exactly(sock: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = sock.recv(size - len(received))
        if not chunk:
            raise ConnectionError("the broker closed the connection")
        received += chunk
    return bytes(received)


class Client:
    """One connection that goes through its exchanges round and round, `in_flight` of them on their way."""

    def __init__(self, port: int, exchanges: Sequence[Exchange], tls: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self._next = cycle(exchanges)
        self._sent: deque[tuple[int, int]] = deque()
        self._received = 0

    def send(self, count: int) -> None:
        """Send the next `count` frames together."""
        exchanges = [next(self._next) for _ in range(count)]
        now = time.monotonic_ns()
        self._sent.extend((exchange.answer_bytes, now) for exchange in exchanges)
        self.socket.sendall(b"".join([exchange.frame for exchange in exchanges]))

    def receive(self, buffer: bytearray, latencies_ns: list[int]) -> int:
        """Take what has come; how many answers are complete with it."""
        if isinstance(self.socket, ssl.SSLSocket):
            size = self.socket.recv_into(buffer)
            # What is decrypted already wakes no selector.
            while size and (pending := self.socket.pending()):
                size += self.socket.recv_into(buffer, pending)
        else:
            size = self.socket.recv_into(buffer, 0, socket.MSG_TRUNC)
        if not size:
            raise ConnectionError("the broker closed the connection")
        self._received += size
        now, count, sent = time.monotonic_ns(), 0, self._sent
        while sent and self._received >= sent[0][0]:
            answer_bytes, sent_ns = sent.popleft()
            self._received -= answer_bytes
            latencies_ns.append(now - sent_ns)
            count += 1
        return count

    @property
    def unanswered_count(self) -> int:
        return len(self._sent)

    def close(self) -> None:
        self.socket.close()


def run(
    port: int,
    exchanges: Sequence[Sequence[Exchange]],
    *,
    in_flight: int,
    seconds: float,
    max_count: int = 1 << 62,
    tls: ssl.SSLContext | None = None,
) -> Outcome:
    """Load a broker for `seconds`, or until `max_count` requests were sent; then wait for the answers still out.

    Each list of exchanges has a connection of its own. Only what was answered within `seconds` counts for the rate,
    everything for `answered_count`.
    """
    selector = DefaultSelector()
    buffer = bytearray(RECEIVE_BYTES)
    latencies_ns: list[int] = []
    clients = [Client(port, list_of_one, tls) for list_of_one in exchanges]
    try:
        started = time.monotonic()
        for client in clients:
            selector.register(client.socket, EVENT_READ, client)
            client.send(in_flight)
        sent_count = in_flight * len(clients)
        deadline = started + seconds
        while sent_count < max_count and time.monotonic() < deadline:
            for key, _ in selector.select(1):
                count = key.data.receive(buffer, latencies_ns)
                if count:
                    key.data.send(count)
                    sent_count += count
        _drain(clients, selector, buffer, latencies_ns)
        took = time.monotonic() - started
    finally:
        for client in clients:
            client.close()
        selector.close()
    size = sum(exchange.answer_bytes for exchange in exchanges[0]) / len(exchanges[0])
    return Outcome(len(latencies_ns), took, int(size), latencies_ns)


def _drain(clients: Sequence[Client], selector: DefaultSelector, buffer: bytearray, latencies_ns: list[int]) -> None:
    deadline = time.monotonic() + DRAIN_TIMEOUT_S
    while any(client.unanswered_count for client in clients):
        if time.monotonic() > deadline:
            raise TimeoutError("answers are missing")
        for key, _ in selector.select(1):
            key.data.receive(buffer, latencies_ns)
