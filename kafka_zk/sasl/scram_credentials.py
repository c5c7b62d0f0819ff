"""SCRAM credentials: salt, stored key, server key and iterations of one mechanism.

Role        Pure.
Source      ScramFormatter.generateCredential, ScramCredentialUtils, ScramMechanism; RFC 5802.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from enum import Enum
from typing import NamedTuple

MAX_ITERATIONS = 16384


class Mechanism(Enum):
    """The values: the code on the wire, the config key, the hash. Fewer than MIN_ITERATIONS of none are accepted."""

    SHA_256 = (1, "SCRAM-SHA-256", "sha256")
    SHA_512 = (2, "SCRAM-SHA-512", "sha512")

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def key(self) -> str:
        """The config key under which a user's credential is stored."""
        return self.value[1]

    @property
    def hash_name(self) -> str:
        """As hashlib and hmac call it."""
        return self.value[2]


MIN_ITERATIONS = 4096
BY_CODE = {mechanism.code: mechanism for mechanism in Mechanism}
BY_KEY = {mechanism.key: mechanism for mechanism in Mechanism}


class Credential(NamedTuple):
    """What a broker must know to authenticate a user; the password cannot be told from it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def text(self) -> str:
        """As stored in the config of its user."""
        salt, stored, server = (base64.b64encode(part).decode() for part in self[:3])
        return f"salt={salt},stored_key={stored},server_key={server},iterations={self.iterations}"

    def __repr__(self) -> str:
        return f"Credential(iterations={self.iterations})"


def credential_of(mechanism: Mechanism, *, salt: bytes, salted_password: bytes, iterations: int) -> Credential:
    """The credential of a salted password. Raises ValueError for an empty one."""
    if not salted_password:
        raise ValueError("Empty key")
    hash_name = mechanism.hash_name
    client_key = hmac.digest(salted_password, b"Client Key", hash_name)
    server_key = hmac.digest(salted_password, b"Server Key", hash_name)
    return Credential(salt, hashlib.new(hash_name, client_key).digest(), server_key, iterations)


def credential_from(text: str) -> Credential:
    """The credential that `text` stores. Raises ValueError for a text that is none."""
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    if parts.keys() != {"salt", "stored_key", "server_key", "iterations"}:
        # Without the text: what is wrong with it goes to the log, and its keys are secrets.
        raise ValueError("Credentials not valid")
    try:
        salt, stored, server = (
            base64.b64decode(parts[key], validate=True) for key in ("salt", "stored_key", "server_key")
        )
    except ValueError:
        raise ValueError("Credentials not valid") from None
    return Credential(salt, stored, server, int(parts["iterations"]))


def iterations_of(text: str) -> int:
    """The iterations in the text of a credential. Raises ValueError for a text that is none."""
    return credential_from(text).iterations
