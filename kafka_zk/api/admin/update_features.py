"""UpdateFeatures (key 57, v0-1): brokers in ZooKeeper mode support no features, so every update is refused.

v1 kinds of downgrades, validate only · v0 downgrades allowed or not
Source      KafkaApis.handleUpdateFeatures, KafkaController.validateFeatureUpdate; KIP-584, KIP-778.
"""

from __future__ import annotations

from kafka_zk.api.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_zk.api.error_form import Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import ErrorCode, message_of
from kafka_zk.protocol.messages.update_features import (
    UPDATE_FEATURES_REQUEST,
    UPDATE_FEATURES_RESPONSE,
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
UPGRADE_TYPES = (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)
TYPES_FROM = 1
LOWEST_LEVEL = 1


@api(UPDATE_FEATURES_REQUEST, UPDATE_FEATURES_RESPONSE, errors=Form(text=Text.OWN))
def update_features(request: UpdateFeaturesRequest, ctx: RequestContext) -> UpdateFeaturesResponse:
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if not ctx.services.controller.is_active:
        return _refused(ErrorCode.NOT_CONTROLLER)
    reasons = {update.feature: refusal(update, ctx.api_version) for update in in_turns(request.feature_updates)}
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=feature, error_code=ErrorCode.INVALID_REQUEST, error_message=reason)
            for feature, reason in in_turns(reasons.items())
        ],
    )


def _refused(code: ErrorCode) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=code, error_message=message_of(code))


def refusal(update: FeatureUpdateKey, api_version: int) -> str:
    """Why this update is refused."""
    upgrade_type = update.upgrade_type
    if api_version < TYPES_FROM:
        upgrade_type = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    if not update.feature:
        return "Feature name can not be empty."
    if upgrade_type not in UPGRADE_TYPES:
        return "Received unknown upgrade type."
    if update.max_version_level >= LOWEST_LEVEL:
        return "Could not apply finalized feature update because the provided feature is not supported."
    if upgrade_type != UPGRADE:
        return "Can not delete non-existing finalized feature."
    return (
        f"Can not provide versionLevel: {update.max_version_level} less than {LOWEST_LEVEL} without setting the "
        "SAFE downgradeType in the request."
    )
