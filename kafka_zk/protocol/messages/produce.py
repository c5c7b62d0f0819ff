"""Produce (key 0, v0-11): producers append record batches to the partitions a broker leads."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, RECORDS, STRING, Array, Field, Struct

PRODUCE_REQUEST = Message(
    "ProduceRequest",
    api_key=0,
    versions="0-11",
    flexible="9+",
    fields=(
        Field("transactional_id", "3+", STRING, nullable="3+", default=None),
        Field("acks", "0+", INT16),
        Field("timeout_ms", "0+", INT32),
        Field(
            "topic_data",
            "0+",
            Array(
                Struct(
                    "TopicProduceData",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partition_data",
                            "0+",
                            Array(
                                Struct(
                                    "PartitionProduceData",
                                    (
                                        Field("index", "0+", INT32),
                                        Field("records", "0+", RECORDS, nullable="0+"),
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

PRODUCE_RESPONSE = Message(
    "ProduceResponse",
    api_key=0,
    versions="0-11",
    flexible="9+",
    fields=(
        Field(
            "responses",
            "0+",
            Array(
                Struct(
                    "TopicProduceResponse",
                    (
                        Field("name", "0+", STRING),
                        Field(
                            "partition_responses",
                            "0+",
                            Array(
                                Struct(
                                    "PartitionProduceResponse",
                                    (
                                        Field("index", "0+", INT32),
                                        Field("error_code", "0+", INT16),
                                        Field("base_offset", "0+", INT64),
                                        Field("log_append_time_ms", "2+", INT64, default=-1, ignorable=True),
                                        Field("log_start_offset", "5+", INT64, default=-1, ignorable=True),
                                        Field(
                                            "record_errors",
                                            "8+",
                                            Array(
                                                Struct(
                                                    "BatchIndexAndErrorMessage",
                                                    (
                                                        Field("batch_index", "8+", INT32),
                                                        Field(
                                                            "batch_index_error_message",
                                                            "8+",
                                                            STRING,
                                                            nullable="8+",
                                                            default=None,
                                                        ),
                                                    ),
                                                )
                                            ),
                                            ignorable=True,
                                        ),
                                        Field(
                                            "error_message", "8+", STRING, nullable="8+", default=None, ignorable=True
                                        ),
                                        Field(
                                            "current_leader",
                                            "10+",
                                            Struct(
                                                "LeaderIdAndEpoch",
                                                (
                                                    Field("leader_id", "10+", INT32, default=-1),
                                                    Field("leader_epoch", "10+", INT32, default=-1),
                                                ),
                                            ),
                                            tag=0,
                                        ),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field(
            "node_endpoints",
            "10+",
            Array(
                Struct(
                    "NodeEndpoint",
                    (
                        Field("node_id", "10+", INT32),
                        Field("host", "10+", STRING),
                        Field("port", "10+", INT32),
                        Field("rack", "10+", STRING, nullable="10+", default=None),
                    ),
                )
            ),
            tag=0,
        ),
    ),
)

ProduceRequest = PRODUCE_REQUEST.value_class
TopicProduceData = PRODUCE_REQUEST.class_of("TopicProduceData")
PartitionProduceData = PRODUCE_REQUEST.class_of("PartitionProduceData")
ProduceResponse = PRODUCE_RESPONSE.value_class
TopicProduceResponse = PRODUCE_RESPONSE.class_of("TopicProduceResponse")
PartitionProduceResponse = PRODUCE_RESPONSE.class_of("PartitionProduceResponse")
BatchIndexAndErrorMessage = PRODUCE_RESPONSE.class_of("BatchIndexAndErrorMessage")
LeaderIdAndEpoch = PRODUCE_RESPONSE.class_of("LeaderIdAndEpoch")
NodeEndpoint = PRODUCE_RESPONSE.class_of("NodeEndpoint")
