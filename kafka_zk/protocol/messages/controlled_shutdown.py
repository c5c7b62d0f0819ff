"""ControlledShutdown (key 7, v0-3): a broker asks the controller to move its leaderships before it stops."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, INT64, STRING, Array, Field, Struct

CONTROLLED_SHUTDOWN_REQUEST = Message(
    "ControlledShutdownRequest",
    api_key=7,
    versions="0-3",
    flexible="3+",
    fields=(
        Field("broker_id", "0+", INT32),
        Field("broker_epoch", "2+", INT64, default=-1, ignorable=True),
    ),
)

CONTROLLED_SHUTDOWN_RESPONSE = Message(
    "ControlledShutdownResponse",
    api_key=7,
    versions="0-3",
    flexible="3+",
    fields=(
        Field("error_code", "0+", INT16),
        Field(
            "remaining_partitions",
            "0+",
            Array(
                Struct(
                    "RemainingPartition",
                    (
                        Field("topic_name", "0+", STRING),
                        Field("partition_index", "0+", INT32),
                    ),
                )
            ),
        ),
    ),
)

ControlledShutdownRequest = CONTROLLED_SHUTDOWN_REQUEST.value_class
ControlledShutdownResponse = CONTROLLED_SHUTDOWN_RESPONSE.value_class
RemainingPartition = CONTROLLED_SHUTDOWN_RESPONSE.class_of("RemainingPartition")
