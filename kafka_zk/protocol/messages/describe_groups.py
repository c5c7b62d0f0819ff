"""DescribeGroups (key 15, v0-5): state, protocol and members of groups."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, BYTES, INT16, INT32, STRING, Array, Field, Struct

DESCRIBE_GROUPS_REQUEST = Message(
    "DescribeGroupsRequest",
    api_key=15,
    versions="0-5",
    flexible="5+",
    fields=(
        Field("groups", "0+", Array(STRING)),
        Field("include_authorized_operations", "3+", BOOL),
    ),
)

DESCRIBE_GROUPS_RESPONSE = Message(
    "DescribeGroupsResponse",
    api_key=15,
    versions="0-5",
    flexible="5+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field(
            "groups",
            "0+",
            Array(
                Struct(
                    "DescribedGroup",
                    (
                        Field("error_code", "0+", INT16),
                        Field("group_id", "0+", STRING),
                        Field("group_state", "0+", STRING),
                        Field("protocol_type", "0+", STRING),
                        Field("protocol_data", "0+", STRING),
                        Field(
                            "members",
                            "0+",
                            Array(
                                Struct(
                                    "DescribedGroupMember",
                                    (
                                        Field("member_id", "0+", STRING),
                                        Field(
                                            "group_instance_id",
                                            "4+",
                                            STRING,
                                            nullable="4+",
                                            default=None,
                                            ignorable=True,
                                        ),
                                        Field("client_id", "0+", STRING),
                                        Field("client_host", "0+", STRING),
                                        Field("member_metadata", "0+", BYTES),
                                        Field("member_assignment", "0+", BYTES),
                                    ),
                                )
                            ),
                        ),
                        Field("authorized_operations", "3+", INT32, default=-(2**31)),
                    ),
                )
            ),
        ),
    ),
)

DescribeGroupsRequest = DESCRIBE_GROUPS_REQUEST.value_class
DescribeGroupsResponse = DESCRIBE_GROUPS_RESPONSE.value_class
DescribedGroup = DESCRIBE_GROUPS_RESPONSE.class_of("DescribedGroup")
DescribedGroupMember = DESCRIBE_GROUPS_RESPONSE.class_of("DescribedGroupMember")
