"""Records of __consumer_offsets and __transaction_state: keys and values, each stored behind an i16 version."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT8, INT16, INT32, INT64, STRING, Array, Field, Struct

MEMBER_METADATA = Struct(
    "MemberMetadata",
    (
        Field("member_id", "0+", STRING),
        Field("group_instance_id", "3+", STRING, nullable="3+", default=None, ignorable=True),
        Field("client_id", "0+", STRING),
        Field("client_host", "0+", STRING),
        Field("rebalance_timeout", "1+", INT32, default=-1, ignorable=True),
        Field("session_timeout", "0+", INT32),
        Field("subscription", "0+", BYTES),
        Field("assignment", "0+", BYTES),
    ),
)

OFFSET_COMMIT_KEY = Message(
    "OffsetCommitKey",
    versions="0-1",
    flexible="none",
    fields=(
        Field("group", "0-1", STRING),
        Field("topic", "0-1", STRING),
        Field("partition", "0-1", INT32),
    ),
)

OFFSET_COMMIT_VALUE = Message(
    "OffsetCommitValue",
    versions="0-4",
    flexible="4+",
    fields=(
        Field("offset", "0+", INT64),
        Field("leader_epoch", "3+", INT32, default=-1, ignorable=True),
        Field("metadata", "0+", STRING),
        Field("commit_timestamp", "0+", INT64),
        Field("expire_timestamp", "1", INT64, default=-1, ignorable=True),
    ),
)

GROUP_METADATA_KEY = Message(
    "GroupMetadataKey",
    versions="2",
    flexible="none",
    fields=(Field("group", "2", STRING),),
)

GROUP_METADATA_VALUE = Message(
    "GroupMetadataValue",
    versions="0-4",
    flexible="4+",
    fields=(
        Field("protocol_type", "0+", STRING),
        Field("generation", "0+", INT32),
        Field("protocol", "0+", STRING, nullable="0+"),
        Field("leader", "0+", STRING, nullable="0+"),
        Field("current_state_timestamp", "2+", INT64, default=-1, ignorable=True),
        Field("members", "0+", Array(MEMBER_METADATA)),
    ),
)

TRANSACTION_LOG_KEY = Message(
    "TransactionLogKey",
    versions="0",
    flexible="none",
    fields=(Field("transactional_id", "0", STRING),),
)

TRANSACTION_LOG_VALUE = Message(
    "TransactionLogValue",
    versions="0-1",
    flexible="1+",
    fields=(
        Field("producer_id", "0+", INT64),
        Field("producer_epoch", "0+", INT16),
        Field("transaction_timeout_ms", "0+", INT32),
        Field("transaction_status", "0+", INT8),
        Field(
            "transaction_partitions",
            "0+",
            Array(
                Struct(
                    "PartitionsSchema",
                    (
                        Field("topic", "0+", STRING),
                        Field("partition_ids", "0+", Array(INT32)),
                    ),
                )
            ),
            nullable="0+",
        ),
        Field("transaction_last_update_timestamp_ms", "0+", INT64),
        Field("transaction_start_timestamp_ms", "0+", INT64),
    ),
)

OffsetCommitKey = OFFSET_COMMIT_KEY.value_class
OffsetCommitValue = OFFSET_COMMIT_VALUE.value_class
GroupMetadataKey = GROUP_METADATA_KEY.value_class
GroupMetadataValue = GROUP_METADATA_VALUE.value_class
MemberMetadata = GROUP_METADATA_VALUE.class_of("MemberMetadata")
TransactionLogKey = TRANSACTION_LOG_KEY.value_class
TransactionLogValue = TRANSACTION_LOG_VALUE.value_class
PartitionsSchema = TRANSACTION_LOG_VALUE.class_of("PartitionsSchema")
