"""ListOffsets (key 2, v0-9): find offsets by timestamp, or the earliest, latest and newest ones."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, INT64, STRING, Array, Field, Struct

LIST_OFFSETS_REQUEST = Message(
    "ListOffsetsRequest",
    api_key=2,
    versions="0-9",
    flexible="6+",
    fields=(
        Field("replica_id", "0+", INT32),
        Field("isolation_level", "2+", INT8),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "ListOffsetsTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "ListOffsetsPartition",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("current_leader_epoch", "4+", INT32, default=-1, ignorable=True),
                                        Field("timestamp", "0+", INT64),
                                        Field("max_num_offsets", "0", INT32, default=1),
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

LIST_OFFSETS_RESPONSE = Message(
    "ListOffsetsResponse",
    api_key=2,
    versions="0-9",
    flexible="6+",
    fields=(
        Field("throttle_time_ms", "2+", INT32, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "ListOffsetsTopicResponse",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "ListOffsetsPartitionResponse",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("error_code", "0+", INT16),
                                        Field("old_style_offsets", "0", Array(INT64)),
                                        Field("timestamp", "1+", INT64, default=-1),
                                        Field("offset", "1+", INT64, default=-1),
                                        Field("leader_epoch", "4+", INT32, default=-1),
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

ListOffsetsRequest = LIST_OFFSETS_REQUEST.value_class
ListOffsetsTopic = LIST_OFFSETS_REQUEST.class_of("ListOffsetsTopic")
ListOffsetsPartition = LIST_OFFSETS_REQUEST.class_of("ListOffsetsPartition")
ListOffsetsResponse = LIST_OFFSETS_RESPONSE.value_class
ListOffsetsTopicResponse = LIST_OFFSETS_RESPONSE.class_of("ListOffsetsTopicResponse")
ListOffsetsPartitionResponse = LIST_OFFSETS_RESPONSE.class_of("ListOffsetsPartitionResponse")
