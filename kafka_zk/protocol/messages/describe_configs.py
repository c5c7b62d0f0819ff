"""DescribeConfigs (key 32, v0-4): configs of topics, brokers and loggers, with their sources."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Field, Struct

DESCRIBE_CONFIGS_REQUEST = Message(
    "DescribeConfigsRequest",
    api_key=32,
    versions="0-4",
    flexible="4+",
    fields=(
        Field(
            "resources",
            "0+",
            Array(
                Struct(
                    "DescribeConfigsResource",
                    (
                        Field("resource_type", "0+", INT8),
                        Field("resource_name", "0+", STRING),
                        Field("configuration_keys", "0+", Array(STRING), nullable="0+"),
                    ),
                )
            ),
        ),
        Field("include_synonyms", "1+", BOOL),
        Field("include_documentation", "3+", BOOL),
    ),
)

DESCRIBE_CONFIGS_RESPONSE = Message(
    "DescribeConfigsResponse",
    api_key=32,
    versions="0-4",
    flexible="4+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "DescribeConfigsResult",
                    (
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                        Field("resource_type", "0+", INT8),
                        Field("resource_name", "0+", STRING),
                        Field(
                            "configs",
                            "0+",
                            Array(
                                Struct(
                                    "DescribeConfigsResourceResult",
                                    (
                                        Field("name", "0+", STRING),
                                        Field("value", "0+", STRING, nullable="0+"),
                                        Field("read_only", "0+", BOOL),
                                        Field("is_default", "0", BOOL),
                                        Field("config_source", "1+", INT8, default=-1, ignorable=True),
                                        Field("is_sensitive", "0+", BOOL),
                                        Field(
                                            "synonyms",
                                            "1+",
                                            Array(
                                                Struct(
                                                    "DescribeConfigsSynonym",
                                                    (
                                                        Field("name", "1+", STRING),
                                                        Field("value", "1+", STRING, nullable="0+"),
                                                        Field("source", "1+", INT8),
                                                    ),
                                                )
                                            ),
                                            ignorable=True,
                                        ),
                                        Field("config_type", "3+", INT8, ignorable=True),
                                        Field("documentation", "3+", STRING, nullable="0+", ignorable=True),
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

DescribeConfigsRequest = DESCRIBE_CONFIGS_REQUEST.value_class
DescribeConfigsResource = DESCRIBE_CONFIGS_REQUEST.class_of("DescribeConfigsResource")
DescribeConfigsResponse = DESCRIBE_CONFIGS_RESPONSE.value_class
DescribeConfigsResult = DESCRIBE_CONFIGS_RESPONSE.class_of("DescribeConfigsResult")
DescribeConfigsResourceResult = DESCRIBE_CONFIGS_RESPONSE.class_of("DescribeConfigsResourceResult")
DescribeConfigsSynonym = DESCRIBE_CONFIGS_RESPONSE.class_of("DescribeConfigsSynonym")
