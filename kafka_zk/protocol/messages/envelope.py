"""Envelope (key 58, v0): a forwarded request with its principal; refused in ZooKeeper mode."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT16, Field

ENVELOPE_REQUEST = Message(
    "EnvelopeRequest",
    api_key=58,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("request_data", "0+", BYTES),
        Field("request_principal", "0+", BYTES, nullable="0+"),
        Field("client_host_address", "0+", BYTES),
    ),
)

ENVELOPE_RESPONSE = Message(
    "EnvelopeResponse",
    api_key=58,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("response_data", "0+", BYTES, nullable="0+", default=None),
        Field("error_code", "0+", INT16),
    ),
)

EnvelopeRequest = ENVELOPE_REQUEST.value_class
EnvelopeResponse = ENVELOPE_RESPONSE.value_class
