"""A socket under TLS that never blocks, in the words of a plain one.

Role        Used by both ends: TlsTransport for clients of this broker, BrokerChannel for its own connections.
Invariants  A `send` that raises BlockingIOError is repeated with the same bytes before anything else is sent: OpenSSL
            has encrypted a part of them.
            `step` may run in a thread, while nobody else touches the stream.
Source      SslTransportLayer in Kafka 3.9; SSL_write(3), SSL_get_error(3).
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import fcntl
import socket
import ssl
import termios
from contextlib import suppress
from enum import Enum
from typing import Final

from gevent import GreenletExit
from gevent.threadpool import ThreadPool

CHUNK_BYTES: Final = 128 * 1024
"""Encrypted and sent at once: eight records, about 100 us."""

RECORD_BYTES: Final = 16 * 1024
"""As much as one record of TLS holds."""

HEADER_BYTES: Final = 5
"""Of a record: its type, a version, its length in two bytes."""

RECEIVED_BYTES: Final = 128 * 1024
"""Decrypted at once, about 100 us: a peer that sends as fast as that would else keep everybody waiting."""

RECEIVED_RECORDS: Final = 32
"""As many at once: a record of one byte takes as long as one of 8 KiB."""

_HANDSHAKE: Final = 22
"""The type of the first record."""

_SOL_TLS: Final = 282
_TLS_TX: Final = 1
_NO_COUNT: Final = bytes(4)


class Step(Enum):
    """What a handshake waits for."""

    DONE = "done"
    READABLE = "readable"
    WRITABLE = "writable"


class TlsStream:
    """One connection. With a `host` this end is the client, and `host` is compared with the certificate."""

    __slots__ = ("_failure", "_has_ended", "_has_said_end", "_is_corked", "_is_mid_send", "sock")

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str | None = None) -> None:
        """Takes over the descriptor of `sock`, which it closes if it fails. Raises OSError."""
        try:
            self.sock: ssl.SSLSocket = context.wrap_socket(
                sock, server_side=host is None, do_handshake_on_connect=False, server_hostname=host
            )
        except ValueError as error:
            # For instance a host name that no certificate could ever hold.
            sock.close()
            raise OSError(str(error)) from error
        self._is_corked = False
        self._is_mid_send = False
        self._failure: OSError | None = None
        self._has_ended = False
        self._has_said_end = False

    def wake_at(self, size_bytes: int) -> None:
        """Let the socket be readable once it has so many bytes, an error, or an end."""
        with suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size_bytes)

    def first_record_bytes(self) -> int:
        """What the record at hand takes as a whole; 1 if the handshake will refuse it anyway."""
        try:
            head = socket.socket.recv(self.sock, HEADER_BYTES, socket.MSG_PEEK)
        except OSError:
            return 1
        if len(head) < HEADER_BYTES or head[0] != _HANDSHAKE:
            return 1
        size_bytes = int.from_bytes(head[3:], "big")
        return HEADER_BYTES + size_bytes if size_bytes <= RECORD_BYTES else 1

    def step_in(self, pool: ThreadPool) -> Step | OSError:
        """Blocks. A step in a thread. Who is killed meanwhile is kept until the thread is done: behind the number of a
        closed descriptor it would find another connection, or a file of the log, and write into that."""
        step = pool.spawn(self.step)
        try:
            outcome = step.get()
            assert outcome is not None, "it has ended"
            return outcome
        finally:
            while not step.ready():
                with suppress(GreenletExit):
                    step.wait()

    def step(self) -> Step | OSError:
        """As much of the handshake as the received bytes allow. Returns an error instead of raising it."""
        try:
            self.sock.do_handshake()
        except ssl.SSLWantReadError:
            return Step.READABLE
        except ssl.SSLWantWriteError:
            return Step.WRITABLE
        except OSError as error:
            return error
        except ValueError as error:
            # The other end has gone before the first step.
            return ConnectionAbortedError(str(error))
        return Step.DONE

    @property
    def has_buffered(self) -> bool:
        """Whether `recv_into` has something to tell that the socket does not show: decrypted bytes, an error, the
        end."""
        return self._has_ended or self._failure is not None or self.sock.pending() > 0

    def recv_into(self, room: memoryview) -> int:
        """Bytes received, 0 at the end of the stream. Raises BlockingIOError if there are none now, OSError.

        `room` must not be empty.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            try:
                raise failure
            finally:
                # Its traceback refers to this frame: a cycle, which would wait for Python's collector.
                del failure
        if self._has_ended:
            return 0
        count, records_left = 0, RECEIVED_RECORDS
        # Ends with a record where it can: the rest of one would be read on at once.
        while count < len(room) and ((records_left > 0 and count < RECEIVED_BYTES) or self.sock.pending()):
            records_left -= 1
            try:
                received = self.sock.recv_into(room[count:])
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                if not count:
                    raise
                self._failure = error.with_traceback(None)
                return count
            if not received:
                # Told once, although the socket may stay open and silent.
                self._has_ended = True
                return count
            count += received
            if not self._has_more:
                break
        if not count:
            raise BlockingIOError
        return count

    @property
    def _has_more(self) -> bool:
        """Whether a record, or a part of one, is at hand. Asking costs less than a read that finds nothing."""
        if self.sock.pending():
            return True
        return fcntl.ioctl(self.sock.fileno(), termios.FIONREAD, _NO_COUNT) != _NO_COUNT

    def send(self, data: bytes | bytearray | memoryview, *, more_follows: bool = False) -> int:
        """Sends at most CHUNK_BYTES of `data`; returns how many. Raises BlockingIOError while the socket is full,
        OSError. If `more_follows`, a packet that is not full may wait for the next `send`."""
        if self._has_said_end:
            # The socket of the standard library would send plain text from here on.
            raise ConnectionAbortedError("the end was told")
        if len(data) > CHUNK_BYTES:
            data = memoryview(data)[:CHUNK_BYTES]
        # OpenSSL writes each record by itself. What they make together leaves together, and wakes the peer once.
        if more_follows or len(data) > RECORD_BYTES:
            self._cork(True)
        is_sent = False
        try:
            sent = self._write(data)
            is_sent = True
        finally:
            if self._is_corked and not (more_follows and is_sent):
                self._cork(False)
        return sent

    def _cork(self, is_corked: bool) -> None:
        if is_corked != self._is_corked:
            self._is_corked = is_corked
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, is_corked)

    def _write(self, data: bytes | bytearray | memoryview) -> int:
        try:
            self._is_mid_send = True
            sent = self.sock.send(data)
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError) as error:
            raise BlockingIOError from error
        self._is_mid_send = False
        return sent

    @property
    def kernel_encrypts(self) -> bool:
        """Whether what is written to the descriptor itself leaves encrypted.

        Without this proof sendfile would send plain text: that the kernel knows TLS says nothing of this connection.
        """
        try:
            info = self.sock.getsockopt(_SOL_TLS, _TLS_TX, 4)
        except OSError:
            return False
        # struct tls_crypto_info: version, cipher type.
        return len(info) == 4 and any(info[2:]) and not self._is_mid_send

    def say_end(self) -> None:
        """Tell the peer that nothing follows (close_notify), if that needs no wait. Nothing may be sent then."""
        if not self._is_mid_send and not self._has_said_end:
            self._has_said_end = self._has_ended = True
            with suppress(OSError, ValueError):
                self.sock.unwrap()
