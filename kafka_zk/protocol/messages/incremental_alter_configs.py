"""IncrementalAlterConfigs (key 44, v0-1): set, delete, append to or subtract from single configs."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Field, Struct

INCREMENTAL_ALTER_CONFIGS_REQUEST = Message(
    "IncrementalAlterConfigsRequest",
    api_key=44,
    versions="0-1",
    flexible="1+",
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
                                        Field("config_operation", "0+", INT8),
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

INCREMENTAL_ALTER_CONFIGS_RESPONSE = Message(
    "IncrementalAlterConfigsResponse",
    api_key=44,
    versions="0-1",
    flexible="1+",
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

IncrementalAlterConfigsRequest = INCREMENTAL_ALTER_CONFIGS_REQUEST.value_class
AlterConfigsResource = INCREMENTAL_ALTER_CONFIGS_REQUEST.class_of("AlterConfigsResource")
AlterableConfig = INCREMENTAL_ALTER_CONFIGS_REQUEST.class_of("AlterableConfig")
IncrementalAlterConfigsResponse = INCREMENTAL_ALTER_CONFIGS_RESPONSE.value_class
AlterConfigsResourceResponse = INCREMENTAL_ALTER_CONFIGS_RESPONSE.class_of("AlterConfigsResourceResponse")
