"""ListGroups (key 16, v0-5): the groups that live on the answering broker."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Array, Field, Struct

LIST_GROUPS_REQUEST = Message(
    "ListGroupsRequest",
    api_key=16,
    versions="0-5",
    flexible="3+",
    fields=(
        Field("states_filter", "4+", Array(STRING)),
        Field("types_filter", "5+", Array(STRING)),
    ),
)

LIST_GROUPS_RESPONSE = Message(
    "ListGroupsResponse",
    api_key=16,
    versions="0-5",
    flexible="3+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field("error_code", "0+", INT16),
        Field(
            "groups",
            "0+",
            Array(
                Struct(
                    "ListedGroup",
                    (
                        Field("group_id", "0+", STRING),
                        Field("protocol_type", "0+", STRING),
                        Field("group_state", "4+", STRING, ignorable=True),
                        Field("group_type", "5+", STRING, ignorable=True),
                    ),
                )
            ),
        ),
    ),
)

ListGroupsRequest = LIST_GROUPS_REQUEST.value_class
ListGroupsResponse = LIST_GROUPS_RESPONSE.value_class
ListedGroup = LIST_GROUPS_RESPONSE.class_of("ListedGroup")
