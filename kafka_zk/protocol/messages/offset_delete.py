"""OffsetDelete (key 47, v0): delete a group's committed offsets."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, Array, Field, Struct

OFFSET_DELETE_REQUEST = Message(
    "OffsetDeleteRequest",
    api_key=47,
    versions="0-0",
    flexible="none",
    fields=(
        Field("group_id", "0+", STRING),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "OffsetDeleteRequestTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(Struct("OffsetDeleteRequestPartition", (Field("partition_index", "0+", INT32),))),
                        ),
                    ),
                )
            ),
        ),
    ),
)

OFFSET_DELETE_RESPONSE = Message(
    "OffsetDeleteResponse",
    api_key=47,
    versions="0-0",
    flexible="none",
    fields=(
        Field("error_code", "0+", INT16),
        Field("throttle_time_ms", "0+", INT32, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "OffsetDeleteResponseTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "OffsetDeleteResponsePartition",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("error_code", "0+", INT16),
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

OffsetDeleteRequest = OFFSET_DELETE_REQUEST.value_class
OffsetDeleteRequestTopic = OFFSET_DELETE_REQUEST.class_of("OffsetDeleteRequestTopic")
OffsetDeleteRequestPartition = OFFSET_DELETE_REQUEST.class_of("OffsetDeleteRequestPartition")
OffsetDeleteResponse = OFFSET_DELETE_RESPONSE.value_class
OffsetDeleteResponseTopic = OFFSET_DELETE_RESPONSE.class_of("OffsetDeleteResponseTopic")
OffsetDeleteResponsePartition = OFFSET_DELETE_RESPONSE.class_of("OffsetDeleteResponsePartition")
