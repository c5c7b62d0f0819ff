"""Describes and updates features of a cluster over the wire.

Role        Acts, through `Calls`. Brokers in ZooKeeper mode have no features; other clusters' are all returned.
Source      KafkaAdminClient.describeFeatures, updateFeatures; FeatureUpdate; KIP-584, KIP-778.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.client.admin.cluster_description import describe_cluster
from kafka_zk.client.errors import KafkaException
from kafka_zk.client.network.frames import api_versions_request
from kafka_zk.config.values import java_trim
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnknownServerError, error_class_for
from kafka_zk.protocol.messages.api_versions import (
    API_VERSIONS_REQUEST,
    API_VERSIONS_RESPONSE,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from kafka_zk.protocol.messages.update_features import (
    UPDATE_FEATURES_REQUEST,
    UPDATE_FEATURES_RESPONSE,
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

DESCRIBE, UPDATE = "describeFeatures", "updateFeatures"
"""Names of the calls, as errors print them."""


class UpgradeType(IntEnum):
    """What an update may do, by its code."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """The level a feature is to have; 0 deletes it. Raises ValueError for a level that is never valid."""

    max_version_level: int
    upgrade_type: UpgradeType

    def __post_init__(self) -> None:
        if self.max_version_level == 0 and self.upgrade_type is UpgradeType.UPGRADE:
            raise ValueError(
                "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE "
                "when the provided maxVersionLevel:0 is < 1."
            )
        if self.max_version_level < 0:
            raise ValueError("Cannot specify a negative version level.")


class VersionRange(NamedTuple):
    """Lowest and highest level."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class FeatureMetadata:
    """Levels by feature: what one broker supports, and what the cluster has finalized, in which epoch."""

    supported: dict[str, VersionRange]
    finalized: dict[str, VersionRange]
    epoch: int | None


def describe_features(calls: Calls, *, of_controllers: bool) -> FeatureMetadata:
    """Blocks. Raises MismatchedEndpointType if controllers are requested and a broker answers."""
    if of_controllers:
        describe_cluster(calls, of_controllers=True, call_name=DESCRIBE)

    def build(_: int) -> ApiVersionsRequest:
        return api_versions_request()

    def check(answer: ApiVersionsResponse) -> None:
        raise_for(answer.error_code, None)

    answer = calls.to_any_node(Call(DESCRIBE, API_VERSIONS_REQUEST, API_VERSIONS_RESPONSE, build, check))
    epoch = answer.finalized_features_epoch
    return FeatureMetadata(
        {each.name: VersionRange(each.min_version, each.max_version) for each in answer.supported_features},
        {each.name: VersionRange(each.min_version_level, each.max_version_level) for each in answer.finalized_features},
        epoch if epoch >= 0 else None,
    )


def update_features(
    calls: Calls,
    updates: Mapping[str, FeatureUpdate],
    *,
    timeout_ms: int,
    validate_only: bool,
    of_controllers: bool,
) -> dict[str, BrokerError | KafkaException | None]:
    """Blocks. Update features. Returns None or an error for each. Raises ValueError for a blank name."""
    if not all(map(java_trim, updates)):
        raise ValueError("Provided feature can not be empty.")

    def build(_: int) -> UpdateFeaturesRequest:
        keys = [
            FeatureUpdateKey(feature=name, max_version_level=update.max_version_level, upgrade_type=update.upgrade_type)
            for name, update in updates.items()
        ]
        return UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=keys, validate_only=validate_only)

    def check(answer: UpdateFeaturesResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    call = Call(UPDATE, UPDATE_FEATURES_REQUEST, UPDATE_FEATURES_RESPONSE, build, check)
    try:
        if of_controllers:
            describe_cluster(calls, of_controllers=True, call_name=UPDATE)
        answer = calls.to_controller(call)
    except (BrokerError, KafkaException) as error:
        return dict.fromkeys(updates, error)
    found = {result.feature: _outcome(result.error_code, result.error_message) for result in answer.results}
    return {name: found[name] if name in found else _unanswered(name) for name in updates}


def _outcome(error_code: int, message: str | None) -> BrokerError | None:
    return None if error_code == ErrorCode.NONE else error_class_for(error_code)(message)


def _unanswered(name: str) -> BrokerError:
    return UnknownServerError(f"The controller response did not contain a result for feature {name}")
