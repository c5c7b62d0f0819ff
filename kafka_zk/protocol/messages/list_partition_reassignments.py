"""ListPartitionReassignments (key 46, v0): the reassignments that are under way."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Array, Field, Struct

LIST_PARTITION_REASSIGNMENTS_REQUEST = Message(
    "ListPartitionReassignmentsRequest",
    api_key=46,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("timeout_ms", "0+", INT32, default=60000),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "ListPartitionReassignmentsTopics",
                    (
                        Field("name", "0+", STRING),
                        Field("partition_indexes", "0+", Array(INT32)),
                    ),
                )
            ),
            nullable="0+",
            default=None,
        ),
    ),
)

LIST_PARTITION_REASSIGNMENTS_RESPONSE = Message(
    "ListPartitionReassignmentsResponse",
    api_key=46,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+"),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "OngoingTopicReassignment",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "OngoingPartitionReassignment",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("replicas", "0+", Array(INT32)),
                                        Field("adding_replicas", "0+", Array(INT32)),
                                        Field("removing_replicas", "0+", Array(INT32)),
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

ListPartitionReassignmentsRequest = LIST_PARTITION_REASSIGNMENTS_REQUEST.value_class
ListPartitionReassignmentsTopics = LIST_PARTITION_REASSIGNMENTS_REQUEST.class_of("ListPartitionReassignmentsTopics")
ListPartitionReassignmentsResponse = LIST_PARTITION_REASSIGNMENTS_RESPONSE.value_class
OngoingTopicReassignment = LIST_PARTITION_REASSIGNMENTS_RESPONSE.class_of("OngoingTopicReassignment")
OngoingPartitionReassignment = LIST_PARTITION_REASSIGNMENTS_RESPONSE.class_of("OngoingPartitionReassignment")
