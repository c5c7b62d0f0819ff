"""OffsetFetch (key 9, v0-9): read the committed offsets of groups."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Field, Struct

OFFSET_FETCH_REQUEST = Message(
    "OffsetFetchRequest",
    api_key=9,
    versions="0-9",
    flexible="6+",
    fields=(
        Field("group_id", "0-7", STRING),
        Field(
            "topics",
            "0-7",
            Array(
                Struct(
                    "OffsetFetchRequestTopic",
                    (
                        Field("name", "0-7", STRING),
                        Field("partition_indexes", "0-7", Array(INT32)),
                    ),
                )
            ),
            nullable="2-7",
        ),
        Field(
            "groups",
            "8+",
            Array(
                Struct(
                    "OffsetFetchRequestGroup",
                    (
                        Field("group_id", "8+", STRING),
                        Field("member_id", "9+", STRING, nullable="9+", default=None, ignorable=True),
                        Field("member_epoch", "9+", INT32, default=-1, ignorable=True),
                        Field(
                            "topics",
                            "8+",
                            Array(
                                Struct(
                                    "OffsetFetchRequestTopics",
                                    (
                                        Field("name", "8+", STRING),
                                        Field("partition_indexes", "8+", Array(INT32)),
                                    ),
                                )
                            ),
                            nullable="8+",
                        ),
                    ),
                )
            ),
        ),
        Field("require_stable", "7+", BOOL),
    ),
)

OFFSET_FETCH_RESPONSE = Message(
    "OffsetFetchResponse",
    api_key=9,
    versions="0-9",
    flexible="6+",
    fields=(
        Field("throttle_time_ms", "3+", INT32, ignorable=True),
        Field(
            "topics",
            "0-7",
            Array(
                Struct(
                    "OffsetFetchResponseTopic",
                    (
                        Field("name", "0-7", STRING),
                        Field(
                            "partitions",
                            "0-7",
                            Array(
                                Struct(
                                    "OffsetFetchResponsePartition",
                                    (
                                        Field("partition_index", "0-7", INT32),
                                        Field("committed_offset", "0-7", INT64),
                                        Field("committed_leader_epoch", "5-7", INT32, default=-1, ignorable=True),
                                        Field("metadata", "0-7", STRING, nullable="0-7"),
                                        Field("error_code", "0-7", INT16),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
        Field("error_code", "2-7", INT16, ignorable=True),
        Field(
            "groups",
            "8+",
            Array(
                Struct(
                    "OffsetFetchResponseGroup",
                    (
                        Field("group_id", "8+", STRING),
                        Field(
                            "topics",
                            "8+",
                            Array(
                                Struct(
                                    "OffsetFetchResponseTopics",
                                    (
                                        Field("name", "8+", STRING),
                                        Field(
                                            "partitions",
                                            "8+",
                                            Array(
                                                Struct(
                                                    "OffsetFetchResponsePartitions",
                                                    (
                                                        Field("partition_index", "8+", INT32),
                                                        Field("committed_offset", "8+", INT64),
                                                        Field(
                                                            "committed_leader_epoch",
                                                            "8+",
                                                            INT32,
                                                            default=-1,
                                                            ignorable=True,
                                                        ),
                                                        Field("metadata", "8+", STRING, nullable="8+"),
                                                        Field("error_code", "8+", INT16),
                                                    ),
                                                )
                                            ),
                                        ),
                                    ),
                                )
                            ),
                        ),
                        Field("error_code", "8+", INT16),
                    ),
                )
            ),
        ),
    ),
)

OffsetFetchRequest = OFFSET_FETCH_REQUEST.value_class
OffsetFetchRequestTopic = OFFSET_FETCH_REQUEST.class_of("OffsetFetchRequestTopic")
OffsetFetchRequestGroup = OFFSET_FETCH_REQUEST.class_of("OffsetFetchRequestGroup")
OffsetFetchRequestTopics = OFFSET_FETCH_REQUEST.class_of("OffsetFetchRequestTopics")
OffsetFetchResponse = OFFSET_FETCH_RESPONSE.value_class
OffsetFetchResponseTopic = OFFSET_FETCH_RESPONSE.class_of("OffsetFetchResponseTopic")
OffsetFetchResponsePartition = OFFSET_FETCH_RESPONSE.class_of("OffsetFetchResponsePartition")
OffsetFetchResponseGroup = OFFSET_FETCH_RESPONSE.class_of("OffsetFetchResponseGroup")
OffsetFetchResponseTopics = OFFSET_FETCH_RESPONSE.class_of("OffsetFetchResponseTopics")
OffsetFetchResponsePartitions = OFFSET_FETCH_RESPONSE.class_of("OffsetFetchResponsePartitions")
