"""DeleteGroups (key 42, v0-2): delete groups without members."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Array, Field, Struct

DELETE_GROUPS_REQUEST = Message(
    "DeleteGroupsRequest",
    api_key=42,
    versions="0-2",
    flexible="2+",
    fields=(Field("groups_names", "0+", Array(STRING)),),
)

DELETE_GROUPS_RESPONSE = Message(
    "DeleteGroupsResponse",
    api_key=42,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "DeletableGroupResult",
                    (
                        Field("group_id", "0+", STRING),
                        Field("error_code", "0+", INT16),
                    ),
                )
            ),
        ),
    ),
)

DeleteGroupsRequest = DELETE_GROUPS_REQUEST.value_class
DeleteGroupsResponse = DELETE_GROUPS_RESPONSE.value_class
DeletableGroupResult = DELETE_GROUPS_RESPONSE.class_of("DeletableGroupResult")
