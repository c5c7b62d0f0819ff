"""AlterClientQuotas (key 49, v0-1): set or remove quotas of users, client ids and ips."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, FLOAT64, INT16, INT32, STRING, Array, Field, Struct

ENTITY_DATA = Struct(
    "EntityData",
    (
        Field("entity_type", "0+", STRING),
        Field("entity_name", "0+", STRING, nullable="0+"),
    ),
)

ALTER_CLIENT_QUOTAS_REQUEST = Message(
    "AlterClientQuotasRequest",
    api_key=49,
    versions="0-1",
    flexible="1+",
    fields=(
        Field(
            "entries",
            "0+",
            Array(
                Struct(
                    "EntryData",
                    (
                        Field("entity", "0+", Array(ENTITY_DATA)),
                        Field(
                            "ops",
                            "0+",
                            Array(
                                Struct(
                                    "OpData",
                                    (
                                        Field("key", "0+", STRING),
                                        Field("value", "0+", FLOAT64),
                                        Field("remove", "0+", BOOL),
                                    ),
                                )
                            ),
                        ),
                    ),
                    class_name="RequestEntryData",
                )
            ),
        ),
        Field("validate_only", "0+", BOOL),
    ),
)

ALTER_CLIENT_QUOTAS_RESPONSE = Message(
    "AlterClientQuotasResponse",
    api_key=49,
    versions="0-1",
    flexible="1+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field(
            "entries",
            "0+",
            Array(
                Struct(
                    "EntryData",
                    (
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                        Field("entity", "0+", Array(ENTITY_DATA)),
                    ),
                    class_name="ResponseEntryData",
                )
            ),
        ),
    ),
)

AlterClientQuotasRequest = ALTER_CLIENT_QUOTAS_REQUEST.value_class
RequestEntryData = ALTER_CLIENT_QUOTAS_REQUEST.class_of("RequestEntryData")
EntityData = ALTER_CLIENT_QUOTAS_REQUEST.class_of("EntityData")
OpData = ALTER_CLIENT_QUOTAS_REQUEST.class_of("OpData")
AlterClientQuotasResponse = ALTER_CLIENT_QUOTAS_RESPONSE.value_class
ResponseEntryData = ALTER_CLIENT_QUOTAS_RESPONSE.class_of("ResponseEntryData")
