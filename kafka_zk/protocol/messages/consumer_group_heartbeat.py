"""ConsumerGroupHeartbeat (key 68, v0): heartbeat of next-generation groups; refused by the classic coordinator."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, UUID, Array, Field, Struct

TOPIC_PARTITIONS = Struct(
    "TopicPartitions",
    (
        Field("topic_id", "0+", UUID),
        Field("partitions", "0+", Array(INT32)),
    ),
)

CONSUMER_GROUP_HEARTBEAT_REQUEST = Message(
    "ConsumerGroupHeartbeatRequest",
    api_key=68,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("group_id", "0+", STRING),
        Field("member_id", "0+", STRING),
        Field("member_epoch", "0+", INT32),
        Field("instance_id", "0+", STRING, nullable="0+", default=None),
        Field("rack_id", "0+", STRING, nullable="0+", default=None),
        Field("rebalance_timeout_ms", "0+", INT32, default=-1),
        Field("subscribed_topic_names", "0+", Array(STRING), nullable="0+", default=None),
        Field("server_assignor", "0+", STRING, nullable="0+", default=None),
        Field("topic_partitions", "0+", Array(TOPIC_PARTITIONS), nullable="0+", default=None),
    ),
)

CONSUMER_GROUP_HEARTBEAT_RESPONSE = Message(
    "ConsumerGroupHeartbeatResponse",
    api_key=68,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+", default=None),
        Field("member_id", "0+", STRING, nullable="0+", default=None),
        Field("member_epoch", "0+", INT32),
        Field("heartbeat_interval_ms", "0+", INT32),
        Field(
            "assignment",
            "0+",
            Struct("Assignment", (Field("topic_partitions", "0+", Array(TOPIC_PARTITIONS)),)),
            nullable="0+",
            default=None,
        ),
    ),
)

ConsumerGroupHeartbeatRequest = CONSUMER_GROUP_HEARTBEAT_REQUEST.value_class
TopicPartitions = CONSUMER_GROUP_HEARTBEAT_REQUEST.class_of("TopicPartitions")
ConsumerGroupHeartbeatResponse = CONSUMER_GROUP_HEARTBEAT_RESPONSE.value_class
Assignment = CONSUMER_GROUP_HEARTBEAT_RESPONSE.class_of("Assignment")
