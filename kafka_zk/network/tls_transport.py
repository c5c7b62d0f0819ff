"""Transport under TLS: the handshake, and the same bytes and slices encrypted.

Role        As PlainTransport, for listeners of SSL and SASL_SSL. A slice is read in chunks and encrypted here, or left
            to sendfile where the kernel has proved that it encrypts this connection.
Invariants  A step of a handshake, which signs for up to some milliseconds, runs in one of few threads: a crowd of new
            clients delays each other, not those that are served.
            A handshake begins when the first record is there, and ends after HANDSHAKE_TIMEOUT_S.
            Other greenlets run between two chunks.
            All transports gather what they send in one `room`: nothing of it outlives a send, which copies what the
            socket does not take.
Source      SslTransportLayer in Kafka 3.9, whose only limit is connections.max.idle.ms.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any

from gevent import get_hub

from kafka_zk.network.errors import EndOfStream, HandshakeFailed, PeerClosed, RefusedPrincipal
from kafka_zk.network.listener_tls import ListenerTls
from kafka_zk.network.parking import Parking
from kafka_zk.network.parts import IN_MEMORY, FileSlice, Part, part_size
from kafka_zk.network.read_watch import ReadWatch
from kafka_zk.network.tls_stream import CHUNK_BYTES, HEADER_BYTES, RECORD_BYTES, Step, TlsStream
from kafka_zk.network.transport import (
    COPIED_BYTES,
    LOOKED_FOR_BYTES,
    WINDOW_BYTES,
    bring_in,
    fill,
    fill_if_in_memory,
    send_chunk,
)
from kafka_zk.tls.contexts import iana_name
from kafka_zk.tls.mapping_rules import NoMatchingRule
from kafka_zk.worker_pool import WorkerPool

HANDSHAKE_TIMEOUT_S = 30.0
"""Java's clients give up after 30 s, too (request.timeout.ms, socket.connection.setup.timeout.max.ms)."""

log = logging.getLogger("kafka.network.SocketServer")


class TlsTransport:
    """One client's connection to a listener of SSL or SASL_SSL."""

    __slots__ = (
        "_failure",
        "_handshakes",
        "_kernel_encrypts",
        "_parking",
        "_pool",
        "_room",
        "_security",
        "_stream",
        "_watch",
        "cipher",
        "sock",
    )

    def __init__(
        self,
        sock: socket.socket,
        parking: Parking,
        *,
        pool: WorkerPool,
        handshakes: WorkerPool,
        watch: ReadWatch,
        security: ListenerTls,
        room: memoryview,
    ) -> None:
        """`room` has CHUNK_BYTES, and is shared."""
        self.sock = sock
        self.cipher: tuple[str, str] | None = None
        self._parking = parking
        self._pool = pool
        self._handshakes = handshakes
        self._watch = watch
        self._room = room
        self._security = security
        self._kernel_encrypts = False
        self._stream: TlsStream | None = None
        self._failure = ""
        try:
            self._stream = TlsStream(sock, security.context)
            self.sock = self._stream.sock
        except OSError as error:
            # The client has gone already; told by `handshake`.
            self._failure = str(error)

    def handshake(self) -> str:
        """Blocks. Returns the principal that the client's certificate stands for, User:ANONYMOUS without one."""
        if self._stream is None:
            raise PeerClosed(self._failure)
        timer: Any = get_hub().loop.timer(HANDSHAKE_TIMEOUT_S)
        timer.start(self._parking.end)
        try:
            self._shake(self._stream)
        finally:
            timer.stop()
            timer.close()
        self._kernel_encrypts = self._stream.kernel_encrypts
        chosen = self._stream.sock.cipher()
        if chosen is not None:
            self.cipher = iana_name(chosen[0]), str(self._stream.sock.version())
        self._parking.has_buffered = self._stream.has_buffered
        try:
            return self._security.principal_of(self._stream.sock.getpeercert(binary_form=True))
        except NoMatchingRule as error:
            raise RefusedPrincipal(str(error)) from None

    def _shake(self, stream: TlsStream) -> None:
        parking = self._parking
        self._await_hello(stream)
        while (outcome := stream.step_in(self._handshakes)) is not Step.DONE:
            if isinstance(outcome, ssl.SSLError) and not isinstance(outcome, ssl.SSLEOFError | ssl.SSLZeroReturnError):
                log.debug("SSL handshake failed: %s", outcome)
                raise HandshakeFailed("SSL handshake failed")
            if isinstance(outcome, OSError):
                raise PeerClosed(str(outcome))
            if outcome is Step.READABLE:
                parking.wait_readable_or_woken()
            else:
                parking.wait_writable()
        if parking.ended:
            raise PeerClosed("closed by this broker")

    def _await_hello(self, stream: TlsStream) -> None:
        """Blocks until the first record is whole, or its stream ended. The kernel looks: one that comes byte by byte
        wakes nobody, and has no memory of OpenSSL's, which takes 40 KB from the first byte on."""
        stream.wake_at(HEADER_BYTES)
        self._parking.wait_readable_or_woken()
        stream.wake_at(stream.first_record_bytes())
        self._parking.wait_readable_or_woken()
        stream.wake_at(1)

    def receive_into(self, room: memoryview) -> int:
        stream = self._stream
        assert stream is not None
        if not room:
            # What is at hand is for the next wait: no socket will tell of it.
            self._parking.has_buffered = stream.has_buffered
            return 0
        self._watch.begin(self.sock)
        try:
            count = stream.recv_into(room)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerClosed(str(error)) from error
        finally:
            self._watch.end()
        if not count:
            raise EndOfStream("end of stream")
        self._parking.has_buffered = stream.has_buffered
        return count

    def send(self, parts: Sequence[Part]) -> int:
        """Blocks. Encrypts bytes and small slices together."""
        filled = sent_bytes = 0
        for part in parts:
            size_bytes = part_size(part)
            if not self._gather(part, size_bytes, filled):
                if filled:
                    self._send_head(filled)
                    filled = 0
                if not self._gather(part, size_bytes, 0):
                    self._send_alone(part)
                    sent_bytes += size_bytes
                    continue
            filled += size_bytes
            sent_bytes += size_bytes
        if filled:
            self._send_whole(self._room[:filled])
        return sent_bytes

    def close(self) -> None:
        self._parking.close()
        if self._stream is not None:
            self._stream.say_end()
        self.sock.close()

    def _gather(self, part: Part, size_bytes: int, filled: int) -> bool:
        """Put a part behind the first `filled` bytes of the room. False: it does not fit, or needs the disk.

        May block only if it raises PeerClosed: the answers before a slice that is gone are sent.
        """
        end = filled + size_bytes
        if end > CHUNK_BYTES:
            return False
        if isinstance(part, IN_MEMORY):
            self._room[filled:end] = part
            return True
        if size_bytes > COPIED_BYTES:
            return False
        try:
            if part.is_cold:
                return fill_if_in_memory(part, self._room[filled:end])
            fill(part, part.position, self._room[filled:end])
            return True
        except PeerClosed:
            if filled:
                self._send_whole(self._room[:filled])
            raise

    def _send_head(self, filled: int) -> None:
        """Blocks after what is more than a few bytes. Sends what was gathered, behind which more follows."""
        is_short = filled <= RECORD_BYTES
        self._send_whole(self._room[:filled], more_follows=is_short)
        if not is_short:
            self._parking.wait_writable()

    def _send_alone(self, part: Part) -> None:
        """Blocks. A part that no room has space for, chunk by chunk."""
        if not isinstance(part, IN_MEMORY):
            self._send_slice(part)
            return
        view = memoryview(part)
        for begin in range(0, len(view), CHUNK_BYTES):
            self._send_whole(view[begin : begin + CHUNK_BYTES])
            self._parking.wait_writable()

    def _send_whole(self, data: memoryview, *, more_follows: bool = False) -> None:
        """Blocks if the socket is full. Sends at most CHUNK_BYTES."""
        stream = self._stream
        assert stream is not None
        unsent: memoryview | bytes = data
        while True:
            try:
                stream.send(unsent, more_follows=more_follows)
                return
            except BlockingIOError:
                # The room is for others meanwhile.
                unsent = bytes(unsent)
                self._parking.wait_writable()
            except OSError as error:
                raise PeerClosed(str(error)) from error

    def _send_slice(self, piece: FileSlice) -> None:
        """Blocks. As PlainTransport does it; only the last step differs."""
        position, end = piece.position, piece.position + piece.size_bytes
        in_memory_until = position if piece.is_cold or piece.size_bytes >= LOOKED_FOR_BYTES else end
        fresh_until_ns = 0
        while True:
            if position >= in_memory_until:
                in_memory_until = min(end, position + WINDOW_BYTES)
                fresh_until_ns = bring_in(self._pool, piece, position, in_memory_until - position)
            size_bytes = min(in_memory_until - position, CHUNK_BYTES)
            if self._kernel_encrypts:
                position += send_chunk(self.sock.fileno(), piece, position, size_bytes)
            else:
                chunk = self._room[:size_bytes]
                fill(piece, position, chunk)
                self._send_whole(chunk)
                position += size_bytes
            if position >= end:
                return
            self._parking.wait_writable()
            if time.monotonic_ns() > fresh_until_ns:
                in_memory_until = position
