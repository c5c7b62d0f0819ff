"""DescribeAcls (key 29, v0-3): list the ACLs a filter matches."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, STRING, Array, Field, Struct

DESCRIBE_ACLS_REQUEST = Message(
    "DescribeAclsRequest",
    api_key=29,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("resource_type_filter", "0+", INT8),
        Field("resource_name_filter", "0+", STRING, nullable="0+"),
        Field("pattern_type_filter", "1+", INT8, default=3),
        Field("principal_filter", "0+", STRING, nullable="0+"),
        Field("host_filter", "0+", STRING, nullable="0+"),
        Field("operation", "0+", INT8),
        Field("permission_type", "0+", INT8),
    ),
)

DESCRIBE_ACLS_RESPONSE = Message(
    "DescribeAclsResponse",
    api_key=29,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+"),
        Field(
            "resources",
            "0+",
            Array(
                Struct(
                    "DescribeAclsResource",
                    (
                        Field("resource_type", "0+", INT8),
                        Field("resource_name", "0+", STRING),
                        Field("pattern_type", "1+", INT8, default=3),
                        Field(
                            "acls",
                            "0+",
                            Array(
                                Struct(
                                    "AclDescription",
                                    (
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
            ),
        ),
    ),
)

DescribeAclsRequest = DESCRIBE_ACLS_REQUEST.value_class
DescribeAclsResponse = DESCRIBE_ACLS_RESPONSE.value_class
DescribeAclsResource = DESCRIBE_ACLS_RESPONSE.class_of("DescribeAclsResource")
AclDescription = DESCRIBE_ACLS_RESPONSE.class_of("AclDescription")
