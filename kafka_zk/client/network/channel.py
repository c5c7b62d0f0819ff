"""One non-blocking socket to one broker: frames out, frames in.

Role        Acts. Never waits: the owner asks a selector when to call again. First `finish_connect`, then `handshake`
            until it is done, then frames.
Invariants  Frames leave in the order they were queued. A frame larger than the staging buffer is received
            directly into the buffer from which it will be decoded.
            A channel that raised OSError must not be used again; its owner closes it.
Source      KafkaChannel, NetworkReceive.
"""

from __future__ import annotations

import errno
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Final

from kafka_zk.client.addresses import SocketAddress
from kafka_zk.client.network.frames import SIZE, size_of_frame
from kafka_zk.client.network.security import NO_SECURITY, ConnectionSecurity
from kafka_zk.client.network.transports import PlainTransport, Transport, transport_of

STAGING_BYTES: Final = 64 * 1024
MAX_PIECES: Final = 512
"""Pieces per sendmsg: the system allows 1,024 at most."""
SMALL_BYTES: Final = 16 * 1024
"""Pieces smaller than this are put together for a transport that takes one at a time."""


class Channel:
    """Starts to connect when created; `finish_connect` reports whether that worked."""

    def __init__(
        self,
        family: int,
        target: SocketAddress,
        *,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        security: ConnectionSecurity = NO_SECURITY,
        host: str = "",
    ) -> None:
        """Buffer sizes of -1 mean the system's default. Raises OSError if connecting fails at once.

        `host` is the name that a TLS certificate must have; needed with `security.tls`.
        """
        self._context, self._host = security.tls, host
        self.bytes_sent = 0
        self.bytes_received = 0
        self._out: deque[memoryview] = deque()
        self._staging = bytearray(STAGING_BYTES)
        self._staged = 0
        self._is_first = True
        self._frame = bytearray()
        self._filled = 0
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, size in ((socket.SO_SNDBUF, send_buffer_bytes), (socket.SO_RCVBUF, receive_buffer_bytes)):
                if size != -1:
                    self._socket.setsockopt(socket.SOL_SOCKET, option, size)
            code = self._socket.connect_ex(target)
            if code not in (0, errno.EINPROGRESS, errno.EWOULDBLOCK):
                raise OSError(code, os.strerror(code))
            self._transport: Transport = PlainTransport(self._socket)
        except BaseException:
            # Close it here after any exception, KeyboardInterrupt too: no other code holds it.
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._transport.fileno()

    def close(self) -> None:
        """Idempotent."""
        self._transport.close()

    def finish_connect(self) -> None:
        """Call it when the socket is writable. Raises OSError if there is no connection."""
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        self._transport = transport_of(self._socket, self._context, self._host)

    def handshake(self) -> int:
        """Go on with the TLS handshake. Returns the selector's event to wait for; 0: done, or none is needed.

        Raises OSError, SslAuthenticationException, ProtocolMismatch.
        """
        return self._transport.handshake()

    @property
    def has_unsent(self) -> bool:
        """Whether queued data waits for space in the socket."""
        return bool(self._out)

    @property
    def wants_write(self) -> bool:
        """Whether to call `write` and `read` when the socket is writable."""
        return bool(self._out) or self._transport.wants_write

    def queue(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        """Queue a frame; `write` sends it."""
        self._out.extend(memoryview(piece) for piece in pieces if len(piece))

    def write(self) -> None:
        """Send as much as the socket accepts now. Raises OSError, SslAuthenticationException."""
        out = self._out
        while out:
            try:
                sent = self._send_some()
            except (BlockingIOError, InterruptedError):
                return
            self.bytes_sent += sent
            while sent:
                piece = out[0]
                if sent < len(piece):
                    out[0] = piece[sent:]
                    break
                sent -= len(piece)
                out.popleft()

    def _send_some(self) -> int:
        out = self._out
        if isinstance(self._transport, PlainTransport):
            return self._transport.sendmsg([out[index] for index in range(min(len(out), MAX_PIECES))])
        if len(out) > 1 and len(out[0]) < SMALL_BYTES:
            # A frame's size and header would else become a record of their own.
            small = [out.popleft()]
            size = len(small[0])
            while out and size + len(out[0]) <= SMALL_BYTES:
                size += len(out[0])
                small.append(out.popleft())
            out.appendleft(memoryview(b"".join(small)))
        return self._transport.send(out[0])

    def read(self) -> list[bytes | bytearray]:
        """The complete frames, without their sizes.

        Raises OSError, also if the broker closed the connection, SslAuthenticationException, ProtocolMismatch.
        """
        frames: list[bytes | bytearray] = []
        try:
            while self._receive_some(frames):
                pass
        except OSError:
            # Frames complete before the end are valid responses; the next call sees the end again.
            if not frames:
                raise
        return frames

    def _receive_some(self, frames: list[bytes | bytearray]) -> bool:
        """Whether there may be more to receive: the last call filled its buffer."""
        if self._frame:
            room = memoryview(self._frame)[self._filled :]
        else:
            room = memoryview(self._staging)[self._staged :]
        try:
            count = self._transport.recv_into(room)
        except (BlockingIOError, InterruptedError):
            return False
        if not count:
            raise ConnectionResetError(errno.ECONNRESET, "the broker closed the connection")
        self.bytes_received += count
        if self._frame:
            self._filled += count
            if self._filled == len(self._frame):
                frames.append(self._frame)
                self._frame, self._filled = bytearray(), 0
        else:
            self._staged += count
            self._take_staged(frames)
        # A call gives one record of TLS at most: a full buffer may leave decrypted bytes that no selector knows of, and
        # another one may leave records in the socket.
        return count == len(room) or self._context is not None

    def _take_staged(self, frames: list[bytes | bytearray]) -> None:
        """Cut the staged bytes into frames; the start of one that does not fit moves to its own buffer."""
        position, end = 0, self._staged
        staging = memoryview(self._staging)
        while end - position >= SIZE.size:
            size = size_of_frame(staging[position : position + SIZE.size], is_first=self._is_first)
            self._is_first = False
            start = position + SIZE.size
            if start + size <= end:
                frames.append(bytes(staging[start : start + size]))
                position = start + size
                continue
            if size + SIZE.size > STAGING_BYTES:
                self._frame = bytearray(size)
                self._filled = end - start
                self._frame[: self._filled] = staging[start:end]
                position = end
            break
        self._staged = end - position
        if position and self._staged:
            self._staging[: self._staged] = bytes(staging[position:end])
