"""OffsetCommit (key 8, v0-9): a group member stores the offsets it has processed."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

OFFSET_COMMIT_REQUEST = Message(
    "OffsetCommitRequest",
    api_key=8,
    versions="0-9",
    flexible="8+",
    fields=(
        Field("group_id", "0+", STRING),
        Field("generation_id_or_member_epoch", "1+", INT32, default=-1, ignorable=True),
        Field("member_id", "1+", STRING, ignorable=True),
        Field("group_instance_id", "7+", STRING, nullable="7+", default=None),
        Field("retention_time_ms", "2-4", INT64, default=-1, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "OffsetCommitRequestTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "OffsetCommitRequestPartition",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("committed_offset", "0+", INT64),
                                        Field("committed_leader_epoch", "6+", INT32, default=-1, ignorable=True),
                                        Field("commit_timestamp", "1", INT64, default=-1),
                                        Field("committed_metadata", "0+", STRING, nullable="0+"),
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

OFFSET_COMMIT_RESPONSE = Message(
    "OffsetCommitResponse",
    api_key=8,
    versions="0-9",
    flexible="8+",
    fields=(
        Field("throttle_time_ms", "3+", INT32, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "OffsetCommitResponseTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "OffsetCommitResponsePartition",
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

OffsetCommitRequest = OFFSET_COMMIT_REQUEST.value_class
OffsetCommitRequestTopic = OFFSET_COMMIT_REQUEST.class_of("OffsetCommitRequestTopic")
OffsetCommitRequestPartition = OFFSET_COMMIT_REQUEST.class_of("OffsetCommitRequestPartition")
OffsetCommitResponse = OFFSET_COMMIT_RESPONSE.value_class
OffsetCommitResponseTopic = OFFSET_COMMIT_RESPONSE.class_of("OffsetCommitResponseTopic")
OffsetCommitResponsePartition = OFFSET_COMMIT_RESPONSE.class_of("OffsetCommitResponsePartition")
