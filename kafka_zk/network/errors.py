"""Network errors, in the terms of the packages above.

Role        The network room translates OSError into these where it happens; nobody above sees a socket error.
"""

from __future__ import annotations

from typing import ClassVar

from kafka_zk.protocol.errors import BrokerError, ErrorCode


class NetworkError(BrokerError):
    """The other side could not be reached, went away, or did not answer in time."""

    code: ClassVar[ErrorCode] = ErrorCode.NETWORK_EXCEPTION


class CloseConnection(Exception):
    """Raised by a request handler when the rules of the protocol want the connection closed without an answer.

    The message becomes the one line that the log gets.
    """


class InvalidFrame(CloseConnection):
    """The four size bytes of a frame are negative or larger than socket.request.max.bytes."""


class PeerClosed(Exception):
    """The connection ended: the peer closed or reset it, or we are closing it. Nothing worth a log line."""


class EndOfStream(PeerClosed):
    """The client sends no more. It may still read: what it asked for is answered before the connection ends."""
