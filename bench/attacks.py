"""What bad actors do to a broker, at a rate that leaves room on two cores. Each attack runs in a process of its own.

Role        Used by bench/bad_actors.py: `Attack.start` begins one, `stop` ends it and tells how much was done.
            Attackers run at a lower priority (NICER), send frames made beforehand, and read no answers.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import shutil
import socket
import ssl
import struct
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any

from bench.process import set_priority
from tests.interop.sasl.exchange import Scram, authenticate, bearer, handshake, metadata, plain, token_text, versions
from tests.interop.sasl.test_signed_tokens import signed
from tests.support.login_fuzz import BAD, GOOD

NICER = 10
"""By so much the priority of an attacker is lower than that of the brokers and their client."""
TURN_S = 0.01
CONNECT_PATIENCE_S = 30


@dataclass(frozen=True)
class Ports:
    """The listeners of one broker."""

    ssl: int
    sasl: int


@dataclass(frozen=True)
class Done:
    """What an attack did: connections, or bytes of those that send bit by bit."""

    count: int
    seconds: float


@dataclass(frozen=True)
class Attack:
    """`frames_of` makes what the connections send, again and again; a connection is closed after `hold_s`.

    `most`: no further one is opened then, and they stay. `bytes_at_once`: 0 for all at once, or a few each turn.
    """

    name: str
    rate: int
    """Connections a second; of those that send bit by bit, bytes a second of all together."""
    frames_of: Callable[[Ports], Iterator[bytes]]
    uses_tls_port: bool = False
    hold_s: float = 0.2
    most: int = 0
    is_slow: bool = False
    is_renegotiation: bool = False

    def start(self, ports: Ports, nice: int) -> Running:
        """Blocks until it is under way; of those with a number of connections, until half are open."""
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_run, args=(self.name, ports, nice + NICER, theirs), daemon=True
        )
        process.start()
        theirs.close()
        ours.recv()
        return Running(process, ours)


class Running:
    def __init__(self, process: Any, pipe: Pipe) -> None:
        self._process = process
        self._pipe = pipe

    def stop(self) -> Done:
        """Blocks."""
        self._pipe.send("stop")
        done = self._pipe.recv()
        self._process.join()
        assert isinstance(done, Done)
        return done


# --- what is sent ---------------------------------------------------------------------------------------------------


def _glued(*frames: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


def _hello(ports: Ports) -> bytes:
    out = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
    return out.read()


def _half_hellos(ports: Ports) -> Iterator[bytes]:
    whole = _hello(ports)
    return itertools.repeat(whole[: len(whole) // 2])


def _whole_hellos(ports: Ports) -> Iterator[bytes]:
    return itertools.repeat(_hello(ports))


def _claims_of_2_gb(ports: Ports) -> Iterator[bytes]:
    return itertools.repeat(struct.pack(">i", 2**31 - 1) + bytes(100))


def _wrong_passwords(ports: Ports) -> Iterator[bytes]:
    return (
        _glued(handshake("PLAIN"), authenticate(BAD if number % 2 else plain(f"nobody{number}", "guess")))
        for number in itertools.count()
    )


def _replayed_nonces(ports: Ports) -> Iterator[bytes]:
    """A login that was overheard, word by word."""
    scram = Scram()
    with socket.create_connection(("127.0.0.1", ports.sasl), 30) as sock:
        for frame in (handshake("SCRAM-SHA-256"), authenticate(scram.first())):
            sock.sendall(_glued(frame))
            answer = sock.recv(65536)[4:]
    overheard = scram.final(token_text(answer))
    return itertools.repeat(_glued(handshake("SCRAM-SHA-256"), authenticate(scram.first()), authenticate(overheard)))


def _forged_tokens(ports: Ports) -> Iterator[bytes]:
    """Not signed; signed with a secret; signed with a key that the issuer does not know, another one each time."""
    forged = [
        text
        for number in range(100)
        for text in (signed(None, alg="none"), signed("secret" * 10, alg="HS256"), signed(kid=f"unknown-{number}"))
    ]
    return itertools.cycle([_glued(handshake("OAUTHBEARER"), authenticate(bearer(text))) for text in forged])


def _glued_requests(ports: Ports) -> Iterator[bytes]:
    return itertools.cycle(
        [
            _glued(metadata(), versions(0)),
            _glued(handshake("PLAIN"), metadata(), authenticate(GOOD), versions(0)),
            _glued(handshake("PLAIN"), authenticate(GOOD), metadata(), versions(0), handshake("PLAIN"), metadata()),
        ]
    )


ATTACKS = (
    Attack("5,000 half-open TLS handshakes", 1000, _half_hellos, uses_tls_port=True, most=5000),
    Attack("500 handshakes byte by byte", 2000, _whole_hellos, uses_tls_port=True, most=500, is_slow=True),
    Attack("renegotiation", 10, _whole_hellos, uses_tls_port=True, is_renegotiation=True),
    Attack("SASL frames that claim 2 GB", 500, _claims_of_2_gb),
    Attack("wrong passwords", 1000, _wrong_passwords, hold_s=0.5),
    Attack("replayed nonces of SCRAM", 300, _replayed_nonces, hold_s=0.5),
    Attack("tokens: none, HS256, unknown keys", 300, _forged_tokens, hold_s=0.5),
    Attack("requests glued around a login", 300, _glued_requests, hold_s=0.5),
)


# --- in the attacker's process --------------------------------------------------------------------------------------


def _run(name: str, ports: Ports, nice: int, pipe: Pipe) -> None:
    os.setsid()
    set_priority(os.getpid(), nice)
    attack = next(each for each in ATTACKS if each.name == name)
    port = ports.ssl if attack.uses_tls_port else ports.sasl
    if attack.is_renegotiation:
        pipe.send(_renegotiate(attack, port, pipe))
    elif attack.is_slow:
        pipe.send(_trickle(attack, port, next(attack.frames_of(ports)), pipe))
    else:
        pipe.send(_connect_and_send(attack, port, attack.frames_of(ports), pipe))


def _connect(port: int, timeout_s: float = 1) -> socket.socket:
    """A connection that never blocks. A full backlog is the attacker's loss."""
    sock = socket.socket()
    sock.settimeout(timeout_s)
    sock.connect(("127.0.0.1", port))
    sock.setblocking(False)
    return sock


def _connect_and_send(attack: Attack, port: int, frames: Iterator[bytes], pipe: Pipe) -> Done:
    held: deque[tuple[float, socket.socket]] = deque()
    began_s, count, under_way = time.monotonic(), 0, False
    while not pipe.poll():
        now_s = time.monotonic()
        due = min(int((now_s - began_s) * attack.rate), attack.most or 1 << 62)
        # What was missed on a busy machine is not made up for: no bursts.
        for _ in range(min(due - count, max(1, int(attack.rate * TURN_S * 2)))):
            with suppress(OSError):
                sock = _connect(port)
                held.append((now_s, sock))
                sock.send(next(frames))
            count += 1
        while not attack.most and held and now_s - held[0][0] > attack.hold_s:
            held.popleft()[1].close()
        if not under_way and (now_s - began_s > 2 or (attack.most and count >= attack.most // 2)):
            under_way = True
            pipe.send("under way")
        time.sleep(TURN_S)
    took_s = time.monotonic() - began_s
    for _, sock in held:
        sock.close()
    return Done(count, took_s)


def _trickle(attack: Attack, port: int, hello: bytes, pipe: Pipe) -> Done:
    """Each connection sends the next byte in its turn; the last one never."""
    slow = [(_connect(port, CONNECT_PATIENCE_S), itertools.count()) for _ in range(attack.most)]
    began_s, count = time.monotonic(), 0
    pipe.send("under way")
    for sock, position in itertools.cycle(slow):
        if pipe.poll():
            break
        with suppress(OSError):
            at = next(position)
            sock.send(hello[at : at + 1] if at < len(hello) - 1 else b"")
        count += 1
        time.sleep(max(0.0, began_s + count / attack.rate - time.monotonic()))
    for sock, _ in slow:
        sock.close()
    return Done(count, time.monotonic() - began_s)


def _renegotiate(attack: Attack, port: int, pipe: Pipe) -> Done:
    """openssl's client asks for it when it reads R."""
    assert shutil.which("openssl"), "openssl is needed for this attack"
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_2"]
    began_s, count = time.monotonic(), 0
    running: deque[subprocess.Popen[bytes]] = deque()
    pipe.send("under way")
    while not pipe.poll():
        client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running.append(client)
        count += 1
        time.sleep(max(0.0, began_s + count / attack.rate - time.monotonic()))
        assert client.stdin is not None
        with suppress(OSError):
            client.stdin.write(b"R\nR\n")
            client.stdin.flush()
        if len(running) > attack.rate:
            _end(running.popleft())
    for client in running:
        _end(client)
    return Done(count, time.monotonic() - began_s)


def _end(client: subprocess.Popen[bytes]) -> None:
    client.kill()
    with suppress(OSError):
        client.communicate()
