"""The login of a connection: which frames, in which order, and what each refusal means."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kafka_zk.protocol.header import decode_request_header, encode_response_header
from kafka_zk.protocol.messages.api_versions import API_VERSIONS_RESPONSE, ApiVersion, ApiVersionsResponse
from kafka_zk.protocol.messages.sasl_authenticate import (
    SASL_AUTHENTICATE_REQUEST,
    SASL_AUTHENTICATE_RESPONSE,
    SaslAuthenticateResponse,
)
from kafka_zk.protocol.messages.sasl_handshake import SASL_HANDSHAKE_RESPONSE, SaslHandshakeResponse
from kafka_zk.sasl.client.login import AuthenticationFailed, Login, MechanismNotEnabled, OutOfPlace
from kafka_zk.sasl.client.plain import PlainClient


def login(**options: Any) -> Login:
    return Login(lambda: PlainClient("alice", "secret-7"), "me", **options)


def keys(frame: bytes | None) -> tuple[int, int, int]:
    """API key, version and correlation id of a request."""
    assert frame is not None and struct.unpack_from(">i", frame)[0] == len(frame) - 4
    header = decode_request_header(frame, 4)
    return header.api_key, header.api_version, header.correlation_id


def answered(message: Any, value: Any, version: int, correlation_id: int) -> bytes:
    return encode_response_header(correlation_id, False) + message.encode(value, version)


def versions(*supported: tuple[int, int]) -> bytes:
    api_keys = [ApiVersion(api_key=key, min_version=0, max_version=most) for key, most in supported]
    return answered(API_VERSIONS_RESPONSE, ApiVersionsResponse(api_keys=api_keys), 0, 2147483640)


def handshake(error_code: int = 0, correlation_id: int = 2147483641) -> bytes:
    value = SaslHandshakeResponse(error_code=error_code, mechanisms=["SCRAM-SHA-256", "PLAIN"])
    return answered(SASL_HANDSHAKE_RESPONSE, value, 1, correlation_id)


def authenticated(correlation_id: int = 2147483642, **fields: Any) -> bytes:
    value = SaslAuthenticateResponse(**{"auth_bytes": b"", "error_message": None, **fields})
    return answered(SASL_AUTHENTICATE_RESPONSE, value, 1, correlation_id)


def test_a_login_asks_for_versions_shakes_hands_and_authenticates() -> None:
    mine = login()
    assert keys(mine.begin()) == (18, 0, 2147483640)
    assert keys(mine.received(versions((17, 1), (36, 2)))) == (17, 1, 2147483641)
    frame = mine.received(handshake())
    assert frame is not None and keys(frame) == (36, 1, 2147483642)
    sent = SASL_AUTHENTICATE_REQUEST.decode(frame, 1, decode_request_header(frame, 4).body_position)
    assert bytes(sent.auth_bytes) == b"\0alice\0secret-7"
    assert mine.received(authenticated(session_lifetime_ms=10_000)) is None
    assert mine.is_complete
    assert mine.renewal_after_ms(0.5) == 9_000


def test_a_renewal_is_not_followed_by_another_within_the_second_in_which_brokers_refuse_it() -> None:
    mine = login()
    mine.begin()
    mine.received(versions((17, 1), (36, 2)))
    mine.received(handshake())
    mine.received(authenticated(session_lifetime_ms=1000))
    assert (mine.renewal_after_ms(0.0), mine.renewal_pause_ms) == (850, 0)
    again = login(again_with=mine)
    again.begin()
    again.received(handshake(correlation_id=2147483640))
    again.received(authenticated(2147483641, session_lifetime_ms=1000))
    assert again.is_complete
    assert (again.renewal_after_ms(0.0), again.renewal_pause_ms) == (850, 1000)


def test_a_session_without_an_end_is_not_renewed() -> None:
    mine = login()
    mine.begin()
    mine.received(versions((17, 1), (36, 2)))
    mine.received(handshake())
    mine.received(authenticated())
    assert mine.is_complete and mine.renewal_after_ms(0.5) is None


def test_an_old_broker_gets_the_tokens_without_headers() -> None:
    mine = login()
    mine.begin()
    assert keys(mine.received(versions((17, 0))))[:2] == (17, 0)
    value = SaslHandshakeResponse(mechanisms=["PLAIN"])
    frame = mine.received(answered(SASL_HANDSHAKE_RESPONSE, value, 0, 2147483641))
    assert frame == struct.pack(">i", 15) + b"\0alice\0secret-7"
    assert mine.received(b"") is None and mine.is_complete


def test_a_renewal_begins_with_the_handshake() -> None:
    first = login()
    first.begin()
    first.received(versions((17, 1), (36, 2)))
    first.received(handshake())
    first.received(authenticated())
    again = login(again_with=first)
    assert keys(again.begin()) == (17, 1, 2147483640)
    assert keys(again.received(handshake(correlation_id=2147483640)))[0] == 36


def test_each_refusal_has_its_error_and_kafkas_words() -> None:
    mine = login()
    mine.begin()
    mine.received(versions((17, 1), (36, 2)))
    with pytest.raises(MechanismNotEnabled) as unsupported:
        mine.received(handshake(33))
    assert str(unsupported.value) == (
        "Client SASL mechanism 'PLAIN' not enabled in the server, enabled mechanisms are [SCRAM-SHA-256, PLAIN]"
    )
    with pytest.raises(OutOfPlace, match="Unexpected handshake request with client mechanism PLAIN"):
        mine.received(handshake(34))
    mine.received(handshake())
    with pytest.raises(AuthenticationFailed, match=r"^no such user$"):
        mine.received(authenticated(error_code=58, error_message="no such user"))
