"""SaslHandshake (key 17, v0-1): a client chooses its SASL mechanism."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, STRING, Array, Field

SASL_HANDSHAKE_REQUEST = Message(
    "SaslHandshakeRequest",
    api_key=17,
    versions="0-1",
    flexible="none",
    fields=(Field("mechanism", "0+", STRING),),
)

SASL_HANDSHAKE_RESPONSE = Message(
    "SaslHandshakeResponse",
    api_key=17,
    versions="0-1",
    flexible="none",
    fields=(
        Field("error_code", "0+", INT16),
        Field("mechanisms", "0+", Array(STRING)),
    ),
)

SaslHandshakeRequest = SASL_HANDSHAKE_REQUEST.value_class
SaslHandshakeResponse = SASL_HANDSHAKE_RESPONSE.value_class
