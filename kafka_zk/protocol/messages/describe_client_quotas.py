"""DescribeClientQuotas (key 48, v0-1): list quotas of users, client ids and ips."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, FLOAT64, INT8, INT16, INT32, STRING, Array, Field, Struct

DESCRIBE_CLIENT_QUOTAS_REQUEST = Message(
    "DescribeClientQuotasRequest",
    api_key=48,
    versions="0-1",
    flexible="1+",
    fields=(
        Field(
            "components",
            "0+",
            Array(
                Struct(
                    "ComponentData",
                    (
                        Field("entity_type", "0+", STRING),
                        Field("match_type", "0+", INT8),
                        Field("match", "0+", STRING, nullable="0+"),
                    ),
                )
            ),
        ),
        Field("strict", "0+", BOOL),
    ),
)

DESCRIBE_CLIENT_QUOTAS_RESPONSE = Message(
    "DescribeClientQuotasResponse",
    api_key=48,
    versions="0-1",
    flexible="1+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+"),
        Field(
            "entries",
            "0+",
            Array(
                Struct(
                    "EntryData",
                    (
                        Field(
                            "entity",
                            "0+",
                            Array(
                                Struct(
                                    "EntityData",
                                    (
                                        Field("entity_type", "0+", STRING),
                                        Field("entity_name", "0+", STRING, nullable="0+"),
                                    ),
                                )
                            ),
                        ),
                        Field(
                            "values",
                            "0+",
                            Array(
                                Struct(
                                    "ValueData",
                                    (
                                        Field("key", "0+", STRING),
                                        Field("value", "0+", FLOAT64),
                                    ),
                                )
                            ),
                        ),
                    ),
                )
            ),
            nullable="0+",
        ),
    ),
)

DescribeClientQuotasRequest = DESCRIBE_CLIENT_QUOTAS_REQUEST.value_class
ComponentData = DESCRIBE_CLIENT_QUOTAS_REQUEST.class_of("ComponentData")
DescribeClientQuotasResponse = DESCRIBE_CLIENT_QUOTAS_RESPONSE.value_class
EntryData = DESCRIBE_CLIENT_QUOTAS_RESPONSE.class_of("EntryData")
EntityData = DESCRIBE_CLIENT_QUOTAS_RESPONSE.class_of("EntityData")
ValueData = DESCRIBE_CLIENT_QUOTAS_RESPONSE.class_of("ValueData")
