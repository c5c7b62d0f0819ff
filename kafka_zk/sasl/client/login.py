"""One login of one connection: frames out, frames in, until the broker knows who connects.

Role        Pure: the connection's owner sends and receives. Its clock is not needed: it gets the session's lifetime.
Invariants  The sequence is Kafka's: ApiVersions v0 (left out when an open connection logs in again), SaslHandshake,
            SaslAuthenticate as often as the mechanism wants. Correlation ids are those that no other request has.
            With a broker that has no SaslAuthenticate (before 1.0) the tokens go without headers.
Source      SaslClientAuthenticator in Kafka 3.9.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum, auto
from struct import Struct
from typing import Any, Final

from kafka_zk.protocol.errors import DecodeError, ErrorCode
from kafka_zk.protocol.header import decode_response_header, encode_request_header, response_header_is_flexible
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, ApiVersionsRequest
from kafka_zk.protocol.messages.sasl_authenticate import (
    SASL_AUTHENTICATE_REQUEST,
    SASL_AUTHENTICATE_RESPONSE,
    SaslAuthenticateRequest,
)
from kafka_zk.protocol.messages.sasl_handshake import (
    SASL_HANDSHAKE_REQUEST,
    SASL_HANDSHAKE_RESPONSE,
    SaslHandshakeRequest,
)
from kafka_zk.protocol.types import Buffer
from kafka_zk.sasl.client.exchange import Exchange, ExchangeFailed, ExchangeInterrupted
from kafka_zk.sasl.client.logins import NewExchange

FIRST_CORRELATION_ID: Final = 2**31 - 8
"""From here to the largest number correlation ids belong to logins."""

MAX_AUTHENTICATE_VERSION: Final = 1
"""As Java's clients of 3.9: version 2 only changes the encoding."""

EARLIEST_SHARE, LATEST_SHARE = 0.85, 0.95
"""A session is renewed after a part of its lifetime, drawn between these, so that not all clients come at once."""

SHORTEST_PAUSE_MS: Final = 1000
"""A broker refuses a renewal that begins within this time of the beginning of the one before. It takes later ones even
when the session has ended: until then the connection sends nothing."""

_ONLY_IN_REQUESTS: Final = ("GSSAPI",)
"""Without SaslAuthenticate the broker has no answer to their last token, and nobody would know that it was accepted."""

_SIZE: Final = Struct(">i")


class LoginFailed(Exception):
    """The login is refused, or cannot work: trying again changes nothing. The message has no secret."""


class AuthenticationFailed(LoginFailed):
    """The broker does not accept this client (58), or cannot prove itself to it.

    Source: SaslAuthenticationException.
    """


class MechanismNotEnabled(LoginFailed):
    """The broker has other mechanisms (33). Source: UnsupportedSaslMechanismException."""


class OutOfPlace(LoginFailed):
    """The broker does not expect a login here (34). Source: IllegalSaslStateException."""


class LoginInterrupted(ConnectionError):
    """The login cannot go on now; on another connection it may work. The message has no secret."""


class _State(Enum):
    VERSIONS = auto()
    HANDSHAKE = auto()
    EXCHANGE = auto()
    COMPLETE = auto()


@dataclass(frozen=True, slots=True)
class _Api:
    key: int
    request: Message[Any]
    response: Message[Any]


_VERSIONS: Final = _Api(18, API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE)
_HANDSHAKE: Final = _Api(17, SASL_HANDSHAKE_REQUEST, SASL_HANDSHAKE_RESPONSE)
_AUTHENTICATE: Final = _Api(36, SASL_AUTHENTICATE_REQUEST, SASL_AUTHENTICATE_RESPONSE)


class Login:
    """A login that is under way. `begin` gives the first frame; `received` takes each answer and gives the next one.

    Frames go out with their size and come in without it. All may raise LoginFailed, LoginInterrupted; DecodeError for
    bytes that are no answer. `received` may compute for long (SCRAM's PBKDF2) or wait for a KDC (GSSAPI): callers with
    an event loop run it in a thread.
    """

    def __init__(self, new_exchange: NewExchange, client_id: str, *, again_with: Login | None = None) -> None:
        """`again_with` is the login that an open connection renews: its broker's versions are known."""
        try:
            self._exchange: Exchange = new_exchange()
        except ExchangeFailed as error:
            raise AuthenticationFailed(str(error)) from error
        self._client_id = client_id
        self._correlation_ids = itertools.count(FIRST_CORRELATION_ID)
        self._awaited: tuple[int, _Api, int] | None = None
        self._handshake_version: int = 0 if again_with is None else again_with._handshake_version
        self._authenticate_version: int | None = None if again_with is None else again_with._authenticate_version
        self._state = _State.HANDSHAKE if again_with is not None else _State.VERSIONS
        self._is_renewal = again_with is not None
        self.session_lifetime_ms = 0
        """How long the broker lets the session last; 0: for ever."""

    @property
    def is_complete(self) -> bool:
        return self._state is _State.COMPLETE

    def begin(self) -> bytes:
        """The first frame."""
        if self._state is _State.VERSIONS:
            return self._request(_VERSIONS, ApiVersionsRequest(), 0)
        return self._handshake()

    def received(self, frame: Buffer) -> bytes | None:
        """Take an answer; the next frame to send, None when nothing is left to send."""
        if self._state is _State.VERSIONS:
            return self._versions(self._answer(frame))
        if self._state is _State.HANDSHAKE:
            return self._mechanisms(self._answer(frame))
        return self._step(self._token(frame))

    def renewal_after_ms(self, chance: float) -> int | None:
        """How long to send requests, in milliseconds from the end of this login; None where the session never ends.

        `chance` is drawn from 0 to 1. Then the login is renewed, but not before `renewal_pause_ms` is over, too.
        """
        if self.session_lifetime_ms <= 0:
            return None
        return int(self.session_lifetime_ms * (EARLIEST_SHARE + chance * (LATEST_SHARE - EARLIEST_SHARE)))

    @property
    def renewal_pause_ms(self) -> int:
        """How long the broker may refuse a renewal, in milliseconds from the end of this login."""
        return SHORTEST_PAUSE_MS if self._is_renewal else 0

    def _versions(self, answer: Any) -> bytes:
        if answer.error_code != ErrorCode.NONE:
            raise OutOfPlace(f"The broker answered ApiVersions before the login with error {answer.error_code}")
        highest = {each.api_key: each.max_version for each in answer.api_keys}
        self._handshake_version = min(1, highest.get(_HANDSHAKE.key, 0))
        if _AUTHENTICATE.key in highest and self._handshake_version >= 1:
            self._authenticate_version = min(MAX_AUTHENTICATE_VERSION, highest[_AUTHENTICATE.key])
        elif self._exchange.mechanism in _ONLY_IN_REQUESTS:
            raise OutOfPlace(
                f"The broker is older than Kafka 1.0, and no login with {self._exchange.mechanism} ends there"
            )
        else:
            self._handshake_version = 0
        self._state = _State.HANDSHAKE
        return self._handshake()

    def _handshake(self) -> bytes:
        wanted = SaslHandshakeRequest(mechanism=self._exchange.mechanism)
        return self._request(_HANDSHAKE, wanted, self._handshake_version)

    def _mechanisms(self, answer: Any) -> bytes:
        mechanism = self._exchange.mechanism
        if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            raise MechanismNotEnabled(
                f"Client SASL mechanism '{mechanism}' not enabled in the server, enabled mechanisms are "
                f"[{', '.join(answer.mechanisms)}]"
            )
        if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise OutOfPlace(
                f"Unexpected handshake request with client mechanism {mechanism}, enabled mechanisms are "
                f"[{', '.join(answer.mechanisms)}]"
            )
        if answer.error_code != ErrorCode.NONE:
            raise OutOfPlace(
                f"Unknown error code {answer.error_code}, client mechanism is {mechanism}, enabled mechanisms are "
                f"[{', '.join(answer.mechanisms)}]"
            )
        self._state = _State.EXCHANGE
        try:
            token = self._exchange.first()
        except ExchangeInterrupted as error:
            raise LoginInterrupted(str(error)) from error
        except ExchangeFailed as error:
            raise AuthenticationFailed(str(error)) from error
        return self._with_token(token)

    def _token(self, frame: Buffer) -> bytes:
        """The server's challenge."""
        if self._authenticate_version is None:
            return bytes(frame)
        answer = self._answer(frame)
        if answer.error_code != ErrorCode.NONE:
            said = answer.error_message or "the broker gives no reason"
            if answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED:
                raise AuthenticationFailed(said)
            raise OutOfPlace(said)
        self.session_lifetime_ms = answer.session_lifetime_ms if self._authenticate_version >= 1 else 0
        return bytes(answer.auth_bytes)

    def _step(self, challenge: bytes) -> bytes | None:
        exchange = self._exchange
        try:
            token = exchange.next(challenge)
        except ExchangeInterrupted as error:
            raise LoginInterrupted(str(error)) from error
        except ExchangeFailed as error:
            raise AuthenticationFailed(
                f"Failed to evaluate client challenge of SASL mechanism {exchange.mechanism}: {error}"
            ) from error
        if token is not None:
            return self._with_token(token)
        if not exchange.is_complete:
            raise AuthenticationFailed(f"The broker ended the login with {exchange.mechanism} before it was complete")
        self._state = _State.COMPLETE
        return None

    def _with_token(self, token: bytes) -> bytes:
        if self._authenticate_version is None:
            return _SIZE.pack(len(token)) + token
        return self._request(_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=token), self._authenticate_version)

    def _request(self, api: _Api, request: Any, version: int) -> bytes:
        correlation_id = next(self._correlation_ids)
        if correlation_id >= 2**31:
            raise AuthenticationFailed("The broker never ends the exchange")
        self._awaited = correlation_id, api, version
        header = encode_request_header(api.key, version, correlation_id, self._client_id)
        body = api.request.encode(request, version)
        return _SIZE.pack(len(header) + len(body)) + header + body

    def _answer(self, frame: Buffer) -> Any:
        assert self._awaited is not None, "not begun"
        correlation_id, api, version = self._awaited
        found, position = decode_response_header(frame, response_header_is_flexible(api.key, version))
        if found != correlation_id:
            raise DecodeError(f"Correlation id for response ({found}) does not match request ({correlation_id})")
        return api.response.decode(frame, version, position)
