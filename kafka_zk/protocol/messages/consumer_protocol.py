"""What consumers put into JoinGroup and SyncGroup: subscription and assignment, each behind an i16 version."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BYTES, INT32, STRING, Array, Field, Struct

CONSUMER_PROTOCOL_SUBSCRIPTION = Message(
    "ConsumerProtocolSubscription",
    versions="0-3",
    flexible="none",
    fields=(
        Field("topics", "0+", Array(STRING)),
        Field("user_data", "0+", BYTES, nullable="0+", default=None),
        Field(
            "owned_partitions",
            "1+",
            Array(
                Struct(
                    "TopicPartition",
                    (
                        Field("topic", "1+", STRING),
                        Field("partitions", "1+", Array(INT32)),
                    ),
                )
            ),
            ignorable=True,
        ),
        Field("generation_id", "2+", INT32, default=-1, ignorable=True),
        Field("rack_id", "3+", STRING, nullable="3+", default=None, ignorable=True),
    ),
)

CONSUMER_PROTOCOL_ASSIGNMENT = Message(
    "ConsumerProtocolAssignment",
    versions="0-3",
    flexible="none",
    fields=(
        Field(
            "assigned_partitions",
            "0+",
            Array(
                Struct(
                    "TopicPartition",
                    (
                        Field("topic", "0+", STRING),
                        Field("partitions", "0+", Array(INT32)),
                    ),
                )
            ),
        ),
        Field("user_data", "0+", BYTES, nullable="0+", default=None),
    ),
)

ConsumerProtocolSubscription = CONSUMER_PROTOCOL_SUBSCRIPTION.value_class
TopicPartition = CONSUMER_PROTOCOL_SUBSCRIPTION.class_of("TopicPartition")
ConsumerProtocolAssignment = CONSUMER_PROTOCOL_ASSIGNMENT.value_class
