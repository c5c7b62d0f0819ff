"""UpdateFeatures (key 57, v0-1): change finalized feature levels."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Field, Struct

UPDATE_FEATURES_REQUEST = Message(
    "UpdateFeaturesRequest",
    api_key=57,
    versions="0-1",
    flexible="0+",
    fields=(
        Field("timeout_ms", "0+", INT32, default=60000),
        Field(
            "feature_updates",
            "0+",
            Array(
                Struct(
                    "FeatureUpdateKey",
                    (
                        Field("feature", "0+", STRING),
                        Field("max_version_level", "0+", INT16),
                        Field("allow_downgrade", "0", BOOL),
                        Field("upgrade_type", "1+", INT8, default=1),
                    ),
                )
            ),
        ),
        Field("validate_only", "1+", BOOL),
    ),
)

UPDATE_FEATURES_RESPONSE = Message(
    "UpdateFeaturesResponse",
    api_key=57,
    versions="0-1",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+"),
        Field(
            "results",
            "0+",
            Array(
                Struct(
                    "UpdatableFeatureResult",
                    (
                        Field("feature", "0+", STRING),
                        Field("error_code", "0+", INT16),
                        Field("error_message", "0+", STRING, nullable="0+"),
                    ),
                )
            ),
        ),
    ),
)

UpdateFeaturesRequest = UPDATE_FEATURES_REQUEST.value_class
FeatureUpdateKey = UPDATE_FEATURES_REQUEST.class_of("FeatureUpdateKey")
UpdateFeaturesResponse = UPDATE_FEATURES_RESPONSE.value_class
UpdatableFeatureResult = UPDATE_FEATURES_RESPONSE.class_of("UpdatableFeatureResult")
