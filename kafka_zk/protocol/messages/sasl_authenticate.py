"""SaslAuthenticate (key 36, v0-2): one step of a SASL exchange."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT16, INT64, STRING, Field

SASL_AUTHENTICATE_REQUEST = Message(
    "SaslAuthenticateRequest",
    api_key=36,
    versions="0-2",
    flexible="2+",
    fields=(Field("auth_bytes", "0+", BYTES),),
)

SASL_AUTHENTICATE_RESPONSE = Message(
    "SaslAuthenticateResponse",
    api_key=36,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+"),
        Field("auth_bytes", "0+", BYTES),
        Field("session_lifetime_ms", "1+", INT64, ignorable=True),
    ),
)

SaslAuthenticateRequest = SASL_AUTHENTICATE_REQUEST.value_class
SaslAuthenticateResponse = SASL_AUTHENTICATE_RESPONSE.value_class
