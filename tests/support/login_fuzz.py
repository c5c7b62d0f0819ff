"""What comes to a listener before a login: frames and TLS records, good ones and mangled ones, decided by a seed.

Each connection has a chance of its own, made of the seed, the client's number and the connection's, so that one of
them can be repeated alone. (Keys and nonces of TLS are OpenSSL's: what is mangled is the same, the bytes are not.)
"""

from __future__ import annotations

import random
import ssl
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gevent
from gevent import socket as cooperative

from tests.interop.sasl.exchange import (
    Scram,
    authenticate,
    bearer,
    handshake,
    metadata,
    plain,
    unsecured_token,
    versions,
)

GOOD, BAD = plain("alice", "alice-secret"), plain("alice", "wrong")
PATIENCE_S = 0.05
"""So long a client waits for an answer before it goes on."""
RESET = struct.pack("ii", 1, 0)


def good_frames(chance: random.Random) -> list[bytes]:
    """One of each that a login may hold, without its length."""
    scram = Scram()
    return [
        versions(),
        versions(0),
        handshake(chance.choice(("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI", "x" * 200))),
        handshake("PLAIN", 0),
        authenticate(chance.choice((GOOD, BAD, scram.first(), bearer(unsecured_token(0)), b"\x01", b""))),
        authenticate(GOOD, 0),
        metadata(),
        GOOD,
        scram.first(),
    ]


def mangled(data: bytes, chance: random.Random) -> bytes:
    """With a bit flipped, its end cut off, bytes put in, or a length changed; sometimes as it was."""
    changed = bytearray(data)
    match chance.randrange(5):
        case 0 if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        case 1:
            del changed[chance.randrange(len(changed) + 1) :]
        case 2:
            at = chance.randrange(len(changed) + 1)
            changed[at:at] = chance.randbytes(chance.randrange(20))
        case 3 if len(changed) >= 2:
            at = chance.randrange(len(changed) - 1)
            changed[at : at + 2] = chance.choice((b"\xff\xff", b"\x7f\xff", b"\x80\x00", b"\0\0"))
        case _:
            pass
    return bytes(changed)


def wire_of_a_login(chance: random.Random) -> bytes:
    """One frame, good or mangled, with a right length or a wrong one."""
    frame = chance.choice(good_frames(chance))
    frame = mangled(frame, chance) if chance.random() < 0.6 else frame
    return (struct.pack(">i", len(frame)) if chance.random() < 0.95 else chance.randbytes(4)) + frame


def talk(send: Callable[[bytes], object], receive: Callable[[], object], chance: random.Random) -> None:
    """Blocks. Some frames; some answers are awaited."""
    for _ in range(chance.randrange(1, 6)):
        send(wire_of_a_login(chance))
        if chance.random() < 0.5:
            receive()


def connect(port: int) -> Any:
    connection = cooperative.create_connection(("127.0.0.1", port), 10)
    connection.settimeout(PATIENCE_S)
    return connection


def hang_up(connection: Any, chance: random.Random) -> None:
    """With a reset, or as usual."""
    if chance.random() < 0.2:
        connection.setsockopt(cooperative.SOL_SOCKET, cooperative.SO_LINGER, RESET)
    connection.close()


def speak_plainly(port: int, chance: random.Random) -> None:
    """Blocks. Frames without TLS: to a port of SASL_PLAINTEXT, and to one of SASL_SSL that does not expect them."""
    connection = connect(port)
    with suppress(OSError):
        talk(connection.sendall, lambda: connection.recv(65536), chance)
    hang_up(connection, chance)


def speak_tls(port: int, chance: random.Random, ca_pem: Path) -> None:
    """Blocks. A handshake, whole, cut or mangled at some flight; then frames in records, or garbage between them."""
    context = ssl.create_default_context(cafile=str(ca_pem))
    context.check_hostname = False
    if chance.random() < 0.3:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secured = context.wrap_bio(incoming, outgoing)
    connection = connect(port)
    # At which flight of ours, if at all.
    mangled_at, ends_at = (chance.choice((0, 1, 2, None, None, None)) for _ in range(2))
    flight = 0

    def flush() -> None:
        nonlocal flight
        data = outgoing.read()
        if not data:
            return
        data = mangled(data, chance) if flight == mangled_at else data
        if flight == ends_at:
            connection.sendall(data[: chance.randrange(len(data) + 1)])
            raise ConnectionAbortedError
        flight += 1
        connection.sendall(data)

    def fill() -> None:
        data = connection.recv(65536)
        if not data:
            raise ConnectionAbortedError
        incoming.write(data)

    def receive() -> None:
        fill()
        with suppress(ssl.SSLWantReadError):
            secured.read(65536)

    def send(data: bytes) -> None:
        secured.write(data)
        if chance.random() < 0.1:
            connection.sendall(chance.randbytes(chance.randrange(1, 40)))
        flush()

    def shake_hands() -> None:
        while True:
            try:
                return secured.do_handshake()
            except ssl.SSLWantReadError:
                flush()
                fill()

    with suppress(OSError):
        shake_hands()
        flush()
        talk(send, receive, chance)
    hang_up(connection, chance)


class LoginFuzz:
    """Ten clients at a time against the two listeners of a broker."""

    CLIENTS = 10

    def __init__(self, seed: int, plain_port: int, tls_port: int, ca_pem: Path) -> None:
        self._seed = seed
        self._plain_port, self._tls_port, self._ca_pem = plain_port, tls_port, ca_pem
        self.connections: Counter[str] = Counter()
        """How many there were, by their kind."""

    def run(self, until: Callable[[], bool]) -> None:
        """Blocks. May be called again: the clients go on where they were."""
        clients = [gevent.spawn(self._client, number, until) for number in range(self.CLIENTS)]
        gevent.joinall(clients, raise_error=True)

    def _client(self, number: int, until: Callable[[], bool]) -> None:
        while not until():
            self.connections[f"of client {number}"] += 1
            self.one_connection(number, self.connections[f"of client {number}"])

    def one_connection(self, client: int, connection: int) -> None:
        """Blocks. That one alone."""
        chance = random.Random(f"{self._seed}/{client}/{connection}")
        kind = chance.random()
        if kind < 0.45:
            self.connections["plain"] += 1
            speak_plainly(self._plain_port, chance)
        elif kind < 0.55:
            self.connections["plain to TLS"] += 1
            speak_plainly(self._tls_port, chance)
        else:
            self.connections["TLS"] += 1
            speak_tls(self._tls_port, chance, self._ca_pem)

    @property
    def count(self) -> int:
        return sum(self.connections[kind] for kind in ("plain", "plain to TLS", "TLS"))
