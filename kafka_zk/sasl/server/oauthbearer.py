"""OAUTHBEARER: the client shows a token that somebody else has issued.

Role        Pure: the token is judged by a validator from outside.
Invariants  A refused token is answered with what is wrong as JSON; the client's next byte then ends the exchange.
            Any other token starts afresh, but only MAX_REFUSALS times.
Layout      n,[a=authzid],\\x01(key=value\\x01)*\\x01 with auth=Bearer <token> among the pairs.
Source      OAuthBearerSaslServer, OAuthBearerClientInitialResponse in Kafka 3.9; RFC 7628.
            A message of more than MAX_MESSAGE_BYTES is refused unread, as of the other mechanisms.
Differs     Kafka lets one connection try tokens for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from kafka_zk.sasl.server.mechanism import Identity, InvalidExchange, SaslRefused
from kafka_zk.sasl.server.scram import is_escaped

MECHANISM = "OAUTHBEARER"
MAX_REFUSALS = 3

CONTROL_A = b"\x01"
"""What a client sends when it has read why its token was refused."""

MAX_MESSAGE_BYTES = 80 * 1024
"""The longest token, and some extensions."""

MAX_PAIRS = 100
"""The token and its extensions."""

_HEAD = re.compile(rb"n,(?:a=(?P<authorization_id>[\x01-\x2b\x2d-\x7f]+))?,\x01")
_PAIR = re.compile(rb"[A-Za-z]+=[\x21-\x7e \t\r\n]+")
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)


class ValidatedToken(NamedTuple):
    """A token that was found good. `expires_ms`: wall clock."""

    principal_name: str
    expires_ms: int


class TokenRefused(Exception):
    """The token is not accepted; the text says why, for the log. `scopes`: those that were required and missing."""

    def __init__(self, why: str, scopes: tuple[str, ...] | None = None) -> None:
        super().__init__(why)
        self.scopes = scopes

    def for_the_client(self) -> str:
        """The JSON that the client gets."""
        if self.scopes is None:
            return '{"status":"invalid_token"}'
        return f'{{"status":"insufficient_scope", "scope":"[{", ".join(self.scopes)}]"}}'


Validate = Callable[[str], ValidatedToken]
"""Judges a token. Raises TokenRefused. May block."""


class OAuthBearerServer:
    """One exchange. `on_refusal` gets each reason why a token was not accepted, which never holds the token."""

    def __init__(self, validate: Validate, on_refusal: Callable[[str], object] = lambda why: None) -> None:
        self.identity: Identity | None = None
        self._validate = validate
        self._on_refusal = on_refusal
        self._told: str | None = None
        self._refusal_count = 0

    def respond(self, token: bytes) -> bytes:
        """Empty, or why the token was refused. Raises SaslRefused, InvalidExchange. Blocks as the validator does."""
        if self._told is not None and (token == CONTROL_A or self._refusal_count >= MAX_REFUSALS):
            raise SaslRefused(self._told)
        self._told = None
        authorization_id, value = _initial(token)
        try:
            validated = self._validate(value)
        except TokenRefused as refused:
            self._on_refusal(str(refused))
            self._refusal_count += 1
            self._told = refused.for_the_client()
            return self._told.encode()
        name = validated.principal_name
        if authorization_id and authorization_id != name:
            raise SaslRefused(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({name})"
            )
        self.identity = Identity(name, validated.expires_ms)
        return b""


def _initial(message: bytes) -> tuple[str, str]:
    """The authorization id, "" for none, and the token. Raises InvalidExchange."""
    if len(message) > MAX_MESSAGE_BYTES:
        raise InvalidExchange(f"A message of more than {MAX_MESSAGE_BYTES} bytes")
    head = _HEAD.match(message)
    if head is None or not is_escaped(head["authorization_id"] or b""):
        raise InvalidExchange("Invalid OAUTHBEARER client first message")
    *pairs, last, behind = [b"", *message[head.end() :].split(b"\x01", MAX_PAIRS + 2)]
    if last or behind or not all(map(_PAIR.fullmatch, pairs[1:])):
        raise InvalidExchange("Invalid OAUTHBEARER client first message")
    auth = dict(pair.decode().partition("=")[::2] for pair in pairs).get("auth")
    if auth is None:
        raise InvalidExchange("Invalid OAUTHBEARER client first message: 'auth' not specified")
    parts = _AUTH.fullmatch(auth)
    if parts is None:
        raise InvalidExchange("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    if parts["scheme"].lower() != "bearer":
        raise InvalidExchange(f"Invalid scheme in OAUTHBEARER client first message: {parts['scheme']}")
    return (head["authorization_id"] or b"").decode(), parts["token"]
