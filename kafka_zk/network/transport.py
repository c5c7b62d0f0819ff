"""Sends bytes and file slices on one socket. The seam between plaintext and TLS.

Role        `send(parts)` takes what an encoder made: bytes, and slices of log segments which go from the page cache to
            the socket without passing through Python. A TLS transport reads and encrypts them instead; neither
            handlers nor connections see a difference.
Invariants  A slice's generation is checked before every chunk. Once the head of an answer is out, a slice that cannot
            be sent in full leaves no way to keep the stream whole, so the connection is closed.
            The loop sends only what is in the page cache; a thread reads in the rest, and never touches a socket, so
            that even a slow reader holds no thread. Bytes that may have left the page cache are looked up there first:
            history in memory costs as much as the end of a log.
            Other greenlets run between two chunks.
Source      TransportLayer, PlaintextTransportLayer.transferFrom and FileRecords.writeTo in Kafka 3.9.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from typing import Protocol

from kafka_zk.network.errors import EndOfStream, PeerClosed
from kafka_zk.network.page_cache import is_in_memory, read_from_memory, read_in
from kafka_zk.network.parking import Parking
from kafka_zk.network.parts import IN_MEMORY, FileSlice, Part
from kafka_zk.worker_pool import WorkerPool

CHUNK_BYTES = 256 * 1024
"""Bytes sent at once: 20 to 50 us for pages in the page cache, while the loop serves no other connection.
Before the next chunk the slice is checked again."""

WINDOW_BYTES = 1024 * 1024
"""How far ahead bytes are read in, or looked for in memory: as much as one fetch usually reads from a partition."""

COPIED_BYTES = 80 * 1024
"""Up to this size a slice (the usual answer of 64 KiB) is read and sent in one send with its surroundings. A sendfile
between two sends copies nothing and is cheaper on its own, but wakes a waiting client twice, which costs more than the
copy: docs/performance.md has both. The answer to a fetch at the end of many partitions is one send, too."""

HELD_BYTES = 64 * 1024
"""Bytes of small slices, plus one slice, held in memory for a client that may be slow."""

LOOKED_FOR_BYTES = 128 * 1024
"""From this size a check of the page cache (3 us) costs little next to the send. Shorter slices are assumed cached."""

FRESH_NS = 1_000_000_000
"""How long bytes found in memory are assumed to stay there unread: a slow reader may let
minutes pass between two chunks."""

ANONYMOUS = "User:ANONYMOUS"
"""The principal of everybody who did not say who they are."""

TRUNCATED = "the log was truncated under a response"
TOO_SHORT = "a log segment is shorter than the response promised"


class Transport(Protocol):
    """One established connection, seen by its owner greenlet."""

    sock: socket.socket
    """The established connection, whose addresses and state may be asked for."""
    cipher: tuple[str, str] | None
    """After the handshake: cipher suite and protocol as Java names them; None without encryption."""

    def handshake(self) -> str:
        """Blocks. Complete the exchange before the first frame; returns the principal of the peer.

        Raises PeerClosed, AuthenticationFailed; RefusedPrincipal once the exchange is complete.
        """
        ...

    def receive_into(self, room: memoryview) -> int:
        """Returns the bytes received, 0 if there are none now or no space. Raises EndOfStream, PeerClosed."""

    def send(self, parts: Sequence[Part]) -> int:
        """Blocks. Send all parts in order; returns the bytes sent. Raises PeerClosed. The caller releases slices."""
        ...

    def close(self) -> None: ...


class PlainTransport:
    """TCP as it is."""

    __slots__ = ("_parking", "_pool", "cipher", "sock")

    def __init__(self, sock: socket.socket, parking: Parking, pool: WorkerPool) -> None:
        self.sock = sock
        self.cipher: tuple[str, str] | None = None
        self._parking = parking
        self._pool = pool

    def handshake(self) -> str:
        """Nothing to do."""
        return ANONYMOUS

    def receive_into(self, room: memoryview) -> int:
        try:
            count = self.sock.recv_into(room)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerClosed(str(error)) from error
        if count == 0 and room:
            raise EndOfStream("end of stream")
        return count

    def send(self, parts: Sequence[Part]) -> int:
        """Blocks. Sends bytes and small slices together; a large slice follows them without an extra packet."""
        held: list[bytes | bytearray | memoryview] = []
        copied_bytes = sent_bytes = 0
        data: bytes | bytearray | None
        for part in parts:
            if isinstance(part, IN_MEMORY):
                held.append(part)
                continue
            if part.size_bytes <= COPIED_BYTES and copied_bytes < HELD_BYTES:
                try:
                    data = read_if_in_memory(part) if part.is_cold else read_piece(part)
                except PeerClosed:
                    # The answers before this one are complete.
                    self._send_bytes(b"".join(held), 0)
                    raise
            else:
                data = None
            if data is not None:
                held.append(data)
                copied_bytes += part.size_bytes
            else:
                if held:
                    sent_bytes += self._send_bytes(b"".join(held), socket.MSG_MORE)
                    held.clear()
                    copied_bytes = 0
                self._send_slice(part)
                sent_bytes += part.size_bytes
        if held:
            sent_bytes += self._send_bytes(b"".join(held), 0)
        return sent_bytes

    def close(self) -> None:
        self._parking.close()
        self.sock.close()

    def _send_bytes(self, data: bytes, flags: int) -> int:
        """Rarely blocks: usually the socket takes all of it. Returns the size of `data`."""
        try:
            sent = self.sock.send(data, flags)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise PeerClosed(str(error)) from error
        size_bytes = len(data)
        if sent < size_bytes:
            self._send_rest(memoryview(data)[sent:], flags)
        return size_bytes

    def _send_rest(self, data: memoryview, flags: int) -> None:
        while data:
            self._parking.wait_writable()
            try:
                sent = self.sock.send(data, flags)
            except BlockingIOError:
                continue
            except OSError as error:
                raise PeerClosed(str(error)) from error
            data = data[sent:]

    def _send_slice(self, piece: FileSlice) -> None:
        out_fileno = self.sock.fileno()
        position, end = piece.position, piece.position + piece.size_bytes
        in_memory_until = position if piece.is_cold or piece.size_bytes >= LOOKED_FOR_BYTES else end
        fresh_until_ns = 0
        while True:
            if position >= in_memory_until:
                in_memory_until = min(end, position + WINDOW_BYTES)
                fresh_until_ns = bring_in(self._pool, piece, position, in_memory_until - position)
            position += send_chunk(out_fileno, piece, position, min(in_memory_until - position, CHUNK_BYTES))
            if position >= end:
                return
            # A full socket or a chunk's end: in both cases yield to all other greenlets.
            self._parking.wait_writable()
            if time.monotonic_ns() > fresh_until_ns:
                in_memory_until = position


def bring_in(pool: WorkerPool, piece: FileSlice, position: int, size_bytes: int) -> int:
    """Blocks. Read these bytes into memory; returns how long (monotonic ns) they stay. Raises PeerClosed."""
    fileno = piece.fileno
    may_be_on_disk = piece.is_cold or size_bytes >= LOOKED_FOR_BYTES
    if may_be_on_disk and not is_in_memory(fileno, position, size_bytes, piece.is_cold):
        error: OSError | None = pool.apply(read_in, (fileno, position, size_bytes))
        if error is not None:
            raise PeerClosed(str(error))
    return time.monotonic_ns() + FRESH_NS


def read_if_in_memory(piece: FileSlice) -> bytearray | None:
    """The bytes of a small slice, None if that needs the disk. Raises PeerClosed after a truncation."""
    data = bytearray(piece.size_bytes)
    return data if fill_if_in_memory(piece, data) else None


def read_piece(piece: FileSlice) -> bytes:
    """The bytes of a small slice. Raises PeerClosed when the file no longer holds them."""
    if not piece.is_intact:
        raise PeerClosed(TRUNCATED)
    try:
        data = os.pread(piece.fileno, piece.size_bytes, piece.position)
    except OSError as error:
        raise PeerClosed(str(error)) from error
    if len(data) < piece.size_bytes:
        raise PeerClosed(TOO_SHORT)
    return data


def fill_if_in_memory(piece: FileSlice, room: bytearray | memoryview) -> bool:
    """Read a slice into room of its size; False if that needs the disk. Raises PeerClosed after a truncation."""
    if not piece.is_intact:
        raise PeerClosed(TRUNCATED)
    return read_from_memory(piece.fileno, piece.position, room)


def fill(piece: FileSlice, position: int, room: memoryview) -> None:
    """Read bytes of a slice into `room`. Raises PeerClosed when the file no longer holds them."""
    if not piece.is_intact:
        raise PeerClosed(TRUNCATED)
    try:
        count = os.preadv(piece.fileno, (room,), position)
    except OSError as error:
        raise PeerClosed(str(error)) from error
    if count < len(room):
        raise PeerClosed(TOO_SHORT)


def send_chunk(out_fileno: int, piece: FileSlice, position: int, size_bytes: int) -> int:
    """Bytes sent, 0 when the socket is full. Raises PeerClosed, also when the file no longer holds these bytes."""
    if not piece.is_intact:
        raise PeerClosed(TRUNCATED)
    try:
        sent = os.sendfile(out_fileno, piece.fileno, position, size_bytes)
    except BlockingIOError:
        return 0
    except OSError as error:
        raise PeerClosed(str(error)) from error
    if sent == 0:
        raise PeerClosed(TOO_SHORT)
    return sent
