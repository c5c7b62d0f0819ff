# Written by `python -m kafka_zk.protocol.stubs`; do not edit.
from kafka_zk.protocol.message import Message
from kafka_zk.protocol.value import Value

UPDATE_FEATURES_REQUEST: Message[UpdateFeaturesRequest]
UPDATE_FEATURES_RESPONSE: Message[UpdateFeaturesResponse]

class UpdateFeaturesRequest(Value):
    timeout_ms: int
    feature_updates: list[FeatureUpdateKey]
    validate_only: bool
    def __init__(
        self,
        *,
        timeout_ms: int = ...,
        feature_updates: list[FeatureUpdateKey] = ...,
        validate_only: bool = ...,
    ) -> None: ...

class FeatureUpdateKey(Value):
    feature: str
    max_version_level: int
    allow_downgrade: bool
    upgrade_type: int
    def __init__(
        self,
        *,
        feature: str = ...,
        max_version_level: int = ...,
        allow_downgrade: bool = ...,
        upgrade_type: int = ...,
    ) -> None: ...

class UpdateFeaturesResponse(Value):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[UpdatableFeatureResult]
    def __init__(
        self,
        *,
        throttle_time_ms: int = ...,
        error_code: int = ...,
        error_message: str | None = ...,
        results: list[UpdatableFeatureResult] = ...,
    ) -> None: ...

class UpdatableFeatureResult(Value):
    feature: str
    error_code: int
    error_message: str | None
    def __init__(
        self,
        *,
        feature: str = ...,
        error_code: int = ...,
        error_message: str | None = ...,
    ) -> None: ...

