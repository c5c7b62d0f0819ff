"""ApiVersions (key 18, v0-4): which APIs and versions a broker serves; first request of most clients."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT16, INT32, INT64, STRING, Array, Field, Struct

API_VERSIONS_REQUEST = Message(
    "ApiVersionsRequest",
    api_key=18,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("client_software_name", "3+", STRING, ignorable=True),
        Field("client_software_version", "3+", STRING, ignorable=True),
    ),
)

API_VERSIONS_RESPONSE = Message(
    "ApiVersionsResponse",
    api_key=18,
    versions="0-4",
    flexible="3+",
    fields=(
        Field("error_code", "0+", INT16),
        Field(
            "api_keys",
            "0+",
            Array(
                Struct(
                    "ApiVersion",
                    (
                        Field("api_key", "0+", INT16),
                        Field("min_version", "0+", INT16),
                        Field("max_version", "0+", INT16),
                    ),
                )
            ),
        ),
        Field("throttle_time_ms", "1+", INT32, ignorable=True),
        Field(
            "supported_features",
            "3+",
            Array(
                Struct(
                    "SupportedFeatureKey",
                    (
                        Field("name", "3+", STRING),
                        Field("min_version", "3+", INT16),
                        Field("max_version", "3+", INT16),
                    ),
                )
            ),
            tag=0,
            ignorable=True,
        ),
        Field("finalized_features_epoch", "3+", INT64, default=-1, tag=1, ignorable=True),
        Field(
            "finalized_features",
            "3+",
            Array(
                Struct(
                    "FinalizedFeatureKey",
                    (
                        Field("name", "3+", STRING),
                        Field("max_version_level", "3+", INT16),
                        Field("min_version_level", "3+", INT16),
                    ),
                )
            ),
            tag=2,
            ignorable=True,
        ),
        Field("zk_migration_ready", "3+", BOOL, tag=3, ignorable=True),
    ),
)

ApiVersionsRequest = API_VERSIONS_REQUEST.value_class
ApiVersionsResponse = API_VERSIONS_RESPONSE.value_class
ApiVersion = API_VERSIONS_RESPONSE.class_of("ApiVersion")
SupportedFeatureKey = API_VERSIONS_RESPONSE.class_of("SupportedFeatureKey")
FinalizedFeatureKey = API_VERSIONS_RESPONSE.class_of("FinalizedFeatureKey")
