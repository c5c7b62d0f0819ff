"""CreatePartitions (key 37, v0-3): add partitions to topics."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, STRING, Array, Field, Struct

CREATE_PARTITIONS_REQUEST = Message(
    "CreatePartitionsRequest",
    api_key=37,
    versions="0-3",
    flexible="2+",
    fields=(
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "CreatePartitionsTopic",
                    (
                        Field("name", "0+", STRING),
                        Field("count", "0+", INT32),
                        Field(
                            "assignments",
                            "0+",
                            Array(Struct("CreatePartitionsAssignment", (Field("broker_ids", "0+", Array(INT32)),))),
                            nullable="0+",
                        ),
                    ),
                )
            ),
        ),
        Field("timeout_ms", "0+", INT32),
        Field("validate_only", "0+", BOOL),
    ),
)

CREATE_PARTITIONS_RESPONSE = Message(
    "CreatePartitionsResponse",
    api_key=37,
    versions="0-3",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "CreatePartitionsTopicResult",
                    (
                        Field("name", "0+", STRING),
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+", default=None),
                    ),
                )
            ),
        ),
    ),
)

CreatePartitionsRequest = CREATE_PARTITIONS_REQUEST.value_class
CreatePartitionsTopic = CREATE_PARTITIONS_REQUEST.class_of("CreatePartitionsTopic")
CreatePartitionsAssignment = CREATE_PARTITIONS_REQUEST.class_of("CreatePartitionsAssignment")
CreatePartitionsResponse = CREATE_PARTITIONS_RESPONSE.value_class
CreatePartitionsTopicResult = CREATE_PARTITIONS_RESPONSE.class_of("CreatePartitionsTopicResult")
