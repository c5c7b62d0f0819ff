"""Access tokens of an OAuth server: how to ask for one, how to read the answer, when to ask again.

Role        Pure.
Invariants  Neither a repr nor an error shows a token, a client's secret, or what the server answered.
Source      HttpAccessTokenRetriever, LoginAccessTokenValidator, SerializedJwt, ExpiringCredentialRefreshingLogin in
            Kafka 3.9.
"""

from __future__ import annotations

import base64
import binascii
import json
import urllib.parse
from dataclasses import dataclass, field
from typing import Final

FATAL_STATUSES: Final = frozenset((*range(400, 408), *range(409, 416), 501, 505))
"""Answers after which asking again changes nothing."""


LATEST_TIME_S: Final = 253_402_300_799
"""The end of the year 9999: beyond it a time is no time."""


class BadToken(Exception):
    """What was answered holds no token that can be used. The message has no secret."""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A JSON web token, of which only the server that issued it can tell whether it is good."""

    text: str = field(repr=False)
    issued_ms: int | None
    expires_ms: int


@dataclass(frozen=True, slots=True)
class RefreshRules:
    """The values of sasl.login.refresh.*."""

    window_factor: float = 0.8
    window_jitter: float = 0.05
    min_period_s: int = 60
    buffer_s: int = 300

    def refresh_at_ms(self, token: AccessToken, now_ms: int, chance: float) -> int:
        """When to ask for the next token, on the clock of `now_ms`. `chance` is drawn from 0 to 1."""
        share = self.window_factor + self.window_jitter * chance
        if now_ms + 1000 * (self.min_period_s + self.buffer_s) > token.expires_ms:
            # Too short for the limits: they do not count.
            return now_ms + int((token.expires_ms - now_ms) * share)
        begun_ms = now_ms if token.issued_ms is None else token.issued_ms
        wanted_ms = begun_ms + int((token.expires_ms - begun_ms) * share)
        if wanted_ms > (latest_ms := token.expires_ms - 1000 * self.buffer_s):
            return latest_ms
        return max(wanted_ms, now_ms + 1000 * self.min_period_s)


def authorization(client_id: str, client_secret: str, *, is_encoded: bool) -> str:
    """The header Authorization. `is_encoded`: sasl.oauthbearer.header.urlencode."""
    if is_encoded:
        client_id, client_secret = _form(client_id), _form(client_secret)
    return "Basic " + base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()


def request_body(scope: str | None) -> bytes:
    """The form that asks for a token."""
    wanted = "grant_type=client_credentials"
    return (f"{wanted}&scope={_form(scope.strip())}" if scope and scope.strip() else wanted).encode()


def _form(text: str) -> str:
    """As java.net.URLEncoder."""
    return urllib.parse.quote_plus(text, safe="*").replace("~", "%7E")


def token_in(answer: bytes) -> str:
    """The access token in the answer of a token endpoint. Raises BadToken."""
    try:
        found = json.loads(answer)["access_token"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str) or not found.strip():
        raise BadToken("The token endpoint response did not contain an access_token value")
    return found.strip()


def access_token(text: str, *, scope_claim: str = "scope", subject_claim: str = "sub") -> AccessToken:
    """The token with its times. Nobody has checked its signature. Raises BadToken."""
    text = text.strip()
    if not text:
        raise BadToken("Empty JWT provided; expected three sections (header, payload, and signature)")
    parts = text.split(".")
    if len(parts) != 3 or not all(parts):
        raise BadToken("Malformed JWT provided; expected three sections (header, payload, and signature)")
    try:
        claims = json.loads(base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        claims = None
    if not isinstance(claims, dict):
        raise BadToken("Could not validate the access token: malformed, missing, or null payload")
    _check_names(claims, scope_claim, subject_claim)
    expires_ms = _milliseconds(claims, "exp")
    if expires_ms is None:
        raise BadToken("exp value must be non-null")
    return AccessToken(text, _milliseconds(claims, "iat"), expires_ms)


def _check_names(claims: dict[str, object], scope_claim: str, subject_claim: str) -> None:
    subject = claims.get(subject_claim)
    if not isinstance(subject, str) or not subject.strip():
        raise BadToken(f"{subject_claim} value must be non-empty")
    scope = claims.get(scope_claim)
    scopes = scope if isinstance(scope, list) else [] if scope is None else [scope]
    if not all(isinstance(each, str) and each.strip() for each in scopes):
        raise BadToken(f"{scope_claim} value must not contain only whitespace")


def _milliseconds(claims: dict[str, object], name: str) -> int | None:
    found = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= LATEST_TIME_S:
        raise BadToken(f"{name} value must be a time")
    return int(found * 1000)
