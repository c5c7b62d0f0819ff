"""What all client halves have in common: bytes to send, a challenge in, until the exchange is complete.

Role        Pure, without a clock or a socket. One exchange logs one connection in, and is used once.
Source      javax.security.sasl.SaslClient as SaslClientAuthenticator in Kafka 3.9 uses it.
"""

from __future__ import annotations

from typing import Protocol


class ExchangeFailed(Exception):
    """The server's half broke the rules, or does not know the password. The message has no secret."""


class ExchangeInterrupted(ExchangeFailed):
    """The exchange cannot go on now, but another one may work: a ticket was not there in time."""


class Exchange(Protocol):
    """One login. `mechanism` is its name on the wire."""

    mechanism: str

    def first(self) -> bytes:
        """The bytes that begin the exchange. Raises ExchangeFailed."""
        ...

    def next(self, challenge: bytes) -> bytes | None:
        """The answer to a challenge, None when there is nothing more to send. Raises ExchangeFailed."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the server, too, has said and proved all that it has to."""
        ...
