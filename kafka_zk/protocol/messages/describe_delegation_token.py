"""DescribeDelegationToken (key 41, v0-3): list delegation tokens."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT16, INT32, INT64, STRING, Array, Field, Struct

DESCRIBE_DELEGATION_TOKEN_REQUEST = Message(
    "DescribeDelegationTokenRequest",
    api_key=41,
    versions="0-3",
    flexible="2+",
    fields=(
        Field(
            "owners",
            "0+",
            Array(
                Struct(
                    "DescribeDelegationTokenOwner",
                    (
                        Field("principal_type", "0+", STRING),
                        Field("principal_name", "0+", STRING),
                    ),
                )
            ),
            nullable="0+",
        ),
    ),
)

DESCRIBE_DELEGATION_TOKEN_RESPONSE = Message(
    "DescribeDelegationTokenResponse",
    api_key=41,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("error_code", "0+", INT16),
        Field(
            "tokens",
            "0+",
            Array(
                Struct(
                    "DescribedDelegationToken",
                    (
                        Field("principal_type", "0+", STRING),
                        Field("principal_name", "0+", STRING),
                        Field("token_requester_principal_type", "3+", STRING),
                        Field("token_requester_principal_name", "3+", STRING),
                        Field("issue_timestamp", "0+", INT64),
                        Field("expiry_timestamp", "0+", INT64),
                        Field("max_timestamp", "0+", INT64),
                        Field("token_id", "0+", STRING),
                        Field("hmac", "0+", BYTES),
                        Field(
                            "renewers",
                            "0+",
                            Array(
                                Struct(
                                    "DescribedDelegationTokenRenewer",
                                    (
                                        Field("principal_type", "0+", STRING),
                                        Field("principal_name", "0+", STRING),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
        Field("throttle_time_ms", "0+", INT32),
    ),
)

DescribeDelegationTokenRequest = DESCRIBE_DELEGATION_TOKEN_REQUEST.value_class
DescribeDelegationTokenOwner = DESCRIBE_DELEGATION_TOKEN_REQUEST.class_of("DescribeDelegationTokenOwner")
DescribeDelegationTokenResponse = DESCRIBE_DELEGATION_TOKEN_RESPONSE.value_class
DescribedDelegationToken = DESCRIBE_DELEGATION_TOKEN_RESPONSE.class_of("DescribedDelegationToken")
DescribedDelegationTokenRenewer = DESCRIBE_DELEGATION_TOKEN_RESPONSE.class_of("DescribedDelegationTokenRenewer")
