"""ExpireDelegationToken (key 40, v0-2): let a delegation token expire."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT16, INT32, INT64, Field

EXPIRE_DELEGATION_TOKEN_REQUEST = Message(
    "ExpireDelegationTokenRequest",
    api_key=40,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("hmac", "0+", BYTES),
        Field("expiry_time_period_ms", "0+", INT64),
    ),
)

EXPIRE_DELEGATION_TOKEN_RESPONSE = Message(
    "ExpireDelegationTokenResponse",
    api_key=40,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("error_code", "0+", INT16),
        Field("expiry_timestamp_ms", "0+", INT64),
        Field("throttle_time_ms", "0+", INT32),
    ),
)

ExpireDelegationTokenRequest = EXPIRE_DELEGATION_TOKEN_REQUEST.value_class
ExpireDelegationTokenResponse = EXPIRE_DELEGATION_TOKEN_RESPONSE.value_class
