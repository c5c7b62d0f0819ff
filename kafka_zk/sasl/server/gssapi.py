"""GSSAPI (RFC 4752): the client shows a Kerberos ticket for this service.

Role        Pure but for the context, whose steps may block.
Invariants  Nothing but authentication is agreed on: no protection of what follows.
            Who the client is comes from its ticket. The authorization id it asks for changes nothing.
Source      GssKrb5Server in OpenJDK 17, SaslServerCallbackHandler and DefaultKafkaPrincipalBuilder in Kafka 3.9.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum, auto

from kafka_zk.one_line import one_line
from kafka_zk.sasl.kerberos.context import NO_PROTECTION, PROTECTION_BYTES, SecurityContext, protection
from kafka_zk.sasl.kerberos.errors import GssError
from kafka_zk.sasl.kerberos.names import KerberosName, MalformedName
from kafka_zk.sasl.kerberos.short_names import NoMatchingRule
from kafka_zk.sasl.server.mechanism import ExchangeInterrupted, Identity, InvalidExchange

SHOWN_CHARS = 100
"""Of whom a client asks to be: the log must not grow by the size of its message."""

log = logging.getLogger("org.apache.kafka.common.security.authenticator.SaslServerCallbackHandler")


class _Stage(Enum):
    CONTEXT = auto()
    OFFER = auto()
    CHOICE = auto()


class GssapiServer:
    """One exchange. `short_name` may raise NoMatchingRule; `service` is what this side's name must begin with."""

    def __init__(
        self, context: SecurityContext, short_name: Callable[[KerberosName], str], service: str | None = None
    ) -> None:
        self.identity: Identity | None = None
        self._context = context
        self._short_name = short_name
        self._service = service
        self._stage = _Stage.CONTEXT

    def respond(self, token: bytes) -> bytes | None:
        """Blocks. None at the end. Raises InvalidExchange, ExchangeInterrupted."""
        if self.identity is not None:
            raise InvalidExchange("SASL authentication already complete")
        try:
            match self._stage:
                case _Stage.CONTEXT:
                    return self._establish(token)
                case _Stage.OFFER:
                    return self._offer(token)
                case _Stage.CHOICE:
                    self._choose(token)
                    return None
        except GssError as error:
            if error.is_passing_for_server:
                raise ExchangeInterrupted(str(error)) from None
            raise InvalidExchange(str(error)) from None

    def _establish(self, token: bytes) -> bytes:
        answer = self._context.step(token)
        if not self._context.is_complete:
            return answer
        own = self._context.own
        if self._service is not None and KerberosName.parse(own).service_name.lower() != self._service.lower():
            raise InvalidExchange(f"GSS context targ name protocol error: {own}")
        self._stage = _Stage.OFFER
        return answer or self._offer(b"")

    def _offer(self, token: bytes) -> bytes:
        if token:
            raise InvalidExchange("Handshake expecting no response data from server")
        self._stage = _Stage.CHOICE
        return self._context.wrap(protection())

    def _choose(self, token: bytes) -> None:
        chosen = self._context.unwrap(token)
        if len(chosen) < PROTECTION_BYTES:
            raise InvalidExchange("The choice of a protection is too short")
        if not chosen[0] & NO_PROTECTION:
            raise InvalidExchange(f"Client selected unsupported protection: {chosen[0]}")
        peer = self._context.peer
        asked = chosen[PROTECTION_BYTES:].decode("utf-8", "replace") or peer
        message = "Successfully authenticated client: authenticationID=%s; authorizationID=%s."
        log.info(message, one_line(peer), one_line(asked[:SHOWN_CHARS]))
        self.identity = self._identity_of(peer)

    def _identity_of(self, peer: str) -> Identity:
        try:
            return Identity(self._short_name(KerberosName.parse(peer)))
        except MalformedName as error:
            return Identity("", no_principal=str(error))
        except NoMatchingRule as error:
            return Identity(
                "", no_principal=f"Failed to set name for '{peer}' based on Kerberos authentication rules.: {error}"
            )
