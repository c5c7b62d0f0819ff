"""LeaveGroup (key 13, v0-5): members leave a group."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Array, Field, Struct

LEAVE_GROUP_REQUEST = Message(
    "LeaveGroupRequest",
    api_key=13,
    versions="0-5",
    flexible="4+",
    fields=(
        Field("group_id", "0+", STRING),
        Field("member_id", "0-2", STRING),
        Field(
            "members",
            "3+",
            Array(
                Struct(
                    "MemberIdentity",
                    (
                        Field("member_id", "3+", STRING),
                        Field("group_instance_id", "3+", STRING, nullable="3+", default=None),
                        Field("reason", "5+", STRING, nullable="5+", default=None, ignorable=True),
                    ),
                )
            ),
        ),
    ),
)

LEAVE_GROUP_RESPONSE = Message(
    "LeaveGroupResponse",
    api_key=13,
    versions="0-5",
    flexible="4+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field("error_code", "0+", INT16),
        Field(
            "members",
            "3+",
            Array(
                Struct(
                    "MemberResponse",
                    (
                        Field("member_id", "3+", STRING),
                        Field("group_instance_id", "3+", STRING, nullable="3+"),
                        Field("error_code", "3+", INT16),
                    ),
                )
            ),
        ),
    ),
)

LeaveGroupRequest = LEAVE_GROUP_REQUEST.value_class
MemberIdentity = LEAVE_GROUP_REQUEST.class_of("MemberIdentity")
LeaveGroupResponse = LEAVE_GROUP_RESPONSE.value_class
MemberResponse = LEAVE_GROUP_RESPONSE.class_of("MemberResponse")
