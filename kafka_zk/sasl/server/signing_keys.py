"""The public keys of token issuers (a JSON Web Key Set), and which algorithm each may check.

Role        Pure.
Invariants  What a key may check is fixed by the key alone, never by a token: an RSA key checks no HMAC, and a key that
            names its algorithm checks nothing else. Secret keys (oct) are no keys here.
            A key that cannot be read is left out; the others count.
Source      jose4j's VerificationJwkSelector as Kafka uses it; RFC 7517; the advisory of 2026 on Kafka 4.1's validator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jwt import PyJWK
from jwt.exceptions import PyJWTError

_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_BY_CURVE = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",)}


class BadKeySet(ValueError):
    """No JSON Web Key Set. The text holds nothing of it."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key, and the algorithms that it may check."""

    key: Any
    algorithms: tuple[str, ...]

    def __repr__(self) -> str:
        return f"SigningKey({'/'.join(self.algorithms)})"


SigningKeys = Mapping[str, tuple[SigningKey, ...]]
"""By key id."""


def signing_keys(text: bytes) -> SigningKeys:
    """The usable keys of a key set. Raises BadKeySet."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise BadKeySet("the answer is no JSON") from None
    entries = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise BadKeySet("the answer is no JSON Web Key Set")
    keys: dict[str, tuple[SigningKey, ...]] = {}
    for entry in entries:
        key = _signing_key(entry) if isinstance(entry, dict) else None
        if key is not None:
            keys[entry["kid"]] = (*keys.get(entry["kid"], ()), key)
    return keys


def _signing_key(entry: dict[str, Any]) -> SigningKey | None:
    algorithms = _algorithms(entry)
    if not algorithms or not isinstance(entry.get("kid"), str) or entry.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK(_public_part(entry), algorithms[0]).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    return SigningKey(key, algorithms)


def _algorithms(entry: dict[str, Any]) -> tuple[str, ...]:
    kind = entry.get("kty")
    possible = _RSA if kind == "RSA" else _BY_CURVE.get(str(entry.get("crv")), ()) if kind == "EC" else ()
    named = entry.get("alg")
    return possible if named is None else tuple(each for each in possible if each == named)


def _public_part(entry: dict[str, Any]) -> dict[str, Any]:
    """An issuer that shows its private key does not make us hold it."""
    return {name: entry[name] for name in ("kty", "n", "e", "crv", "x", "y") if name in entry}
