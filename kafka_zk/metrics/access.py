"""Who may read the Prometheus endpoint: everybody who reaches it, or who knows a name and a password.

Role        Pure; `http` asks.
Invariants  Name and password are compared in constant time, and both always. Printing it shows no password.
Source      RFC 7617 (Basic).
"""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass, field

CHALLENGE = 'Basic realm="kafka_zk", charset="UTF-8"'


@dataclass(frozen=True, slots=True)
class BasicAccess:
    """One user."""

    username: str
    password: str = field(repr=False)

    def allows(self, authorization: str | None) -> bool:
        """Whether the header Authorization of a request is this user's."""
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() != "basic":
            return False
        try:
            username, colon, password = base64.b64decode(given.strip(), validate=True).partition(b":")
        except (binascii.Error, ValueError):
            return False
        is_user = hmac.compare_digest(username, self.username.encode())
        is_password = hmac.compare_digest(password, self.password.encode())
        return is_user and is_password and bool(colon)
