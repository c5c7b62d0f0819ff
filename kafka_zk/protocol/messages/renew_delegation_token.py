"""RenewDelegationToken (key 39, v0-2): move the expiry of a delegation token."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT16, INT32, INT64, Field

RENEW_DELEGATION_TOKEN_REQUEST = Message(
    "RenewDelegationTokenRequest",
    api_key=39,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("hmac", "0+", BYTES),
        Field("renew_period_ms", "0+", INT64),
    ),
)

RENEW_DELEGATION_TOKEN_RESPONSE = Message(
    "RenewDelegationTokenResponse",
    api_key=39,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("error_code", "0+", INT16),
        Field("expiry_timestamp_ms", "0+", INT64),
        Field("throttle_time_ms", "0+", INT32),
    ),
)

RenewDelegationTokenRequest = RENEW_DELEGATION_TOKEN_REQUEST.value_class
RenewDelegationTokenResponse = RENEW_DELEGATION_TOKEN_RESPONSE.value_class
