"""CreateAcls (key 30, v0-3): add ACLs."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, STRING, Array, Field, Struct

CREATE_ACLS_REQUEST = Message(
    "CreateAclsRequest",
    api_key=30,
    versions="0-3",
    flexible="2+",
    fields=(
        Field(
            "creations",
            "0+",
            Array(
                Struct(
                    "AclCreation",
                    (
                        Field("resource_type", "0+", INT8),
                        Field("resource_name", "0+", STRING),
                        Field("resource_pattern_type", "1+", INT8, default=3),
                        Field("principal", "0+", STRING),
                        Field("host", "0+", STRING),
                        Field("operation", "0+", INT8),
                        Field("permission_type", "0+", INT8),
                    ),
                )
            ),
        ),
    ),
)

CREATE_ACLS_RESPONSE = Message(
    "CreateAclsResponse",
    api_key=30,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "AclCreationResult",
                    (
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                    ),
                )
            ),
        ),
    ),
)

CreateAclsRequest = CREATE_ACLS_REQUEST.value_class
AclCreation = CREATE_ACLS_REQUEST.class_of("AclCreation")
CreateAclsResponse = CREATE_ACLS_RESPONSE.value_class
AclCreationResult = CREATE_ACLS_RESPONSE.class_of("AclCreationResult")
