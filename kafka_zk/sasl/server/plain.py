"""PLAIN: user and password in one token.

Role        Pure.
Invariants  Comparing takes as long for an unknown user as for a known one.
Source      PlainSaslServer, PlainServerCallbackHandler in Kafka 3.9; RFC 4616.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from kafka_zk.sasl.server.mechanism import MAX_MESSAGE_BYTES, Identity, InvalidExchange, SaslRefused

MECHANISM = "PLAIN"

_MOST_PARTS = 4
"""Kafka stops to count there."""


class PlainServer:
    """`users`: password by user name."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.identity: Identity | None = None

    def respond(self, token: bytes) -> bytes:
        """Empty. Raises SaslRefused, InvalidExchange."""
        parts = _parts(token)
        if len(parts) != 3:
            raise SaslRefused(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        if len(token) > MAX_MESSAGE_BYTES:
            raise InvalidExchange(f"A message of more than {MAX_MESSAGE_BYTES} bytes")
        authorization_id, user, password = (part.decode("utf-8", "replace") for part in parts)
        if not user:
            raise SaslRefused("Authentication failed: username not specified")
        if not password:
            raise SaslRefused("Authentication failed: password not specified")
        expected = self._users.get(user)
        is_equal = hmac.compare_digest(password.encode(), (expected or "").encode())
        if expected is None or not is_equal:
            raise SaslRefused("Authentication failed: Invalid username or password")
        if authorization_id and authorization_id != user:
            raise SaslRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.identity = Identity(user)
        return b""


def _parts(token: bytes) -> list[bytes]:
    """Between NULs, which are part of no other character: authorization id, user and password, where all is well."""
    parts = token.split(b"\0", _MOST_PARTS)
    return parts[:_MOST_PARTS]
