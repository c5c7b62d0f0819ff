"""AlterPartition (key 56, v0-3): a leader asks the controller to change an ISR."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, INT64, STRING, UUID, Array, Field, Struct

ALTER_PARTITION_REQUEST = Message(
    "AlterPartitionRequest",
    api_key=56,
    versions="0-3",
    flexible="0+",
    fields=(
        Field("broker_id", "0+", INT32),
        Field("broker_epoch", "0+", INT64, default=-1),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "TopicData",
                    (
                        Field("topic_name", "0-1", STRING, ignorable=True),
                        Field("topic_id", "2+", UUID, ignorable=True),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "PartitionData",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("leader_epoch", "0+", INT32),
                                        Field("new_isr", "0-2", Array(INT32)),
                                        Field(
                                            "new_isr_with_epochs",
                                            "3+",
                                            Array(
                                                Struct(
                                                    "BrokerState",
                                                    (
                                                        Field("broker_id", "3+", INT32),
                                                        Field("broker_epoch", "3+", INT64, default=-1),
                                                    ),
                                                )
                                            ),
                                        ),
                                        Field("leader_recovery_state", "1+", INT8),
                                        Field("partition_epoch", "0+", INT32),
                                    ),
                                    class_name="RequestPartitionData",
                                )
                            ),
                        ),
                    ),
                    class_name="RequestTopicData",
                )
            ),
        ),
    ),
)

ALTER_PARTITION_RESPONSE = Message(
    "AlterPartitionResponse",
    api_key=56,
    versions="0-3",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "TopicData",
                    (
                        Field("topic_name", "0-1", STRING, ignorable=True),
                        Field("topic_id", "2+", UUID, ignorable=True),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "PartitionData",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("error_code", "0+", INT16),
                                        Field("leader_id", "0+", INT32),
                                        Field("leader_epoch", "0+", INT32),
                                        Field("isr", "0+", Array(INT32)),
                                        Field("leader_recovery_state", "1+", INT8, ignorable=True),
                                        Field("partition_epoch", "0+", INT32),
                                    ),
                                    class_name="ResponsePartitionData",
                                )
                            ),
                        ),
                    ),
                    class_name="ResponseTopicData",
                )
            ),
        ),
    ),
)

AlterPartitionRequest = ALTER_PARTITION_REQUEST.value_class
RequestTopicData = ALTER_PARTITION_REQUEST.class_of("RequestTopicData")
RequestPartitionData = ALTER_PARTITION_REQUEST.class_of("RequestPartitionData")
BrokerState = ALTER_PARTITION_REQUEST.class_of("BrokerState")
AlterPartitionResponse = ALTER_PARTITION_RESPONSE.value_class
ResponseTopicData = ALTER_PARTITION_RESPONSE.class_of("ResponseTopicData")
ResponsePartitionData = ALTER_PARTITION_RESPONSE.class_of("ResponsePartitionData")
