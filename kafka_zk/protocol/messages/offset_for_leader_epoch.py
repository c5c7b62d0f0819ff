"""OffsetForLeaderEpoch (key 23, v0-4): where a leader epoch ends in the leader's log."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

OFFSET_FOR_LEADER_EPOCH_REQUEST = Message(
    "OffsetForLeaderEpochRequest",
    api_key=23,
    versions="0-4",
    flexible="4+",
    fields=(
        Field("replica_id", "3+", INT32, default=-2, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "OffsetForLeaderTopic",
                    (
                        Field("topic", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "OffsetForLeaderPartition",
                                    (
                                        Field("partition", "0+", INT32),
                                        Field("current_leader_epoch", "2+", INT32, default=-1, ignorable=True),
                                        Field("leader_epoch", "0+", INT32),
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

OFFSET_FOR_LEADER_EPOCH_RESPONSE = Message(
    "OffsetForLeaderEpochResponse",
    api_key=23,
    versions="0-4",
    flexible="4+",
    fields=(
        Field("throttle_time_ms", "2+", INT32, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "OffsetForLeaderTopicResult",
                    (
                        Field("topic", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "EpochEndOffset",
                                    (
                                        Field("error_code", "0+", INT16),
                                        Field("partition", "0+", INT32),
                                        Field("leader_epoch", "1+", INT32, default=-1, ignorable=True),
                                        Field("end_offset", "0+", INT64, default=-1),
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

OffsetForLeaderEpochRequest = OFFSET_FOR_LEADER_EPOCH_REQUEST.value_class
OffsetForLeaderTopic = OFFSET_FOR_LEADER_EPOCH_REQUEST.class_of("OffsetForLeaderTopic")
OffsetForLeaderPartition = OFFSET_FOR_LEADER_EPOCH_REQUEST.class_of("OffsetForLeaderPartition")
OffsetForLeaderEpochResponse = OFFSET_FOR_LEADER_EPOCH_RESPONSE.value_class
OffsetForLeaderTopicResult = OFFSET_FOR_LEADER_EPOCH_RESPONSE.class_of("OffsetForLeaderTopicResult")
EpochEndOffset = OFFSET_FOR_LEADER_EPOCH_RESPONSE.class_of("EpochEndOffset")
