"""ElectLeaders (key 43, v0-2): elect preferred or unclean leaders."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, STRING, Array, Field, Struct

ELECT_LEADERS_REQUEST = Message(
    "ElectLeadersRequest",
    api_key=43,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("election_type", "1+", INT8),
        Field(
            "topic_partitions",
            "0+",
            Array(
                Struct(
                    "TopicPartitions",
                    (
                        Field("topic", "0+", STRING),
                        Field("partitions", "0+", Array(INT32)),
                    ),
                )
            ),
            nullable="0+",
        ),
        Field("timeout_ms", "0+", INT32, default=60000),
    ),
)

ELECT_LEADERS_RESPONSE = Message(
    "ElectLeadersResponse",
    api_key=43,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "1+", INT16),
        Field(
            "replica_election_results",
            "0+",
            Array(
                Struct(
                    "ReplicaElectionResult",
                    (
                        Field("topic", "0+", STRING),
                        Field(
                            "partition_result",
                            "0+",
                            Array(
                                Struct(
                                    "PartitionResult",
                                    (
                                        Field("partition_id", "0+", INT32),
                                        Field("error_code", "0+", INT16),
                                        Field("error_message", "0+", STRING, nullable="0+"),
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

ElectLeadersRequest = ELECT_LEADERS_REQUEST.value_class
TopicPartitions = ELECT_LEADERS_REQUEST.class_of("TopicPartitions")
ElectLeadersResponse = ELECT_LEADERS_RESPONSE.value_class
ReplicaElectionResult = ELECT_LEADERS_RESPONSE.class_of("ReplicaElectionResult")
PartitionResult = ELECT_LEADERS_RESPONSE.class_of("PartitionResult")
