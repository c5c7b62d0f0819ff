"""Who is refused, with which error."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_zk.admin.config_rules import ConfigResourceType
from kafka_zk.api.admin.config_authorization import authorize_configs
from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.protocol.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    TopicAuthorizationFailed,
)


class Client:
    """A request's context, as far as rights go: it may do nothing but what is named."""

    def __init__(self, *rights: tuple[Operation, ResourceType, str]) -> None:
        self._rights = rights

    def may(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        return (operation, resource_type, name) in self._rights


def client(*rights: tuple[Operation, ResourceType, str]) -> Any:
    return cast(Any, Client(*rights))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (ResourceType.TOPIC, TopicAuthorizationFailed),
        (ResourceType.GROUP, GroupAuthorizationFailed),
        (ResourceType.CLUSTER, ClusterAuthorizationFailed),
    ],
)
def test_a_refusal_names_the_kind_of_resource(kind: ResourceType, error: type[BrokerError]) -> None:
    with pytest.raises(error):
        authorize(client((Operation.DESCRIBE, kind, "x")), Operation.ALTER, kind, "x")
    authorize(client((Operation.ALTER, kind, "x")), Operation.ALTER, kind, "x")


def test_the_cluster_goes_by_its_one_name() -> None:
    authorize(client((Operation.ALTER, ResourceType.CLUSTER, "kafka-cluster")), Operation.ALTER, ResourceType.CLUSTER)


@pytest.mark.parametrize("kind", ConfigResourceType)
def test_only_the_configs_of_topics_need_a_right_of_their_own(kind: ConfigResourceType) -> None:
    of_topic = client((Operation.ALTER_CONFIGS, ResourceType.TOPIC, "1"))
    of_cluster = client((Operation.ALTER_CONFIGS, ResourceType.CLUSTER, "kafka-cluster"))
    allowed, refused, error = (
        (of_topic, of_cluster, TopicAuthorizationFailed)
        if kind is ConfigResourceType.TOPIC
        else (of_cluster, of_topic, ClusterAuthorizationFailed)
    )
    authorize_configs(allowed, Operation.ALTER_CONFIGS, kind, "1")
    with pytest.raises(error):
        authorize_configs(refused, Operation.ALTER_CONFIGS, kind, "1")
