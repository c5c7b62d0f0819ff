"""Heartbeat (key 12, v0-4): a group member is alive."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Field

HEARTBEAT_REQUEST = Message(
    "HeartbeatRequest",
    api_key=12,
    versions="0-4",
    flexible="4+",
    fields=(
        Field("group_id", "0+", STRING),
        Field("generation_id", "0+", INT32),
        Field("member_id", "0+", STRING),
        Field("group_instance_id", "3+", STRING, nullable="3+", default=None),
    ),
)

HEARTBEAT_RESPONSE = Message(
    "HeartbeatResponse",
    api_key=12,
    versions="0-4",
    flexible="4+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field("error_code", "0+", INT16),
    ),
)

HeartbeatRequest = HEARTBEAT_REQUEST.value_class
HeartbeatResponse = HEARTBEAT_RESPONSE.value_class
