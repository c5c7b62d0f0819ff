"""The login of one connection: mechanism, tokens, session, and the login after that.

Role        Acts on one connection: its principal, the limit of its frames and the counts of its listener. What a frame
            means is decided in states.py, how long a session lasts in session.py.
Invariants  A connection has a principal only once its exchange is complete, and keeps it while it logs in again.
            A re-authentication changes neither principal nor mechanism.
            What a client is told of an exchange that is no login of ours is the same text for every reason.
Source      SaslServerAuthenticator in Kafka 3.9; KIP-152, KIP-368; CVE-2017-12610.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.clock import Clock
from kafka_zk.network.connection import Connection
from kafka_zk.network.errors import PeerClosed, RefusedPrincipal
from kafka_zk.sasl.server.mechanism import ExchangeInterrupted, Identity, InvalidExchange, SaslRefused, ServerMechanism
from kafka_zk.security.authentication.session import NextRequest, Session, next_request, session_of
from kafka_zk.security.authentication.states import State

log = logging.getLogger("org.apache.kafka.common.security.authenticator.SaslServerAuthenticator")


class EnabledMechanism(NamedTuple):
    """A mechanism of a listener. `max_reauth_ms`: connections.max.reauth.ms, 0 for no limit."""

    begin: Callable[[], ServerMechanism]
    max_reauth_ms: int = 0


@dataclass(frozen=True, slots=True)
class ListenerLogins:
    """The mechanisms of one listener, in the order in which clients are told of them."""

    mechanisms: Mapping[str, EnabledMechanism]

    @property
    def names(self) -> list[str]:
        return list(self.mechanisms)


class Answer(NamedTuple):
    """To a token; `session` once the login is complete."""

    token: bytes | None
    session: Session | None


class Authenticator:
    """Authenticates one client, as often as it asks. Of SaslRefused the client is told the text."""

    __slots__ = (
        "_begun_ms",
        "_clock",
        "_connection",
        "_is_again",
        "_logins",
        "_mechanism",
        "_name",
        "_no_principal",
        "_session",
        "_tells_lifetime",
        "refusal",
        "state",
    )

    def __init__(self, connection: Connection, logins: ListenerLogins, clock: Clock) -> None:
        self.state = State.INITIAL_REQUEST
        self.refusal = ""
        """Why a re-authentication cannot go on (REAUTH_BAD_MECHANISM)."""
        self._connection = connection
        self._logins = logins
        self._clock = clock
        self._mechanism: ServerMechanism | None = None
        self._name = ""
        self._no_principal = ""
        self._session = Session(0, None)
        self._is_again = False
        self._begun_ms: int | None = None
        self._tells_lifetime = False

    @property
    def is_again(self) -> bool:
        """Whether this is a re-authentication."""
        return self._is_again

    @property
    def mechanisms(self) -> list[str]:
        """The names of those enabled."""
        return self._logins.names

    @property
    def invalid_credentials(self) -> str:
        """What a client is told when it must not learn more."""
        kind = "re-authentication" if self._is_again else "authentication"
        return f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {self._name}"

    def next_request(self, *, is_handshake: bool) -> NextRequest:
        """For a client that has logged in: what becomes of its request. Raises RefusedPrincipal."""
        if self._no_principal:
            raise RefusedPrincipal(self._no_principal)
        return next_request(
            self._session,
            is_handshake=is_handshake,
            began_again_ms=self._begun_ms,
            monotonic_ms=self._clock.monotonic_ms(),
        )

    def begin_again(self) -> None:
        """The client begins a re-authentication."""
        self._begun_ms = self._clock.monotonic_ms()
        self._is_again = True
        self._tells_lifetime = False
        self.state = State.REAUTH_PROCESS_HANDSHAKE
        self._connection.begin_login()

    @property
    def must_ask_again(self) -> bool:
        """Whether the next requests of a client that has logged in are to be shown to `next_request`."""
        return self._session.ends_at_ms is not None or bool(self._no_principal)

    def choose(self, name: str, *, raw: bool) -> bool:
        """Begin the exchange of a mechanism; False if it is not enabled. `raw`: its tokens come without requests."""
        enabled = self._logins.mechanisms.get(name)
        if enabled is None:
            return False
        if self._is_again and name != self._name:
            self.refusal = (
                f"SASL mechanism '{name}' requested by client is not supported for re-authentication of mechanism "
                f"'{self._name}'"
            )
            log.debug("%s", self.refusal)
            self.state = State.REAUTH_BAD_MECHANISM
            return True
        self._name = name
        self._mechanism = enabled.begin()
        self.state = State.AUTHENTICATE_RAW if raw else State.AUTHENTICATE
        return True

    def take(self, token: bytes, *, tells_lifetime: bool) -> Answer:
        """May block. The answer to a token. Raises SaslRefused, with the text for the client; PeerClosed.

        `tells_lifetime`: the client's version can learn when to log in again.
        """
        mechanism = self._mechanism
        assert mechanism is not None
        self._tells_lifetime = self._tells_lifetime or tells_lifetime
        try:
            answer = mechanism.respond(token)
        except InvalidExchange as error:
            log.debug("%s: %s", self.invalid_credentials, error)
            raise SaslRefused(self.invalid_credentials) from error
        except ExchangeInterrupted as error:
            log.debug("Failed during authentication: %s", error)
            raise PeerClosed(str(error)) from error
        identity = mechanism.identity
        return Answer(answer, None if identity is None else self._complete(identity))

    def _complete(self, identity: Identity) -> Session:
        connection, logins = self._connection, self._connection.logins
        principal = f"User:{identity.name}"
        self._no_principal = identity.no_principal
        if self._is_again and principal != connection.principal:
            raise SaslRefused(
                f"Cannot change principals during re-authentication from {_dotted(connection.principal)}: "
                f"{_dotted(principal)}"
            )
        session = self._session_of(identity)
        if self._is_again:
            logins.reauthenticated += 1
            assert self._begun_ms is not None
            logins.latencies_ms.append(self._clock.monotonic_ms() - self._begun_ms)
        else:
            logins.authenticated += 1
            logins.without_reauthentication += not self._tells_lifetime
        self._session = session
        self._mechanism = None
        self.state = State.COMPLETE
        connection.principal = principal
        connection.token_authenticated = identity.token_authenticated
        connection.end_login()
        return session

    def _session_of(self, identity: Identity) -> Session:
        return session_of(
            credential_expires_ms=identity.expires_ms,
            max_reauth_ms=self._logins.mechanisms[self._name].max_reauth_ms,
            wall_ms=self._clock.wall_ms(),
            monotonic_ms=self._clock.monotonic_ms(),
        )

    def __repr__(self) -> str:
        return f"login {self.state.name} {self._name} session={self._session}"


def _dotted(principal: str) -> str:
    """As Kafka writes it here: User.alice."""
    return principal.replace(":", ".", 1)
