"""Features over the admin client: each has its own outcome, whatever becomes of the call."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.features import FeatureUpdate, UpgradeType
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from kafka_zk.protocol.messages.update_features import UpdatableFeatureResult, UpdateFeaturesResponse
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

METADATA, UPDATE_FEATURES = 3, 57
VERSIONS = {METADATA: (0, 12), API_VERSIONS_KEY: (0, 4), UPDATE_FEATURES: (0, 1)}
UPDATES = {
    "up": FeatureUpdate(3, UpgradeType.UPGRADE),
    "down": FeatureUpdate(1, UpgradeType.UNSAFE_DOWNGRADE),
    "gone": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE),
}


def outcomes(answer: UpdateFeaturesResponse) -> tuple[Any, dict[str, str | None]]:
    """What was asked, and the text of each feature's outcome."""
    asked: list[Any] = []

    def update(request: Any, version: int) -> UpdateFeaturesResponse:
        asked.append(request)
        return answer

    with ScriptedBroker({UPDATE_FEATURES: update}, versions=VERSIONS) as broker:
        nodes = [MetadataResponseBroker(node_id=1, host=broker.host, port=broker.port)]
        broker.handlers[METADATA] = lambda *_: MetadataResponse(brokers=nodes, controller_id=1)
        with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
            found = admin.update_features(UPDATES, validate_only=True)
    return asked[0], {name: None if error is None else str(error) for name, error in found.items()}


def test_each_feature_has_the_outcome_that_the_controller_gives_it_and_none_is_left_out() -> None:
    results = [
        UpdatableFeatureResult(feature="down", error_code=ErrorCode.INVALID_REQUEST, error_message="no way"),
        UpdatableFeatureResult(feature="up", error_code=ErrorCode.NONE, error_message=None),
    ]
    asked, found = outcomes(UpdateFeaturesResponse(error_message=None, results=results))
    assert found == {
        "up": None,
        "down": "no way",
        "gone": "The controller response did not contain a result for feature gone",
    }
    assert [(each.feature, each.max_version_level, each.upgrade_type) for each in asked.feature_updates] == [
        ("up", 3, 1),
        ("down", 1, 3),
        ("gone", 0, 2),
    ]
    assert asked.validate_only


def test_an_error_of_the_whole_call_is_the_outcome_of_every_feature() -> None:
    refused = UpdateFeaturesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message="you may not")
    assert outcomes(refused)[1] == dict.fromkeys(UPDATES, "you may not")


@pytest.mark.parametrize(("level", "kind"), [(0, UpgradeType.UPGRADE), (-1, UpgradeType.SAFE_DOWNGRADE)])
def test_a_level_that_cannot_be_meant_is_not_sent(level: int, kind: UpgradeType) -> None:
    with pytest.raises(ValueError, match=r"level|Level"):
        FeatureUpdate(level, kind)
