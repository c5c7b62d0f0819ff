"""AlterConfigs (key 33, v0-2): replace all dynamic configs of resources."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Field, Struct

ALTER_CONFIGS_REQUEST = Message(
    "AlterConfigsRequest",
    api_key=33,
    versions="0-2",
    flexible="2+",
    fields=(
        Field(
            "resources",
            "0+",
            Array(
                Struct(
                    "AlterConfigsResource",
                    (
                        Field("resource_type", "0+", INT8),
                        Field("resource_name", "0+", STRING),
                        Field(
                            "configs",
                            "0+",
                            Array(
                                Struct(
                                    "AlterableConfig",
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
        Field("validate_only", "0+", BOOL),
    ),
)

ALTER_CONFIGS_RESPONSE = Message(
    "AlterConfigsResponse",
    api_key=33,
    versions="0-2",
    flexible="2+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "responses",
            "0+",
            Array(
                Struct(
                    "AlterConfigsResourceResponse",
                    (
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                        Field("resource_type", "0+", INT8),
                        Field("resource_name", "0+", STRING),
                    ),
                )
            ),
        ),
    ),
)

AlterConfigsRequest = ALTER_CONFIGS_REQUEST.value_class
AlterConfigsResource = ALTER_CONFIGS_REQUEST.class_of("AlterConfigsResource")
AlterableConfig = ALTER_CONFIGS_REQUEST.class_of("AlterableConfig")
AlterConfigsResponse = ALTER_CONFIGS_RESPONSE.value_class
AlterConfigsResourceResponse = ALTER_CONFIGS_RESPONSE.class_of("AlterConfigsResourceResponse")
