"""This broker's SASL login on a connection to another broker, and its renewal.

Role        Acts: sends and receives the frames of a `Login`. Its steps run in a thread: SCRAM computes for long.
Invariants  A socket whose login failed is closed.
Source      SaslClientAuthenticator, KafkaChannel.maybeBeginClientReauthentication in Kafka 3.9.
"""

from __future__ import annotations

import math
import random
import socket
import time
from collections.abc import Callable
from struct import Struct
from typing import Protocol

import gevent
from gevent import get_hub
from gevent import socket as cooperative

from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.sasl.client.login import Login, LoginFailed, LoginInterrupted

MAX_ANSWER_BYTES = 1024 * 1024
"""Far more than any broker answers while somebody logs in."""

BeginLogin = Callable[[Login | None], Login]
"""Begins a login, or one that renews another."""

_SIZE = Struct(">i")


class Stream(Protocol):
    """A non-blocking connection: a socket, or one under TLS."""

    def send(self, data: bytes | memoryview, /) -> int: ...

    def recv_into(self, room: memoryview, /) -> int: ...


class PeerSession:
    """A login that is complete, and when to renew it."""

    def __init__(self, begin: BeginLogin, login: Login) -> None:
        self._begin = begin
        self._login = login
        self._renew_at_s = _renewal_of(login)
        self._renew_from_s = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._renew_at_s

    def renew(self, exchange: Callable[[bytes], bytes]) -> None:
        """Blocks: until it may be renewed, and in `exchange`, which sends a frame and returns the answer.

        Raises LoginFailed, LoginInterrupted, DecodeError, and what `exchange` raises.
        """
        # Sooner the others would refuse it.
        gevent.sleep(max(0.0, self._renew_from_s - time.monotonic()))
        login = self._begin(self._login)
        frame: bytes | None = login.begin()
        while frame is not None:
            frame = _step(login, exchange(frame))
        self._login = login
        self._renew_at_s = _renewal_of(login)
        self._renew_from_s = time.monotonic() + login.renewal_pause_ms / 1000


def logged_in(stream: socket.socket | Stream, begin: BeginLogin, address: str, deadline_s: float) -> PeerSession:
    """Blocks until `deadline_s` (monotonic). Log in on a fresh connection; closes it and raises NetworkError if that
    fails."""
    is_done = False
    try:
        login = begin(None)
        frame: bytes | None = login.begin()
        while frame is not None:
            _send(stream, frame, deadline_s)
            frame = _step(login, _receive(stream, deadline_s))
        is_done = True
    except (LoginFailed, DecodeError) as error:
        raise NetworkError(f"Connection to {address} failed authentication due to: {error}") from error
    except OSError as error:
        raise NetworkError(f"Connection to {address} terminated during authentication: {error}") from error
    finally:
        if not is_done:
            _socket_of(stream).close()
    return PeerSession(begin, login)


def _renewal_of(login: Login) -> float:
    after_ms = login.renewal_after_ms(random.random())
    return math.inf if after_ms is None else time.monotonic() + after_ms / 1000


def _step(login: Login, answer: bytes) -> bytes | None:
    """Blocks for a thread. What `login` sends next."""
    outcome = get_hub().threadpool.apply(_outcome, (login, answer))
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _outcome(login: Login, answer: bytes) -> bytes | LoginFailed | LoginInterrupted | DecodeError | None:
    """Errors are returned: the hub would print what a thread raises."""
    try:
        return login.received(answer)
    except (LoginFailed, LoginInterrupted, DecodeError) as error:
        return error


def _send(stream: socket.socket | Stream, frame: bytes, deadline_s: float) -> None:
    left = memoryview(frame)
    while left:
        try:
            left = left[stream.send(left) :]
        except BlockingIOError:
            _wait(cooperative.wait_write, stream, deadline_s)


def _receive(stream: socket.socket | Stream, deadline_s: float) -> bytes:
    (size,) = _SIZE.unpack(_exactly(stream, _SIZE.size, deadline_s))
    if not 0 <= size <= MAX_ANSWER_BYTES:
        raise ConnectionError(f"Invalid receive (size = {size})")
    return _exactly(stream, size, deadline_s)


def _exactly(stream: socket.socket | Stream, size: int, deadline_s: float) -> bytes:
    received = bytearray(size)
    room = memoryview(received)
    while room:
        try:
            count = stream.recv_into(room)
        except BlockingIOError:
            _wait(cooperative.wait_read, stream, deadline_s)
            continue
        if not count:
            raise ConnectionError("the broker closed the connection")
        room = room[count:]
    return bytes(received)


def _wait(wait: Callable[..., None], stream: socket.socket | Stream, deadline_s: float) -> None:
    wait(_socket_of(stream).fileno(), max(0.0, deadline_s - time.monotonic()), TimeoutError("timed out"))


def _socket_of(stream: socket.socket | Stream) -> socket.socket:
    found = getattr(stream, "sock", stream)
    assert isinstance(found, socket.socket)
    return found
