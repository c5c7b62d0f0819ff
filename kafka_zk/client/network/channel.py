"""One non-blocking socket to one broker: frames out, frames in.

Role        Acts. Never waits: the owner asks a selector when to call again.
Invariants  Frames leave in the order they were queued. A frame that is larger than the staging buffer is received
            straight into the buffer that its answer will be decoded from.
            A channel that raised OSError is of no further use; its owner closes it.
Source      KafkaChannel, NetworkReceive, PlaintextTransportLayer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections import deque
from collections.abc import Sequence
from typing import Final

from kafka_zk.client.addresses import SocketAddress
from kafka_zk.client.network.frames import SIZE, size_of_frame

STAGING_BYTES: Final = 64 * 1024
MAX_PIECES: Final = 512
"""Pieces given to one sendmsg: the system takes 1,024 at most."""


class Channel:
    """Begins to connect when it is made; `finish_connect` tells whether that worked."""

    def __init__(
        self, family: int, target: SocketAddress, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> None:
        """Buffer sizes of -1 are left to the system. Raises OSError where connecting fails at once."""
        self.bytes_sent = 0
        self.bytes_received = 0
        self._out: deque[memoryview] = deque()
        self._staging = bytearray(STAGING_BYTES)
        self._staged = 0
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
        except BaseException:
            # No other code holds it: whatever ended this, KeyboardInterrupt too, it would stay open.
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        """Idempotent."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def finish_connect(self) -> None:
        """To be called when the socket can be written. Raises OSError if there is no connection."""
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))

    @property
    def has_unsent(self) -> bool:
        """Whether part of what was queued waits for space in the socket."""
        return bool(self._out)

    def queue(self, pieces: Sequence[bytes | bytearray | memoryview]) -> None:
        """Take a frame; `write` sends it."""
        self._out.extend(memoryview(piece) for piece in pieces if len(piece))

    def write(self) -> None:
        """Send as much as the socket takes now. Raises OSError."""
        out = self._out
        while out:
            try:
                sent = self._socket.sendmsg([out[index] for index in range(min(len(out), MAX_PIECES))])
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

    def read(self) -> list[bytes | bytearray]:
        """The frames that are complete now, without their sizes. Raises OSError, also when the broker hung up."""
        frames: list[bytes | bytearray] = []
        try:
            while self._receive_some(frames):
                pass
        except OSError:
            # What was complete before the end is an answer; the next call meets the end again.
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
            count = self._socket.recv_into(room)
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
        return count == len(room)

    def _take_staged(self, frames: list[bytes | bytearray]) -> None:
        """Cut the staged bytes into frames; the beginning of one that does not fit goes to a buffer of its own."""
        position, end = 0, self._staged
        staging = memoryview(self._staging)
        while end - position >= SIZE.size:
            size = size_of_frame(staging[position : position + SIZE.size])
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
