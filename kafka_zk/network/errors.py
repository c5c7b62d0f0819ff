"""Network errors, in the terms of the packages above.

Role        The package network translates OSError into these where it occurs; packages above never see a socket error.
"""

from __future__ import annotations

from typing import ClassVar

from kafka_zk.network.parts import Parts
from kafka_zk.protocol.errors import BrokerError, ErrorCode


class NetworkError(BrokerError):
    """The peer could not be reached, disconnected, or did not respond in time."""

    code: ClassVar[ErrorCode] = ErrorCode.NETWORK_EXCEPTION


class CloseConnection(Exception):
    """Raised by a request handler when the protocol requires closing the connection without an answer.

    The message is logged as one line.
    """


class UnexpectedInput(CloseConnection):
    """What the client sent fits nothing: the connection is closed at once, which is worth a warning."""


class InvalidFrame(UnexpectedInput):
    """The four size bytes of a frame are negative or larger than socket.request.max.bytes."""


class SessionEnded(CloseConnection):
    """The client goes on after its session has ended, without a new login."""


class AuthenticationFailed(CloseConnection):
    """The client could not log in: it is counted and logged now, but learns of it, and is closed, after a delay.

    The text is for the log; `answer`: parts, none where the client gets no answer.
    """

    def __init__(self, text: str, answer: Parts | None = None) -> None:
        super().__init__(text)
        self.answer: Parts = answer or []


class HandshakeFailed(CloseConnection):
    """The client cannot speak TLS with this listener: counted and logged as a failed authentication, closed at once."""


class RefusedPrincipal(CloseConnection):
    """The client is known by a certificate or a ticket, but no rule gives it a principal: its first request ends the
    connection."""


class PeerClosed(Exception):
    """The peer closed or reset the connection, or we are closing it. Not worth a log line."""


class EndOfStream(PeerClosed):
    """The client sends no more. It may still read: its requests are answered before the connection ends."""
