"""Bytes over one socket: as they are, or encrypted.

Role        Acts on a connected socket. Without a timeout a call that cannot go on raises BlockingIOError; with one
            (`settimeout`) it waits, and raises TimeoutError.
Invariants  `send` may be called again only with at least the bytes that it did not take: TLS has encrypted them.
            A failed handshake raises SslAuthenticationException, a lost connection OSError or ProtocolMismatch.
            With TLS 1.3 a server refuses our certificate after our handshake is done: whatever it refuses before its
            first data is a failed handshake, too.
Source      PlaintextTransportLayer, SslTransportLayer.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
from typing import Final, Protocol

from kafka_zk.client.errors import ProtocolMismatch, SslAuthenticationException

MAX_RECORD_BYTES: Final = 16 * 1024
"""What one TLS record holds."""


class Transport(Protocol):
    """One connected socket."""

    def settimeout(self, seconds: float) -> None: ...

    def handshake(self) -> int:
        """Go on with the handshake. Returns the selector's event to wait for; 0: done."""
        ...

    def fileno(self) -> int: ...

    def send(self, data: memoryview) -> int:
        """How many bytes were taken."""
        ...

    def recv_into(self, room: memoryview) -> int:
        """How many bytes were received; 0: the broker closed the connection."""
        ...

    @property
    def wants_write(self) -> bool:
        """Whether receiving waits until the socket is writable."""
        ...

    def close(self) -> None:
        """Idempotent."""
        ...


class PlainTransport:
    """The socket as it is."""

    wants_write = False

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.settimeout = connected.settimeout
        self.fileno = connected.fileno
        self.send = connected.send
        self.sendmsg = connected.sendmsg
        self.recv_into = connected.recv_into

    def handshake(self) -> int:
        return 0

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


class TlsTransport:
    """Takes over the socket."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext, host: str) -> None:
        """`host` is what the user or the metadata named: the certificate must be its."""
        self._socket = context.wrap_socket(connected, server_hostname=host, do_handshake_on_connect=False)
        self.settimeout = self._socket.settimeout
        self._has_received = False
        self.wants_write = False

    def fileno(self) -> int:
        return self._socket.fileno()

    def handshake(self) -> int:
        try:
            self._socket.do_handshake()
        except ssl.SSLWantReadError:
            return selectors.EVENT_READ
        except ssl.SSLWantWriteError:
            return selectors.EVENT_WRITE
        except ssl.SSLError as error:
            raise failed_handshake(error) from error
        except ConnectionError as error:
            raise closed_in_handshake() from error
        return 0

    def send(self, data: memoryview) -> int:
        try:
            return self._socket.send(data[:MAX_RECORD_BYTES])
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError) as error:
            raise BlockingIOError from error
        except ConnectionError:
            # A server that refused us closes its side; its alert may have arrived, and says why.
            self._raise_if_refused()
            raise

    def recv_into(self, room: memoryview) -> int:
        self.wants_write = False
        try:
            count = self._socket.recv_into(room)
        except ssl.SSLWantReadError as error:
            raise BlockingIOError from error
        except ssl.SSLWantWriteError as error:
            self.wants_write = True
            raise BlockingIOError from error
        except ssl.SSLError as error:
            if self._has_received:
                raise
            raise refused_after_handshake(error) from error
        self._has_received = self._has_received or count > 0
        return count

    def close(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            # Sends close_notify, and does not wait for the broker's.
            self._socket.settimeout(0)
            self._socket.unwrap()
        with contextlib.suppress(OSError):
            self._socket.close()

    def _raise_if_refused(self) -> None:
        if not self._has_received:
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, ConnectionError):
                self.recv_into(memoryview(bytearray(1)))


def transport_of(connected: socket.socket, context: ssl.SSLContext | None, host: str) -> Transport:
    """The transport of a connected socket: plain without a context."""
    return PlainTransport(connected) if context is None else TlsTransport(connected, context, host)


def failed_handshake(error: ssl.SSLError) -> Exception:
    """The error of a handshake: a lost connection may work next time, anything else is for the caller."""
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return closed_in_handshake()
    return SslAuthenticationException(f"SSL handshake failed: {reason_of(error)}")


def closed_in_handshake() -> ProtocolMismatch:
    """What a plain listener does with a ClientHello."""
    return ProtocolMismatch("it closes the connection during the TLS handshake: does this listener speak TLS?")


def closed_before_an_answer() -> ProtocolMismatch:
    """What OpenSSL does with plain text; a JVM answers with an alert (`size_of_frame`)."""
    return ProtocolMismatch("it closes the connection before its first answer: is security.protocol missing or wrong?")


def refused_after_handshake(error: ssl.SSLError) -> Exception:
    """The error of a connection that the server ended before its first data."""
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return ConnectionResetError("the broker closed the connection")
    return SslAuthenticationException(f"Failed to process post-handshake messages: {reason_of(error)}")


def reason_of(error: ssl.SSLError) -> str:
    """What OpenSSL says, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the broker's certificate is not accepted: {error.verify_message}"
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if error.reason == "WRONG_VERSION_NUMBER":
        return "the broker does not answer with TLS (is this listener PLAINTEXT or SASL_PLAINTEXT?)"
    return f"the broker refused it: {reason}" if "alert" in reason else reason
