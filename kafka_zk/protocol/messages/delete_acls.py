"""DeleteAcls (key 31, v0-3): remove the ACLs filters match."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, STRING, Array, Field, Struct

DELETE_ACLS_REQUEST = Message(
    "DeleteAclsRequest",
    api_key=31,
    versions="0-3",
    flexible="2+",
    fields=(
        Field(
            "filters",
            "0+",
            Array(
                Struct(
                    "DeleteAclsFilter",
                    (
                        Field("resource_type_filter", "0+", INT8),
                        Field("resource_name_filter", "0+", STRING, nullable="0+"),
                        Field("pattern_type_filter", "1+", INT8, default=3),
                        Field("principal_filter", "0+", STRING, nullable="0+"),
                        Field("host_filter", "0+", STRING, nullable="0+"),
                        Field("operation", "0+", INT8),
                        Field("permission_type", "0+", INT8),
                    ),
                )
            ),
        ),
    ),
)

DELETE_ACLS_RESPONSE = Message(
    "DeleteAclsResponse",
    api_key=31,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "filter_results",
            "0+",
            Array(
                Struct(
                    "DeleteAclsFilterResult",
                    (
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                        Field(
                            "matching_acls",
                            "0+",
                            Array(
                                Struct(
                                    "DeleteAclsMatchingAcl",
                                    (
                                        Field("error_code", "0+", INT16),
                                        Field("error_message", "0+", STRING, nullable="0+"),
                                        Field("resource_type", "0+", INT8),
                                        Field("resource_name", "0+", STRING),
                                        Field("pattern_type", "1+", INT8, default=3),
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

DeleteAclsRequest = DELETE_ACLS_REQUEST.value_class
DeleteAclsFilter = DELETE_ACLS_REQUEST.class_of("DeleteAclsFilter")
DeleteAclsResponse = DELETE_ACLS_RESPONSE.value_class
DeleteAclsFilterResult = DELETE_ACLS_RESPONSE.class_of("DeleteAclsFilterResult")
DeleteAclsMatchingAcl = DELETE_ACLS_RESPONSE.class_of("DeleteAclsMatchingAcl")
