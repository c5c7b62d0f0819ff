"""OAUTHBEARER: a bearer token and extensions in one message (RFC 7628).

Role        Pure. Where the token comes from is its caller's concern.
Source      OAuthBearerSaslClient and OAuthBearerClientInitialResponse in Kafka 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafka_zk.sasl.client.exchange import ExchangeFailed

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_EXTENSION_KEY = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_SEPARATOR = "\x01"


def check_extensions(extensions: Mapping[str, str]) -> None:
    """Raise ExchangeFailed for what no message can hold; `auth` is the token's own key."""
    for key, value in extensions.items():
        if key == "auth":
            raise ExchangeFailed("Extension name auth is invalid")
        if not _EXTENSION_KEY.fullmatch(key):
            raise ExchangeFailed(f"Extension name {key} is invalid")
        if not _EXTENSION_VALUE.fullmatch(value):
            raise ExchangeFailed(f"Extension value of {key} is invalid")


class OAuthBearerClient:
    """Logs in with `token`. Raises ExchangeFailed for a token or extensions that cannot be sent."""

    mechanism = "OAUTHBEARER"

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        if not _TOKEN.fullmatch(token):
            raise ExchangeFailed("The OAuth token has characters that no bearer token may have")
        check_extensions(extensions or {})
        pairs = {"auth": f"Bearer {token}", **(extensions or {})}
        said = _SEPARATOR.join(f"{key}={value}" for key, value in pairs.items())
        self._message = f"n,,{_SEPARATOR}{said}{_SEPARATOR}{_SEPARATOR}".encode()
        self._is_complete = False

    def first(self) -> bytes:
        return self._message

    def next(self, challenge: bytes) -> bytes | None:
        """An empty challenge completes; the server's complaint as JSON is answered by the one byte that ends it."""
        if challenge:
            return _SEPARATOR.encode()
        self._is_complete = True
        return None

    @property
    def is_complete(self) -> bool:
        return self._is_complete
