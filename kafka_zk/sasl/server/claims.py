"""The claims of a JSON Web Token: how its text becomes a mapping, and how its times and names are read.

Role        Pure.
Invariants  No error holds a part of the token.
Source      OAuthBearerUnsecuredJws, ClaimValidationUtils in Kafka 3.9; RFC 7519.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from kafka_zk.sasl.server.oauthbearer import TokenRefused

MAX_TOKEN_CHARS = 64 * 1024
"""A longer one is refused unread: decoding it would hold up everybody. Tokens of identity providers have 1 to 4 KiB."""

LATEST_TIME_S = 253_402_300_799
"""The end of the year 9999: beyond it a time is no time."""

Claims = dict[str, Any]


def sections_of(token: str) -> tuple[str, str, str]:
    """Header, claims and signature, still encoded. Raises TokenRefused."""
    if len(token) > MAX_TOKEN_CHARS:
        raise TokenRefused(f"The token is longer than {MAX_TOKEN_CHARS} characters")
    sections = token.split(".")
    if len(sections) != 3:
        raise TokenRefused(f"Malformed JWT provided; expected 3 sections, found {len(sections)}")
    header, claims, signature = sections
    if not header or not claims:
        raise TokenRefused("Malformed JWT provided; expected at least three sections, one is empty")
    return header, claims, signature


def mapping_of(section: str, what: str) -> Claims:
    """The JSON object in one section. Raises TokenRefused."""
    try:
        raw = base64.b64decode(section + "=" * (-len(section) % 4), altchars=b"-_", validate=True)
        found = json.loads(raw)
    except (binascii.Error, ValueError, RecursionError):
        raise TokenRefused(f"The {what} of the token cannot be read") from None
    if not isinstance(found, dict):
        raise TokenRefused(f"The {what} of the token is no JSON object")
    return found


def time_of(claims: Claims, name: str, *, required: bool) -> float | None:
    """A time in seconds since the epoch; None where the claim is absent and may be. Raises TokenRefused."""
    value = claims.get(name)
    if value is None:
        if required:
            raise TokenRefused(f"The claim {name} is required and not there")
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST_TIME_S:
        raise TokenRefused(f"The claim {name} is no time")
    return float(value)


def required_time_of(claims: Claims, name: str) -> float:
    """As `time_of`, for a claim that must be there."""
    value = time_of(claims, name, required=True)
    assert value is not None
    return value


def name_of(claims: Claims, name: str) -> str:
    """A claim that is a text and not blank, trimmed. Raises TokenRefused."""
    value = claims.get(name)
    if not isinstance(value, str) or not value.strip():
        raise TokenRefused(f"The claim {name} is required, and must be a text that is not blank")
    return value.strip()
