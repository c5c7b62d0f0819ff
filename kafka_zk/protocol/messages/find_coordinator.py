"""FindCoordinator (key 10, v0-6): which broker coordinates a group or a transactional id."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT8, INT16, INT32, STRING, Array, Field, Struct

FIND_COORDINATOR_REQUEST = Message(
    "FindCoordinatorRequest",
    api_key=10,
    versions="0-6",
    flexible="3+",
    fields=(
        Field("key", "0-3", STRING),
        Field("key_type", "1+", INT8),
        Field("coordinator_keys", "4+", Array(STRING)),
    ),
)

FIND_COORDINATOR_RESPONSE = Message(
    "FindCoordinatorResponse",
    api_key=10,
    versions="0-6",
    flexible="3+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field("error_code", "0-3", INT16),
        Field("error_message", "1-3", STRING, nullable="1-3", ignorable=True),
        Field("node_id", "0-3", INT32),
        Field("host", "0-3", STRING),
        Field("port", "0-3", INT32),
        Field(
            "coordinators",
            "4+",
            Array(
                Struct(
                    "Coordinator",
                    (
                        Field("key", "4+", STRING),
                        Field("node_id", "4+", INT32),
                        Field("host", "4+", STRING),
                        Field("port", "4+", INT32),
                        Field("error_code", "4+", INT16),
                        Field("error_message", "4+", STRING, nullable="4+", ignorable=True),
                    ),
                )
            ),
        ),
    ),
)

FindCoordinatorRequest = FIND_COORDINATOR_REQUEST.value_class
FindCoordinatorResponse = FIND_COORDINATOR_RESPONSE.value_class
Coordinator = FIND_COORDINATOR_RESPONSE.class_of("Coordinator")
