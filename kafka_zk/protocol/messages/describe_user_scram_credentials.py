"""DescribeUserScramCredentials (key 50, v0): which SCRAM mechanisms users have credentials for."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, STRING, Array, Field, Struct

DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST = Message(
    "DescribeUserScramCredentialsRequest",
    api_key=50,
    versions="0-0",
    flexible="0+",
    fields=(Field("users", "0+", Array(Struct("UserName", (Field("name", "0+", STRING),))), nullable="0+"),),
)

DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE = Message(
    "DescribeUserScramCredentialsResponse",
    api_key=50,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+"),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "DescribeUserScramCredentialsResult",
                    (
                        Field("user", "0+", STRING),
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                        Field(
                            "credential_infos",
                            "0+",
                            Array(
                                Struct(
                                    "CredentialInfo",
                                    (
                                        Field("mechanism", "0+", INT8),
                                        Field("iterations", "0+", INT32),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
)

DescribeUserScramCredentialsRequest = DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST.value_class
UserName = DESCRIBE_USER_SCRAM_CREDENTIALS_REQUEST.class_of("UserName")
DescribeUserScramCredentialsResponse = DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE.value_class
DescribeUserScramCredentialsResult = DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE.class_of(
    "DescribeUserScramCredentialsResult"
)
CredentialInfo = DESCRIBE_USER_SCRAM_CREDENTIALS_RESPONSE.class_of("CredentialInfo")
