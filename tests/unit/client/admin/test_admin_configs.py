"""Configs are asked of whoever knows them."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import ConfigChange, ConfigOperation, ConfigResource, ResourceType
from kafka_zk.protocol.errors import InvalidConfig
from kafka_zk.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_zk.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from tests.unit.client.scripted_broker import API_VERSIONS_KEY, ScriptedBroker

METADATA_KEY, CONFIGS_KEY, ALTER_KEY = 3, 32, 44
VERSIONS = {METADATA_KEY: (0, 12), API_VERSIONS_KEY: (0, 4), CONFIGS_KEY: (0, 4), ALTER_KEY: (0, 1)}
TOPIC = ConfigResource(ResourceType.TOPIC, "a")
BROKER_7 = ConfigResource(ResourceType.BROKER, "7")


def configs_of(resource: ConfigResource) -> DescribeConfigsResponse:
    entry = DescribeConfigsResourceResult(name="n", value="v", config_source=1)
    return DescribeConfigsResponse(
        results=[DescribeConfigsResult(resource_type=resource.type, resource_name=resource.name, configs=[entry])]
    )


def test_a_brokers_configs_are_asked_of_that_broker() -> None:
    with ScriptedBroker({}, versions=VERSIONS) as other, ScriptedBroker({}, versions=VERSIONS) as seventh:
        brokers = [
            MetadataResponseBroker(node_id=node_id, host=broker.host, port=broker.port)
            for node_id, broker in ((3, other), (7, seventh))
        ]
        other.handlers[METADATA_KEY] = lambda *_: MetadataResponse(brokers=brokers)
        seventh.handlers[CONFIGS_KEY] = lambda *_: configs_of(BROKER_7)
        with AdminClient({"bootstrap.servers": other.bootstrap}) as admin:
            (entry,) = admin.describe_configs([BROKER_7])[BROKER_7]
        assert (entry.name, entry.value, entry.is_default) == ("n", "v", False)
        assert CONFIGS_KEY not in dict(other.seen)


def test_single_keys_are_changed_by_any_broker() -> None:
    requests: list[Any] = []

    def answer(request: Any, version: int) -> IncrementalAlterConfigsResponse:
        requests.append(request)
        return IncrementalAlterConfigsResponse(responses=[AlterConfigsResourceResponse(resource_type=2)])

    changes = [ConfigChange("x", ConfigOperation.SET, "1"), ConfigChange("y", ConfigOperation.DELETE)]
    with (
        ScriptedBroker({ALTER_KEY: answer}, versions=VERSIONS) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
    ):
        admin.incremental_alter_configs({TOPIC: changes}, validate_only=True)
    (request,) = requests
    (resource,) = request.resources
    assert request.validate_only
    assert (resource.resource_type, resource.resource_name) == (2, "a")
    assert [(each.name, each.config_operation, each.value) for each in resource.configs] == [
        ("x", 0, "1"),
        ("y", 1, None),
    ]


def test_a_refused_change_is_raised_with_the_brokers_words() -> None:
    refusal = AlterConfigsResourceResponse(error_code=40, error_message="no", resource_type=2, resource_name="a")
    with (
        ScriptedBroker(
            {ALTER_KEY: lambda *_: IncrementalAlterConfigsResponse(responses=[refusal])}, versions=VERSIONS
        ) as broker,
        AdminClient({"bootstrap.servers": broker.bootstrap}) as admin,
        pytest.raises(InvalidConfig, match=r"^no$"),
    ):
        admin.incremental_alter_configs({TOPIC: [ConfigChange("x", ConfigOperation.DELETE)]})
