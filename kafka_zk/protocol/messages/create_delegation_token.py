"""CreateDelegationToken (key 38, v0-3): create a delegation token."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT16, INT32, INT64, STRING, Array, Field, Struct

CREATE_DELEGATION_TOKEN_REQUEST = Message(
    "CreateDelegationTokenRequest",
    api_key=38,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("owner_principal_type", "3+", STRING, nullable="3+"),
        Field("owner_principal_name", "3+", STRING, nullable="3+"),
        Field(
            "renewers",
            "0+",
            Array(
                Struct(
                    "CreatableRenewers",
                    (
                        Field("principal_type", "0+", STRING),
                        Field("principal_name", "0+", STRING),
                    ),
                )
            ),
        ),
        Field("max_lifetime_ms", "0+", INT64),
    ),
)

CREATE_DELEGATION_TOKEN_RESPONSE = Message(
    "CreateDelegationTokenResponse",
    api_key=38,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("error_code", "0+", INT16),
        Field("principal_type", "0+", STRING),
        Field("principal_name", "0+", STRING),
        Field("token_requester_principal_type", "3+", STRING),
        Field("token_requester_principal_name", "3+", STRING),
        Field("issue_timestamp_ms", "0+", INT64),
        Field("expiry_timestamp_ms", "0+", INT64),
        Field("max_timestamp_ms", "0+", INT64),
        Field("token_id", "0+", STRING),
        Field("hmac", "0+", BYTES),
        Field("throttle_time_ms", "0+", INT32),
    ),
)

CreateDelegationTokenRequest = CREATE_DELEGATION_TOKEN_REQUEST.value_class
CreatableRenewers = CREATE_DELEGATION_TOKEN_REQUEST.class_of("CreatableRenewers")
CreateDelegationTokenResponse = CREATE_DELEGATION_TOKEN_RESPONSE.value_class
