"""SyncGroup (key 14, v0-5): the leader hands in the assignment, members receive theirs."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT16, INT32, STRING, Array, Field, Struct

SYNC_GROUP_REQUEST = Message(
    "SyncGroupRequest",
    api_key=14,
    versions="0-5",
    flexible="4+",
    fields=(
        Field("group_id", "0+", STRING),
        Field("generation_id", "0+", INT32),
        Field("member_id", "0+", STRING),
        Field("group_instance_id", "3+", STRING, nullable="3+", default=None),
        Field("protocol_type", "5+", STRING, nullable="5+", default=None, ignorable=True),
        Field("protocol_name", "5+", STRING, nullable="5+", default=None, ignorable=True),
        Field(
            "assignments",
            "0+",
            Array(
                Struct(
                    "SyncGroupRequestAssignment",
                    (
                        Field("member_id", "0+", STRING),
                        Field("assignment", "0+", BYTES),
                    ),
                )
            ),
        ),
    ),
)

SYNC_GROUP_RESPONSE = Message(
    "SyncGroupResponse",
    api_key=14,
    versions="0-5",
    flexible="4+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field("error_code", "0+", INT16),
        Field("protocol_type", "5+", STRING, nullable="5+", default=None, ignorable=True),
        Field("protocol_name", "5+", STRING, nullable="5+", default=None, ignorable=True),
        Field("assignment", "0+", BYTES),
    ),
)

SyncGroupRequest = SYNC_GROUP_REQUEST.value_class
SyncGroupRequestAssignment = SYNC_GROUP_REQUEST.class_of("SyncGroupRequestAssignment")
SyncGroupResponse = SYNC_GROUP_RESPONSE.value_class
