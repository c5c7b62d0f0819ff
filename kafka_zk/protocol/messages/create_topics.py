"""CreateTopics (key 19, v0-7): create topics with their assignment and configs."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, STRING, UUID, Array, Field, Struct

CREATE_TOPICS_REQUEST = Message(
    "CreateTopicsRequest",
    api_key=19,
    versions="0-7",
    flexible="5+",
    fields=(
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "CreatableTopic",
                    (
                        Field("name", "0+", STRING),
                        Field("num_partitions", "0+", INT32),
                        Field("replication_factor", "0+", INT16),
                        Field(
                            "assignments",
                            "0+",
                            Array(
                                Struct(
                                    "CreatableReplicaAssignment",
                                    (
                                        Field("partition_index", "0+", INT32),
                                        Field("broker_ids", "0+", Array(INT32)),
                                    ),
                                )
                            ),
                        ),
                        Field(
                            "configs",
                            "0+",
                            Array(
                                Struct(
                                    "CreatableTopicConfig",
                                    (
                                        Field("name", "0+", STRING),
                                        Field("value", "0+", STRING, nullable="0+"),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
        ),
        Field("timeout_ms", "0+", INT32, default=60000),
        Field("validate_only", "1+", BOOL),
    ),
)

CREATE_TOPICS_RESPONSE = Message(
    "CreateTopicsResponse",
    api_key=19,
    versions="0-7",
    flexible="5+",
    fields=(
        Field("throttle_time_ms", "2+", INT32, ignorable=True),
        Field(
            "topics",
            "0+",
            Array(
                Struct(
                    "CreatableTopicResult",
                    (
                        Field("name", "0+", STRING),
                        Field("topic_id", "7+", UUID, ignorable=True),
                        Field("error_code", "0+", INT16),
                        Field("error_message", "1+", STRING, nullable="0+", ignorable=True),
                        Field("topic_config_error_code", "5+", INT16, tag=0, ignorable=True),
                        Field("num_partitions", "5+", INT32, default=-1, ignorable=True),
                        Field("replication_factor", "5+", INT16, default=-1, ignorable=True),
                        Field(
                            "configs",
                            "5+",
                            Array(
                                Struct(
                                    "CreatableTopicConfigs",
                                    (
                                        Field("name", "5+", STRING),
                                        Field("value", "5+", STRING, nullable="5+"),
                                        Field("read_only", "5+", BOOL),
                                        Field("config_source", "5+", INT8, default=-1, ignorable=True),
                                        Field("is_sensitive", "5+", BOOL),
                                    ),
                                )
                            ),
                            nullable="5+",
                            ignorable=True,
                        ),
                    ),
                )
            ),
        ),
    ),
)

CreateTopicsRequest = CREATE_TOPICS_REQUEST.value_class
CreatableTopic = CREATE_TOPICS_REQUEST.class_of("CreatableTopic")
CreatableReplicaAssignment = CREATE_TOPICS_REQUEST.class_of("CreatableReplicaAssignment")
CreatableTopicConfig = CREATE_TOPICS_REQUEST.class_of("CreatableTopicConfig")
CreateTopicsResponse = CREATE_TOPICS_RESPONSE.value_class
CreatableTopicResult = CREATE_TOPICS_RESPONSE.class_of("CreatableTopicResult")
CreatableTopicConfigs = CREATE_TOPICS_RESPONSE.class_of("CreatableTopicConfigs")
