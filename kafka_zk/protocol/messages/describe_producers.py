"""DescribeProducers (key 61, v0): producers that are active on partitions."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

DESCRIBE_PRODUCERS_REQUEST = Message(
    "DescribeProducersRequest",
    api_key=61,
    versions="0-0",
    flexible="0+",
    fields=(
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "TopicRequest",
                    (
                        Field("name", "0+", STRING),
                        Field("partition_indexes", "0+", Array(INT32)),
                    ),
                )
            ),
        ),
    ),
)

DESCRIBE_PRODUCERS_RESPONSE = Message(
    "DescribeProducersResponse",
    api_key=61,
    versions="0-0",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "TopicResponse",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partitions",
                            "0+",
                            Array(
                                Struct(
                                    "PartitionResponse",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("error_code", "0+", INT16),
                                        Field("error_message", "0+", STRING, nullable="0+", default=None),
                                        Field(
                                            "active_producers",
                                            "0+",
                                            Array(
                                                Struct(
                                                    "ProducerState",
                                                    (
                                                        Field("producer_id", "0+", INT64),
                                                        Field("producer_epoch", "0+", INT32),
                                                        Field("last_sequence", "0+", INT32, default=-1),
                                                        Field("last_timestamp", "0+", INT64, default=-1),
                                                        Field("coordinator_epoch", "0+", INT32),
                                                        Field("current_txn_start_offset", "0+", INT64, default=-1),
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
            ),
        ),
    ),
)

DescribeProducersRequest = DESCRIBE_PRODUCERS_REQUEST.value_class
TopicRequest = DESCRIBE_PRODUCERS_REQUEST.class_of("TopicRequest")
DescribeProducersResponse = DESCRIBE_PRODUCERS_RESPONSE.value_class
TopicResponse = DESCRIBE_PRODUCERS_RESPONSE.class_of("TopicResponse")
PartitionResponse = DESCRIBE_PRODUCERS_RESPONSE.class_of("PartitionResponse")
ProducerState = DESCRIBE_PRODUCERS_RESPONSE.class_of("ProducerState")
