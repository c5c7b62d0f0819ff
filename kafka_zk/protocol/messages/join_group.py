"""JoinGroup (key 11, v0-9): a member enters a group, or enters its next generation."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, BYTES, INT16, INT32, STRING, Array, Field, Struct

JOIN_GROUP_REQUEST = Message(
    "JoinGroupRequest",
    api_key=11,
    versions="0-9",
    flexible="6+",
    fields=(
        Field("group_id", "0+", STRING),
        Field("session_timeout_ms", "0+", INT32),
        Field("rebalance_timeout_ms", "1+", INT32, default=-1, ignorable=True),
        Field("member_id", "0+", STRING),
        Field("group_instance_id", "5+", STRING, nullable="5+", default=None),
        Field("protocol_type", "0+", STRING),
        Field(
            "protocols",
            "0+",
            Array(
                Struct(
                    "JoinGroupRequestProtocol",
                    (
                        Field("name", "0+", STRING),
                        Field("metadata", "0+", BYTES),
                    ),
                )
            ),
        ),
        Field("reason", "8+", STRING, nullable="8+", default=None, ignorable=True),
    ),
)

JOIN_GROUP_RESPONSE = Message(
    "JoinGroupResponse",
    api_key=11,
    versions="0-9",
    flexible="6+",
    fields=(
        Field("throttle_time_ms", "2+", INT32, ignorable=True),
        Field("error_code", "0+", INT16),
        Field("generation_id", "0+", INT32, default=-1),
        Field("protocol_type", "7+", STRING, nullable="7+", default=None, ignorable=True),
        Field("protocol_name", "0+", STRING, nullable="7+"),
        Field("leader", "0+", STRING),
        Field("skip_assignment", "9+", BOOL),
        Field("member_id", "0+", STRING),
        Field(
            "members",
            "0+",
            Array(
                Struct(
                    "JoinGroupResponseMember",
                    (
                        Field("member_id", "0+", STRING),
                        Field("group_instance_id", "5+", STRING, nullable="5+", default=None, ignorable=True),
                        Field("metadata", "0+", BYTES),
                    ),
                )
            ),
        ),
    ),
)

JoinGroupRequest = JOIN_GROUP_REQUEST.value_class
JoinGroupRequestProtocol = JOIN_GROUP_REQUEST.class_of("JoinGroupRequestProtocol")
JoinGroupResponse = JOIN_GROUP_RESPONSE.value_class
JoinGroupResponseMember = JOIN_GROUP_RESPONSE.class_of("JoinGroupResponseMember")
