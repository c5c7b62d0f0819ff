"""ConsumerGroupDescribe (key 69, v0): describe next-generation groups; refused by the classic coordinator."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, STRING, UUID, Array, Field, Struct

TOPIC_PARTITIONS = Struct(
    "TopicPartitions",
    (
        Field("topic_id", "0+", UUID),
        Field("topic_name", "0+", STRING),
        Field("partitions", "0+", Array(INT32)),
    ),
)

ASSIGNMENT = Struct("Assignment", (Field("topic_partitions", "0+", Array(TOPIC_PARTITIONS)),))

CONSUMER_GROUP_DESCRIBE_REQUEST = Message(
    "ConsumerGroupDescribeRequest",
    api_key=69,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("group_ids", "0+", Array(STRING)),
        Field("include_authorized_operations", "0+", BOOL),
    ),
)

CONSUMER_GROUP_DESCRIBE_RESPONSE = Message(
    "ConsumerGroupDescribeResponse",
    api_key=69,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "groups",
            "0+",
            Array(
                Struct(
                    "DescribedGroup",
                    (
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+", default=None),
                        Field("group_id", "0+", STRING),
                        Field("group_state", "0+", STRING),
                        Field("group_epoch", "0+", INT32),
                        Field("assignment_epoch", "0+", INT32),
                        Field("assignor_name", "0+", STRING),
                        Field(
                            "members",
                            "0+",
                            Array(
                                Struct(
                                    "Member",
                                    (
                                        Field("member_id", "0+", STRING),
                                        Field("instance_id", "0+", STRING, nullable="0+", default=None),
                                        Field("rack_id", "0+", STRING, nullable="0+", default=None),
                                        Field("member_epoch", "0+", INT32),
                                        Field("client_id", "0+", STRING),
                                        Field("client_host", "0+", STRING),
                                        Field("subscribed_topic_names", "0+", Array(STRING)),
                                        Field("subscribed_topic_regex", "0+", STRING, nullable="0+", default=None),
                                        Field("assignment", "0+", ASSIGNMENT),
                                        Field("target_assignment", "0+", ASSIGNMENT),
                                    ),
                                )
                            ),
                        ),
                        Field("authorized_operations", "0+", INT32, default=-(2**31)),
                    ),
                )
            ),
        ),
    ),
)

ConsumerGroupDescribeRequest = CONSUMER_GROUP_DESCRIBE_REQUEST.value_class
ConsumerGroupDescribeResponse = CONSUMER_GROUP_DESCRIBE_RESPONSE.value_class
DescribedGroup = CONSUMER_GROUP_DESCRIBE_RESPONSE.class_of("DescribedGroup")
Member = CONSUMER_GROUP_DESCRIBE_RESPONSE.class_of("Member")
Assignment = CONSUMER_GROUP_DESCRIBE_RESPONSE.class_of("Assignment")
TopicPartitions = CONSUMER_GROUP_DESCRIBE_RESPONSE.class_of("TopicPartitions")
