"""The registry, ApiVersions that comes from it, and the walk over partitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.api.all import load
from kafka_zk.api.authorization import Operation, ResourceType, authorized_operations
from kafka_zk.api.cluster.api_versions import served_versions
from kafka_zk.api.registry import REGISTRY, ApiRegistry, api
from kafka_zk.api.walk import per_item, per_partition
from kafka_zk.network.errors import CloseConnection
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import BrokerError, ErrorCode, NotLeaderOrFollower
from kafka_zk.protocol.messages.delete_records import (
    DELETE_RECORDS_REQUEST,
    DELETE_RECORDS_RESPONSE,
    DeleteRecordsPartition,
    DeleteRecordsTopic,
)
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE

GOLDEN = Path(__file__).parents[2] / "golden" / "error-forms" / "api-versions.json"


def test_a_second_handler_for_a_key_is_refused() -> None:
    registry = ApiRegistry()
    api(HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE, registry=registry)(lambda request, ctx: None)
    with pytest.raises(AssertionError, match="has a handler already"):
        api(HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE, registry=registry)(lambda request, ctx: None)


def test_request_and_response_must_belong_together() -> None:
    with pytest.raises(AssertionError, match="not one API"):
        api(HEARTBEAT_REQUEST, DELETE_RECORDS_RESPONSE, registry=ApiRegistry())(lambda request, ctx: None)


def test_the_list_of_apis_is_ascending_whatever_the_order_of_imports() -> None:
    registry = ApiRegistry()
    api(DELETE_RECORDS_REQUEST, DELETE_RECORDS_RESPONSE, registry=registry)(lambda request, ctx: None)
    api(HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE, registry=registry)(lambda request, ctx: None)
    assert [(entry.api_key, entry.min_version, entry.max_version) for entry in served_versions(registry)] == [
        (12, 0, 4),
        (21, 0, 2),
    ]


def test_only_a_produce_lets_the_next_request_start_before_its_answer() -> None:
    load()
    assert {served.key for served in REGISTRY if served.lets_next_start} <= {0}


def test_each_key_served_has_apaches_versions(capsys: pytest.CaptureFixture[str]) -> None:
    apache = {key: (low, high) for _, key, low, high in json.loads(GOLDEN.read_text())}
    ours = {entry.api_key: (entry.min_version, entry.max_version) for entry in served_versions(load())}
    assert 18 in ours
    assert {key: apache.get(key) for key in ours} == ours
    missing = [f"{name}({key})" for name, key, _, _ in json.loads(GOLDEN.read_text()) if key not in ours]
    with capsys.disabled():
        print(f"\nAPI keys still missing: {len(missing)} of {len(apache)}: {', '.join(missing)}")


def test_the_api_table_is_apaches_list() -> None:
    apache = {key: (name, low, high) for name, key, low, high in json.loads(GOLDEN.read_text())}
    assert {key: (known.name, known.min_version, known.max_version) for key, known in API_TABLE.items()} == apache


def topics(**partitions: list[int]) -> list[Any]:
    return [
        DeleteRecordsTopic(name=name, partitions=[DeleteRecordsPartition(partition_index=n) for n in numbers])
        for name, numbers in partitions.items()
    ]


def named(topic: str, results: list[Any]) -> tuple[str, list[Any]]:
    return topic, results


def outcome(topic: Any, partition: Any, error: BrokerError) -> tuple[str, int, str]:
    return (topic.name, partition.partition_index, error.code.name)


def test_each_partition_has_its_own_answer_in_the_order_of_the_request() -> None:
    def act(topic: Any, partition: Any) -> tuple[str, int, str]:
        if partition.partition_index == 1:
            raise NotLeaderOrFollower
        return (topic.name, partition.partition_index, "NONE")

    answers = per_partition(topics(b=[2, 1, 2], a=[0]), act, outcome, named)
    assert answers == [
        ("b", [("b", 2, "NONE"), ("b", 1, "NOT_LEADER_OR_FOLLOWER"), ("b", 2, "NONE")]),
        ("a", [("a", 0, "NONE")]),
    ]


def test_a_forbidden_topic_is_refused_without_an_attempt() -> None:
    attempts: list[str] = []

    def act(topic: Any, partition: Any) -> tuple[str, int, str]:
        attempts.append(topic.name)
        return (topic.name, partition.partition_index, "NONE")

    answers = per_partition(topics(secret=[0, 1], open=[0]), act, outcome, named, may=lambda name: name == "open")
    assert [results for _, results in answers] == [
        [("secret", 0, "TOPIC_AUTHORIZATION_FAILED"), ("secret", 1, "TOPIC_AUTHORIZATION_FAILED")],
        [("open", 0, "NONE")],
    ]
    assert attempts == ["open"]


def test_a_bug_in_one_partition_leaves_a_trace_and_the_others_alone(caplog: pytest.LogCaptureFixture) -> None:
    def act(topic: Any, partition: Any) -> tuple[str, int, str]:
        return (topic.name, 10 // partition.partition_index, "NONE")

    ((_, results),) = per_partition(topics(t=[0, 5]), act, outcome, named)
    assert results == [("t", 0, "UNKNOWN_SERVER_ERROR"), ("t", 2, "NONE")]
    assert "ZeroDivisionError" in caplog.text


def test_a_handler_may_still_ask_for_the_end_of_the_connection() -> None:
    def act(item: str) -> str:
        raise CloseConnection("enough")

    with pytest.raises(CloseConnection):
        per_item(["x"], act, lambda item, error: item)


def test_items_without_partitions_are_walked_the_same_way() -> None:
    def act(item: str) -> int:
        if item == "bad":
            raise BrokerError("no")
        return 0

    assert per_item(["good", "bad"], act, lambda item, error: int(error.code)) == [0, ErrorCode.UNKNOWN_SERVER_ERROR]


class EverythingAllowed:
    def may(self, operation: int, resource_type: int, name: str, audit: int) -> bool:
        return True


@pytest.mark.parametrize(
    ("resource_type", "bits"),
    [(ResourceType.TOPIC, 3576), (ResourceType.GROUP, 328), (ResourceType.CLUSTER, 8096)],
)
def test_all_operations_of_a_resource_are_apaches_bits(resource_type: ResourceType, bits: int) -> None:
    context: Any = EverythingAllowed()
    assert authorized_operations(context, resource_type, "x") == bits
    assert authorized_operations(context, resource_type, "x") & (1 << Operation.DESCRIBE)
