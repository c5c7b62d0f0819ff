"""Requests that name one thing again and again: it is looked up once, and counts once where it does in Apache."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.api.request_context import RequestContext
from kafka_zk.config.describe import ConfigEntry
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_zk.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_zk.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_zk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_zk.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.unit.replication.broker import Broker
from tests.unit.replication.conftest import broker

__all__ = ["broker"]

COUNT = 1_000
BROKER = 4


class Asked:
    """Stands for a room of the broker: counts what it is asked, and answers `answer`."""

    def __init__(self, answer: Any) -> None:
        self.count = 0
        self._answer = answer

    def __call__(self, *_: Any, **__: Any) -> Any:
        self.count += 1
        return self._answer


def call(broker: Broker, request: Any, api_version: int) -> Any:
    return broker.call(request, api_version)


def test_a_topic_named_again_and_again_is_described_once(broker: Broker) -> None:
    broker.lead()
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t") for _ in range(COUNT)])
    assert [topic.name for topic in call(broker, request, 9).topics] == ["t"]


def test_unknown_topics_count_once_each_in_the_order_of_the_request(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 1}})
    names = ["b", "a", "b", "t", "a"]
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
    )
    assert [topic.name for topic in call(broker, request, 9).topics] == ["b", "a", "t"]


def test_a_broker_named_again_and_again_is_described_once(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[ConfigEntry] = []
    asked = Asked(entries)
    monkeypatch.setattr(broker.services, "config_admin", SimpleNamespace(describe_broker=asked))
    resources = [DescribeConfigsResource(resource_type=BROKER, resource_name="1") for _ in range(COUNT)]
    resources.append(DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=["x"]))
    answer = call(broker, DescribeConfigsRequest(resources=resources), 4)
    assert [result.resource_name for result in answer.results] == ["1"] * (COUNT + 1)
    assert asked.count == 2


def test_a_group_named_again_and_again_is_asked_for_its_offsets_once(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked((ErrorCode.NONE, {}))
    monkeypatch.setattr(broker.services, "group_coordinator", SimpleNamespace(fetch_offsets=asked))
    groups = [OffsetFetchRequestGroup(group_id="g", topics=None) for _ in range(COUNT)]
    answer = call(broker, OffsetFetchRequest(groups=groups), 8)
    assert [group.group_id for group in answer.groups] == ["g"] * COUNT
    assert asked.count == 1


def test_a_group_named_again_and_again_is_described_once(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = SimpleNamespace(state="Dead", protocol_type="", protocol="", members=[])
    asked = Asked((ErrorCode.NONE, dead))
    monkeypatch.setattr(broker.services, "group_coordinator", SimpleNamespace(describe_group=asked))
    answer = call(broker, DescribeGroupsRequest(groups=["g"] * COUNT), 5)
    assert [group.group_id for group in answer.groups] == ["g"] * COUNT
    assert asked.count == 1


def test_the_coordinator_of_a_group_named_again_and_again_is_looked_up_once(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.update_metadata({"__consumer_offsets": {0: 1}})
    asked = Asked(0)
    monkeypatch.setattr(broker.services, "group_coordinator", SimpleNamespace(partition_for=asked))
    answer = call(broker, FindCoordinatorRequest(coordinator_keys=["g"] * COUNT), 4)
    assert [(found.key, found.node_id) for found in answer.coordinators] == [("g", 1)] * COUNT
    assert asked.count == 1


def test_what_is_asked_once_is_refused_once_for_each(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RequestContext, "may", lambda *_: False)
    answer = call(broker, FindCoordinatorRequest(coordinator_keys=["g"] * 3), 4)
    assert [found.error_code for found in answer.coordinators] == [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 3
