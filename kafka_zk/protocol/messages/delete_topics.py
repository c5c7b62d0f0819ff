"""DeleteTopics (key 20, v0-6): delete topics by name or id."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import INT16, INT32, STRING, UUID, Array, Field, Struct

DELETE_TOPICS_REQUEST = Message(
    "DeleteTopicsRequest",
    api_key=20,
    versions="0-6",
    flexible="4+",
    fields=(
        Field(
            "topics",
            "6+",
            Array(
                Struct(
                    "DeleteTopicState",
                    (
                        Field("name", "6+", STRING, nullable="6+", default=None),
                        Field("topic_id", "6+", UUID),
                    ),
                )
            ),
        ),
        Field("topic_names", "0-5", Array(STRING), ignorable=True),
        Field("timeout_ms", "0+", INT32),
    ),
)

DELETE_TOPICS_RESPONSE = Message(
    "DeleteTopicsResponse",
    api_key=20,
    versions="0-6",
    flexible="4+",
    fields=(
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field(
            "responses",
            "0+",
            Array(
                Struct(
                    "DeletableTopicResult",
                    (
                        Field("name", "0+", STRING, nullable="6+"),
                        Field("topic_id", "6+", UUID, ignorable=True),
                        Field("error_code", "0+", INT16),
                        Field("error_message", "5+", STRING, nullable="5+", default=None, ignorable=True),
                    ),
                )
            ),
        ),
    ),
)

DeleteTopicsRequest = DELETE_TOPICS_REQUEST.value_class
DeleteTopicState = DELETE_TOPICS_REQUEST.class_of("DeleteTopicState")
DeleteTopicsResponse = DELETE_TOPICS_RESPONSE.value_class
DeletableTopicResult = DELETE_TOPICS_RESPONSE.class_of("DeletableTopicResult")
