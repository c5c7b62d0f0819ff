"""AlterUserScramCredentials (key 51, v0): set or delete SCRAM credentials."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT8, INT16, INT32, STRING, Array, Field, Struct

ALTER_USER_SCRAM_CREDENTIALS_REQUEST = Message(
    "AlterUserScramCredentialsRequest",
    api_key=51,
    versions="0-0",
    flexible="0+",
    fields=(
        Field(
            "deletions",
            "0+",
            Array(
                Struct(
                    "ScramCredentialDeletion",
                    (
                        Field("name", "0+", STRING),
                        Field("mechanism", "0+", INT8),
                    ),
                )
            ),
        ),
        Field(
            "upsertions",
            "0+",
            Array(
                Struct(
                    "ScramCredentialUpsertion",
                    (
                        Field("name", "0+", STRING),
                        Field("mechanism", "0+", INT8),
                        Field("iterations", "0+", INT32),
                        Field("salt", "0+", BYTES),
                        Field("salted_password", "0+", BYTES),
                    ),
                )
            ),
        ),
    ),
)

ALTER_USER_SCRAM_CREDENTIALS_RESPONSE = Message(
    "AlterUserScramCredentialsResponse",
    api_key=51,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "AlterUserScramCredentialsResult",
                    (
                        Field("user", "0+", STRING),
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                    ),
                )
            ),
        ),
    ),
)

AlterUserScramCredentialsRequest = ALTER_USER_SCRAM_CREDENTIALS_REQUEST.value_class
ScramCredentialDeletion = ALTER_USER_SCRAM_CREDENTIALS_REQUEST.class_of("ScramCredentialDeletion")
ScramCredentialUpsertion = ALTER_USER_SCRAM_CREDENTIALS_REQUEST.class_of("ScramCredentialUpsertion")
AlterUserScramCredentialsResponse = ALTER_USER_SCRAM_CREDENTIALS_RESPONSE.value_class
AlterUserScramCredentialsResult = ALTER_USER_SCRAM_CREDENTIALS_RESPONSE.class_of("AlterUserScramCredentialsResult")
