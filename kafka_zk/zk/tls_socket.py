"""A TLS connection that looks like a socket to kazoo, and never stops the gevent loop.

Role        Acts on one gevent socket. TLS itself runs in memory; only waiting for bytes gives way to other greenlets.
Invariants  Readable means that there is something to read of what the server said, the end of the connection included:
            bytes of a record that is not whole, or of TLS alone, do not count. `recv` and `select` agree on it.
            A handshake has an end, however slowly its bytes trickle.
Source      ssl.MemoryBIO. kazoo would run the standard library's TLS over a socket outside the loop.
"""

from __future__ import annotations

import errno
import os
import ssl

import gevent
from gevent import socket

CHUNK_BYTES = 64 * 1024


class TlsSocket:
    """`connection` is connected, and belongs to this from now on."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext, host: str) -> None:
        self._connection = connection
        self._received = ssl.MemoryBIO()
        self._to_send = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=host)
        self._plain = bytearray()
        self._is_at_end = False

    def handshake(self) -> None:
        """Blocks the greenlet. Raises OSError, which an ssl.SSLError is."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                received = self._connection.recv(CHUNK_BYTES)
                if not received:
                    raise ConnectionResetError("the server closed the connection during the handshake") from None
                self._received.write(received)
            except ssl.SSLError:
                # The alert tells the server why.
                self._flush()
                raise
            else:
                self._flush()
                return

    def take_in(self) -> bool:
        """Take what has arrived, without waiting; returns whether there is something to read now.

        Raises OSError when the connection or its TLS is broken.
        """
        if not self._plain and not self._is_at_end:
            try:
                # Not with gevent's `recv`, which would wait; the descriptor itself never does.
                received = os.read(self._connection.fileno(), CHUNK_BYTES)
            except BlockingIOError:
                return False
            if received:
                self._received.write(received)
            else:
                self._is_at_end = True
            self._decrypt()
        return bool(self._plain) or self._is_at_end

    def _decrypt(self) -> None:
        try:
            while chunk := self._tls.read(CHUNK_BYTES):
                self._plain += chunk
            self._is_at_end = True
        except ssl.SSLWantReadError:
            # Answers of TLS itself, for one to a change of keys.
            self._flush()
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            self._is_at_end = True

    def _flush(self) -> None:
        """Blocks the greenlet."""
        if self._to_send.pending:
            self._connection.sendall(self._to_send.read())

    # -- what kazoo calls

    def recv(self, size: int) -> bytes:
        """What there is, at most `size` bytes; empty at the end. Raises SSLWantReadError if there is nothing yet."""
        if not self.take_in():
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "nothing to read yet")
        taken = bytes(self._plain[:size])
        del self._plain[:size]
        return taken

    def send(self, data: bytes) -> int:
        """Blocks the greenlet until all of it is on its way."""
        sent = self._tls.write(data)
        self._flush()
        return sent

    def pending(self) -> int:
        """Bytes that can be read without asking the connection."""
        return len(self._plain)

    def fileno(self) -> int:
        return self._connection.fileno()

    def setblocking(self, flag: bool) -> None:
        """kazoo asks for a socket that does not wait: `recv` never does, and sends have the time-out of `connect`."""

    def close(self) -> None:
        self._connection.close()


def connect(address: tuple[str, int], host: str, context: ssl.SSLContext, timeout_s: float | None) -> TlsSocket:
    """Blocks the greenlet for at most `timeout_s`, handshake included. `host` is what the certificate must name.

    Raises OSError, TimeoutError among them.
    """
    late = TimeoutError(errno.ETIMEDOUT, f"no TLS connection to {host}:{address[1]} within {timeout_s} s")
    with gevent.Timeout(timeout_s, late):
        connection = socket.create_connection(address, timeout_s)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made = TlsSocket(connection, context, host)
            made.handshake()
        except BaseException:
            connection.close()
            raise
    return made
