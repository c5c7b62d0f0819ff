"""GSSAPI (RFC 4752): a Kerberos ticket for the broker, which must prove that it has the service's key.

Role        Pure but for the context, whose first step may block for the KDC.
Invariants  No protection of what follows is agreed on.
Source      GssKrb5Client in OpenJDK 17, SaslClientAuthenticator.createSaslToken in Kafka 3.9.
"""

from __future__ import annotations

from kafka_zk.sasl.client.exchange import ExchangeFailed, ExchangeInterrupted
from kafka_zk.sasl.kerberos.context import NO_PROTECTION, PROTECTION_BYTES, SecurityContext, protection
from kafka_zk.sasl.kerberos.errors import SERVER_NOT_FOUND, GssError

_UNKNOWN_SERVER = (
    " This may be caused by the broker's host name: the name in the bootstrap servers or in advertised.listeners must "
    "match the host name in `principal/hostname@realm`."
)


class GssapiClient:
    """`authorization_id`: the client's own principal, as Kafka's clients send it."""

    mechanism = "GSSAPI"

    def __init__(self, context: SecurityContext, authorization_id: str) -> None:
        self._context = context
        self._authorization_id = authorization_id
        self._is_complete = False

    def first(self) -> bytes:
        """Blocks. Raises ExchangeFailed, ExchangeInterrupted."""
        return self._step(b"", "GSS initiate failed")

    def next(self, challenge: bytes) -> bytes | None:
        """Blocks. Raises ExchangeFailed, ExchangeInterrupted."""
        if self._is_complete:
            if challenge:
                raise ExchangeFailed("GSSAPI authentication already complete")
            return None
        if not self._context.is_complete:
            return self._step(challenge, "GSS initiate failed")
        if not challenge:
            return b""
        return self._choice(challenge)

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    def _step(self, token: bytes, what: str) -> bytes:
        try:
            return self._context.step(token)
        except GssError as error:
            raise _failure(what, error) from None

    def _choice(self, challenge: bytes) -> bytes:
        try:
            offered = self._context.unwrap(challenge)
            if len(offered) < PROTECTION_BYTES or not offered[0] & NO_PROTECTION:
                raise ExchangeFailed("No common protection layer between client and server")
            answer = self._context.wrap(protection(self._authorization_id))
        except GssError as error:
            raise _failure("Final handshake failed", error) from None
        self._is_complete = True
        return answer


def _failure(what: str, error: GssError) -> ExchangeFailed:
    text = f"An error: ({what} [Caused by {error}]) occurred when evaluating SASL token received from the Kafka Broker."
    if error.code == SERVER_NOT_FOUND:
        text += _UNKNOWN_SERVER
    if error.is_passing:
        return ExchangeInterrupted(f"{text} Kafka Client will retry.")
    return ExchangeFailed(f"{text} Kafka Client will go to AUTHENTICATION_FAILED state.")
