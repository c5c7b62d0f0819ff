"""What all mechanisms have in common on the broker's side: one token in, one token out, and who it was in the end.

Role        Pure.
Source      javax.security.sasl.SaslServer as Kafka uses it; SaslServerAuthenticator.handleSaslToken.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

MAX_MESSAGE_BYTES = 16 * 1024
"""Of PLAIN and SCRAM. A longer one is refused unread: to take it apart would hold up everybody, and nobody has logged
in yet. A login takes some hundred bytes."""


class SaslRefused(Exception):
    """The client failed to authenticate, and is told the text."""


class InvalidExchange(Exception):
    """The client failed to authenticate. The text is for the broker's log: the client learns only that it failed."""


class ExchangeInterrupted(Exception):
    """The client may well be accepted the next time: its connection ends at once, and does not count as a failure."""


class Identity(NamedTuple):
    """Who authenticated: the name, without the type of principal.

    `expires_ms`: wall clock, when the credential itself ends; None if it does not. `no_principal`: why no rule gives
    this client a name; its first request ends the connection.
    """

    name: str
    expires_ms: int | None = None
    token_authenticated: bool = False
    no_principal: str = ""


class ServerMechanism(Protocol):
    """One exchange with one client. Used once."""

    identity: Identity | None
    """None until the exchange is complete."""

    def respond(self, token: bytes) -> bytes | None:
        """The answer to the client's token, None for none. Raises SaslRefused, InvalidExchange, ExchangeInterrupted;
        afterwards nothing may follow.

        May block where credentials are looked up outside the memory.
        """
        ...
