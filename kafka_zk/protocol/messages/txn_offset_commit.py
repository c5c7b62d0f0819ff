"""TxnOffsetCommit (key 28, v0-4): commit offsets as part of a transaction."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

TXN_OFFSET_COMMIT_REQUEST = Message(
    "TxnOffsetCommitRequest",
    api_key=28,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("transactional_id", "0+", STRING),
        Field("group_id", "0+", STRING),
        Field("producer_id", "0+", INT64),
        Field("producer_epoch", "0+", INT16),
        Field("generation_id", "3+", INT32, default=-1),
        Field("member_id", "3+", STRING),
        Field("group_instance_id", "3+", STRING, nullable="3+", default=None),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "TxnOffsetCommitRequestTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "TxnOffsetCommitRequestPartition",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("committed_offset", "0+", INT64),
                                        Field("committed_leader_epoch", "2+", INT32, default=-1, ignorable=True),
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

TXN_OFFSET_COMMIT_RESPONSE = Message(
    "TxnOffsetCommitResponse",
    api_key=28,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "TxnOffsetCommitResponseTopic",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "TxnOffsetCommitResponsePartition",
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

TxnOffsetCommitRequest = TXN_OFFSET_COMMIT_REQUEST.value_class
TxnOffsetCommitRequestTopic = TXN_OFFSET_COMMIT_REQUEST.class_of("TxnOffsetCommitRequestTopic")
TxnOffsetCommitRequestPartition = TXN_OFFSET_COMMIT_REQUEST.class_of("TxnOffsetCommitRequestPartition")
TxnOffsetCommitResponse = TXN_OFFSET_COMMIT_RESPONSE.value_class
TxnOffsetCommitResponseTopic = TXN_OFFSET_COMMIT_RESPONSE.class_of("TxnOffsetCommitResponseTopic")
TxnOffsetCommitResponsePartition = TXN_OFFSET_COMMIT_RESPONSE.class_of("TxnOffsetCommitResponsePartition")
