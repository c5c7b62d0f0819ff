"""AlterPartitionReassignments (key 45, v0): start or cancel the move of partitions to other brokers."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Array, Field, Struct

ALTER_PARTITION_REASSIGNMENTS_REQUEST = Message(
    "AlterPartitionReassignmentsRequest",
    api_key=45,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("timeout_ms", "0+", INT32, default=60000),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "ReassignableTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "ReassignablePartition",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("replicas", "0+", Array(INT32), nullable="0+", default=None),
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

ALTER_PARTITION_REASSIGNMENTS_RESPONSE = Message(
    "AlterPartitionReassignmentsResponse",
    api_key=45,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+"),
        Field(
            "responses",
            "0+",
            Array(
                Struct(
                    "ReassignableTopicResponse",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "ReassignablePartitionResponse",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("error_code", "0+", INT16),
                                        Field("error_message", "0+", STRING, nullable="0+"),
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

AlterPartitionReassignmentsRequest = ALTER_PARTITION_REASSIGNMENTS_REQUEST.value_class
ReassignableTopic = ALTER_PARTITION_REASSIGNMENTS_REQUEST.class_of("ReassignableTopic")
ReassignablePartition = ALTER_PARTITION_REASSIGNMENTS_REQUEST.class_of("ReassignablePartition")
AlterPartitionReassignmentsResponse = ALTER_PARTITION_REASSIGNMENTS_RESPONSE.value_class
ReassignableTopicResponse = ALTER_PARTITION_REASSIGNMENTS_RESPONSE.class_of("ReassignableTopicResponse")
ReassignablePartitionResponse = ALTER_PARTITION_REASSIGNMENTS_RESPONSE.class_of("ReassignablePartitionResponse")
