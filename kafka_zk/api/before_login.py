"""The frames of a login: requests of three APIs, or raw tokens, until the client has a principal.

Role        What dispatch asks about each frame of a connection that must authenticate (services.Authentication). May
            block where a mechanism looks up a delegation token or judges a signed one.
Invariants  Nothing but ApiVersions, SaslHandshake and SaslAuthenticate is decoded before the login is complete.
            These frames never count as requests in the metrics.
            Once a session without an end is open, dispatch asks no more.
Source      SaslServerAuthenticator.authenticate, Processor.processCompletedReceives in Kafka 3.9; KIP-43, KIP-152,
            KIP-368.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from kafka_zk.api.cluster.api_versions import software_of
from kafka_zk.api.dispatch import API_VERSIONS_KEY, unsupported_api_versions
from kafka_zk.clock import Clock
from kafka_zk.network.connection import Connection
from kafka_zk.network.errors import AuthenticationFailed, CloseConnection, SessionEnded, UnexpectedInput
from kafka_zk.network.parts import Parts
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import DecodeError, ErrorCode
from kafka_zk.protocol.header import (
    RequestHeader,
    decode_request_header,
    encode_response_header,
    response_header_is_flexible,
)
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, ApiVersionsResponse
from kafka_zk.protocol.messages.sasl_authenticate import (
    SASL_AUTHENTICATE_REQUEST,
    SASL_AUTHENTICATE_RESPONSE,
    SaslAuthenticateResponse,
)
from kafka_zk.protocol.messages.sasl_handshake import (
    SASL_HANDSHAKE_REQUEST,
    SASL_HANDSHAKE_RESPONSE,
    SaslHandshakeResponse,
)
from kafka_zk.sasl.server.mechanism import SaslRefused
from kafka_zk.security.authentication.authenticator import Authenticator, ListenerLogins
from kafka_zk.security.authentication.session import NextRequest
from kafka_zk.security.authentication.states import Frame, State, Step, step

HANDSHAKE_KEY = 17
AUTHENTICATE_KEY = 36

GSSAPI = "GSSAPI"

SHOWN_CHARS = 100
"""Of what a client calls its mechanism: the log must not grow by 32 KB for each of its tries."""

_FRAMES = {API_VERSIONS_KEY: Frame.VERSIONS, HANDSHAKE_KEY: Frame.HANDSHAKE, AUTHENTICATE_KEY: Frame.AUTHENTICATE}


class BeforeLogin:
    """Logs in the clients of SASL listeners. `logins`: what each listener, by name, offers."""

    def __init__(
        self,
        logins: Mapping[str, ListenerLogins],
        clock: Clock,
        api_versions: Callable[[], ApiVersionsResponse],
    ) -> None:
        self._logins = logins
        self._clock = clock
        self._api_versions = api_versions

    def serve(self, frame: memoryview, connection: Connection) -> Parts | None:
        """See services.Authentication."""
        login = connection.login
        if login is None:
            login = connection.login = Authenticator(connection, self._of(connection.listener_name), self._clock)
        assert isinstance(login, Authenticator)
        if login.state is State.COMPLETE and not _begins_again(frame, login):
            return None
        if login.state is State.AUTHENTICATE_RAW:
            return _take_raw_token(frame, login, connection)
        return self._take_request(frame, login, connection)

    def _of(self, listener_name: str) -> ListenerLogins:
        logins = self._logins.get(listener_name)
        if logins is None:
            raise CloseConnection(f"Listener {listener_name} has no login yet")
        return logins

    def _take_request(self, frame: memoryview, login: Authenticator, connection: Connection) -> Parts:
        header = _header_of(frame)
        kind = Frame.FOREIGN if header is None else _FRAMES.get(header.api_key, Frame.OTHER_API)
        if header is not None and login.state is State.INITIAL_REQUEST:
            login.state = State.HANDSHAKE_OR_VERSIONS_REQUEST
        match step(login.state, kind):
            case Step.TELL_VERSIONS:
                assert header is not None
                return self._tell_versions(header, frame, login, connection)
            case Step.CHOOSE_MECHANISM:
                assert header is not None
                return _choose_again(header, frame, login) if login.is_again else _choose(header, frame, login)
            case Step.TAKE_TOKEN:
                assert header is not None
                return _take_token(header, frame, login, connection)
            case Step.TAKE_FIRST_TOKEN_OF_GSSAPI:
                if not login.choose(GSSAPI, raw=True):
                    raise AuthenticationFailed(
                        "Exception handling first SASL packet from client, GSSAPI is not supported by server"
                    )
                return _take_raw_token(frame, login, connection)
            case Step.REFUSE_DURING_HANDSHAKE:
                assert header is not None
                raise AuthenticationFailed(
                    f"Unexpected Kafka request of type {API_TABLE[header.api_key].enum_name} during SASL handshake."
                )
            case Step.REFUSE_DURING_AUTHENTICATION:
                assert header is not None
                raise _unexpected_api(header)
            case Step.REFUSE_MECHANISM_OF_REAUTHENTICATION:
                raise AuthenticationFailed(login.refusal)
            case Step.CLOSE:
                raise UnexpectedInput(
                    f"Unexpected request received during SASL authentication state {login.state.name}"
                )

    def _tell_versions(
        self, header: RequestHeader, frame: memoryview, login: Authenticator, connection: Connection
    ) -> Parts:
        if not _is_supported(API_VERSIONS_REQUEST, header.api_version):
            return unsupported_api_versions(header)
        request = _decoded(API_VERSIONS_REQUEST, header, frame)
        software = software_of(request, header.api_version)
        if software is None:
            return _encoded(header, API_VERSIONS_RESPONSE, ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST))
        connection.client_software_name, connection.client_software_version = software
        login.state = State.HANDSHAKE_REQUEST
        return _encoded(header, API_VERSIONS_RESPONSE, self._api_versions())


def _begins_again(frame: memoryview, login: Authenticator) -> bool:
    """Whether a request of a client that has logged in begins a re-authentication.

    Raises SessionEnded, RefusedPrincipal.
    """
    api_key = int.from_bytes(frame[:2], "big", signed=True)
    next_request = login.next_request(is_handshake=api_key == HANDSHAKE_KEY)
    if next_request is NextRequest.DISCONNECT:
        raise SessionEnded(f"api key {api_key}")
    if next_request is NextRequest.LOG_IN_AGAIN:
        login.begin_again()
        return True
    return False


def _choose(header: RequestHeader, frame: memoryview, login: Authenticator) -> Parts:
    if not _is_supported(SASL_HANDSHAKE_REQUEST, header.api_version):
        raise UnexpectedInput(f"Version {header.api_version} is not supported for apiKey SASL_HANDSHAKE")
    mechanism = _decoded(SASL_HANDSHAKE_REQUEST, header, frame).mechanism
    response = SaslHandshakeResponse(mechanisms=login.mechanisms)
    if not login.choose(mechanism, raw=header.api_version == 0):
        response.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        raise AuthenticationFailed(
            f"Unsupported SASL mechanism {mechanism[:SHOWN_CHARS]}", _encoded(header, SASL_HANDSHAKE_RESPONSE, response)
        )
    return _encoded(header, SASL_HANDSHAKE_RESPONSE, response)


def _choose_again(header: RequestHeader, frame: memoryview, login: Authenticator) -> Parts:
    """As `_choose`. In Kafka this frame is still a request, whose errors close the connection at once."""
    try:
        return _choose(header, frame, login)
    except (AuthenticationFailed, UnexpectedInput) as error:
        raise CloseConnection(str(error)) from error


def _take_token(header: RequestHeader, frame: memoryview, login: Authenticator, connection: Connection) -> Parts:
    if not _is_supported(SASL_AUTHENTICATE_REQUEST, header.api_version):
        raise UnexpectedInput(f"Version {header.api_version} is not supported for apiKey SASL_AUTHENTICATE")
    token = bytes(_decoded(SASL_AUTHENTICATE_REQUEST, header, frame).auth_bytes)
    try:
        answer = login.take(token, tells_lifetime=header.api_version > 0)
    except SaslRefused as refused:
        response = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(refused), auth_bytes=b""
        )
        raise AuthenticationFailed(str(refused), _encoded(header, SASL_AUTHENTICATE_RESPONSE, response)) from refused
    lifetime_ms = 0
    if answer.session is not None:
        lifetime_ms = answer.session.lifetime_ms
        connection.must_authenticate = login.must_ask_again
    token = answer.token or b""
    response = SaslAuthenticateResponse(error_message="", auth_bytes=token, session_lifetime_ms=lifetime_ms)
    return _encoded(header, SASL_AUTHENTICATE_RESPONSE, response)


def _take_raw_token(frame: memoryview, login: Authenticator, connection: Connection) -> Parts:
    try:
        answer = login.take(bytes(frame), tells_lifetime=False)
    except SaslRefused as refused:
        raise AuthenticationFailed(str(refused)) from refused
    if answer.session is not None:
        connection.must_authenticate = login.must_ask_again
    if answer.token is None:
        return []
    return [struct.pack(">i", len(answer.token)), answer.token]


def _unexpected_api(header: RequestHeader) -> AuthenticationFailed:
    """After the handshake: a request that is no token. Of those of a login the client is told 34."""
    text = f"Unexpected Kafka request of type {API_TABLE[header.api_key].enum_name} during SASL authentication."
    answers: dict[int, tuple[Message[Any], Any]] = {
        API_VERSIONS_KEY: (API_VERSIONS_RESPONSE, ApiVersionsResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)),
        HANDSHAKE_KEY: (SASL_HANDSHAKE_RESPONSE, SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)),
    }
    message, response = answers.get(header.api_key, (None, None))
    if message is None or not _is_supported(message, header.api_version):
        return AuthenticationFailed(text)
    return AuthenticationFailed(text, _encoded(header, message, response))


def _header_of(frame: memoryview) -> RequestHeader | None:
    """None for bytes that are no request of any API, such as a token of GSSAPI."""
    try:
        return decode_request_header(frame)
    except DecodeError:
        return None


def _is_supported(message: Message[Any], api_version: int) -> bool:
    return message.min_version <= api_version <= message.max_version


def _decoded(message: Message[Any], header: RequestHeader, frame: memoryview) -> Any:
    try:
        return message.decode(frame, header.api_version, header.body_position)
    except DecodeError as error:
        name = API_TABLE[header.api_key].enum_name
        raise UnexpectedInput(
            f"Error getting request for apiKey: {name}, apiVersion: {header.api_version}: {error}"
        ) from error


def _encoded(header: RequestHeader, message: Message[Any], response: Any) -> Parts:
    head = encode_response_header(
        header.correlation_id, response_header_is_flexible(header.api_key, header.api_version)
    )
    body = bytes(message.encode(response, header.api_version))
    return [struct.pack(">i", len(head) + len(body)) + head + body]
