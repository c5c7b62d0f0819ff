"""Bytes and file slices onto one socket. The seam between plain connections and TLS.

Role        `send(parts)` takes what an encoder made: bytes, and slices of log segments which go from the page cache to
            the socket without passing through Python. A TLS transport reads and encrypts them instead; neither
            handlers nor connections can tell.
Invariants  A slice's generation is checked before every chunk. Once the head of an answer is out, a slice that cannot
            be sent in full leaves no way to keep the stream whole, so the connection is closed.
            Large or cold slices are read by a pool thread: there the GIL is free and a slow disk stalls nobody.
Source      TransportLayer, PlaintextTransportLayer.transferFrom and FileRecords.writeTo in Kafka 3.9.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from gevent.threadpool import ThreadPool

from kafka_zk.network.errors import PeerClosed
from kafka_zk.network.parking import Parking

POOLED_BYTES = 256 * 1024
"""From here on the pool's hand-off (20 to 43 us) is small against the copy it takes off the loop."""

CHUNK_BYTES = 1024 * 1024
"""The most one sendfile is asked to move; between two of them the slice is checked again."""


class FileSlice(Protocol):
    """Bytes of a log segment, promised to a response. The log room makes them; `release` is called exactly once."""

    @property
    def fileno(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def is_cold(self) -> bool:
        """Whether the bytes may have left the page cache, so that reading them can wait for the disk."""
        ...

    @property
    def is_intact(self) -> bool:
        """False once the segment was truncated: other bytes may stand at this position by now."""
        ...

    def release(self) -> None: ...


Part: TypeAlias = "bytes | bytearray | memoryview | FileSlice"
IN_MEMORY = (bytes, bytearray, memoryview)


def part_size(part: Part) -> int:
    """Bytes of a part on the wire."""
    return len(part) if isinstance(part, IN_MEMORY) else part.size_bytes


class Transport(Protocol):
    """One established connection, seen by its owner greenlet."""

    def handshake(self) -> None:
        """Blocks. Whatever must pass before the first frame. Raises PeerClosed, CloseConnection."""

    def receive_into(self, room: memoryview) -> int:
        """Bytes received, 0 when there are none just now. Raises PeerClosed at the end of the stream."""

    def send_bytes(self, data: bytes) -> None:
        """Blocks. Raises PeerClosed."""

    def send(self, parts: Sequence[Part]) -> None:
        """Blocks. Send all parts in order. Raises PeerClosed. Slices stay the caller's to release."""

    def close(self) -> None: ...


class PlainTransport:
    """TCP as it is."""

    __slots__ = ("_parking", "_pool", "_socket")

    def __init__(self, sock: socket.socket, parking: Parking, pool: ThreadPool) -> None:
        self._socket = sock
        self._parking = parking
        self._pool = pool

    def handshake(self) -> None:
        """Nothing to agree on."""

    def receive_into(self, room: memoryview) -> int:
        try:
            count = self._socket.recv_into(room)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerClosed(str(error)) from error
        if count == 0:
            raise PeerClosed("end of stream")
        return count

    def send(self, parts: Sequence[Part]) -> None:
        """Blocks. Neighbouring bytes leave together; a slice follows its head without an extra packet."""
        head: list[bytes | bytearray | memoryview] = []
        for part in parts:
            if isinstance(part, IN_MEMORY):
                head.append(part)
            else:
                if head:
                    self._send_bytes(b"".join(head), socket.MSG_MORE)
                    head.clear()
                self._send_slice(part)
        if head:
            self._send_bytes(b"".join(head), 0)

    def close(self) -> None:
        self._parking.close()
        self._socket.close()

    def send_bytes(self, data: bytes) -> None:
        """Blocks. Usually it does not: the socket takes the whole of it."""
        self._send_bytes(data, 0)

    def _send_bytes(self, data: bytes, flags: int) -> None:
        try:
            sent = self._socket.send(data, flags)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise PeerClosed(str(error)) from error
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:], flags)

    def _send_rest(self, data: memoryview, flags: int) -> None:
        while data:
            self._parking.wait_writable()
            try:
                data = data[self._socket.send(data, flags) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise PeerClosed(str(error)) from error

    def _send_slice(self, piece: FileSlice) -> None:
        position, left = piece.position, piece.size_bytes
        while left:
            if left >= POOLED_BYTES or piece.is_cold:
                sent, closed = self._pool.apply(_send_chunks, (self._socket.fileno(), piece, position, left))
                if closed is not None:
                    try:
                        raise closed
                    finally:
                        del closed  # which has this frame in its traceback
            else:
                sent = _send_chunk(self._socket.fileno(), piece, position, left)
            position += sent
            left -= sent
            if left:
                self._parking.wait_writable()


def _send_chunks(out_fileno: int, piece: FileSlice, position: int, left: int) -> tuple[int, PeerClosed | None]:
    """In a pool thread: as much as the socket takes without waiting.

    Returns why it ended early instead of raising it: gevent prints the traceback of what leaves a thread.
    """
    total = 0
    try:
        while left:
            sent = _send_chunk(out_fileno, piece, position + total, left)
            total += sent
            left -= sent
            if not sent:
                break
    except PeerClosed as closed:
        return total, closed
    return total, None


def _send_chunk(out_fileno: int, piece: FileSlice, position: int, left: int) -> int:
    """Bytes sent, 0 when the socket is full. Raises PeerClosed, also when the file no longer holds these bytes."""
    if not piece.is_intact:
        raise PeerClosed("the log was truncated under a response")
    try:
        sent = os.sendfile(out_fileno, piece.fileno, position, min(left, CHUNK_BYTES))
    except BlockingIOError:
        return 0
    except OSError as error:
        raise PeerClosed(str(error)) from error
    if sent == 0:
        raise PeerClosed("a log segment is shorter than the response promised")
    return sent
