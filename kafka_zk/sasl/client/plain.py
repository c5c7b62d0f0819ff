"""PLAIN: user name and password in one message (RFC 4616).

Role        Pure.
Source      PlainSaslClient in Kafka 3.9.
"""

from __future__ import annotations

from kafka_zk.sasl.client.exchange import ExchangeFailed


class PlainClient:
    """Logs in as `username`, without an authorization id."""

    mechanism = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        self._message = f"\0{username}\0{password}".encode()
        self._is_sent = False

    def first(self) -> bytes:
        self._is_sent = True
        return self._message

    def next(self, challenge: bytes) -> bytes | None:
        if challenge:
            raise ExchangeFailed("Client is not expecting a challenge of SASL/PLAIN")
        return None

    @property
    def is_complete(self) -> bool:
        return self._is_sent
