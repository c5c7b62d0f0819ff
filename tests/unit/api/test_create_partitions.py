"""CreatePartitions: one answer a topic, in the order of the request."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.admin.topics import NewTopic
from kafka_zk.api.admin.create_partitions import create_partitions
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tests.unit.admin.given import Cluster


def answers(
    cluster: Cluster,
    wanted: dict[str, int],
    *,
    in_deletion: frozenset[str] = frozenset(),
    is_controller: bool = True,
    forbidden: frozenset[str] = frozenset(),
) -> Any:
    """Name and code of each result."""
    active_controller = (
        SimpleNamespace(context=SimpleNamespace(topics_to_delete=in_deletion)) if is_controller else None
    )
    ctx: Any = SimpleNamespace(
        services=SimpleNamespace(
            quotas=None, controller=SimpleNamespace(active_controller=active_controller), topic_admin=cluster.admin
        ),
        may=lambda operation, resource_type, name: name not in forbidden,
    )
    topics = [CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in wanted.items()]
    response = create_partitions(CreatePartitionsRequest(topics=topics, timeout_ms=0, validate_only=True), ctx)
    assert not isinstance(response, Pending), "whoever only validates waits for nothing"
    return [(result.name, ErrorCode(result.error_code)) for result in response.results]


def test_rule_78_every_topic_is_answered_also_behind_one_that_is_refused() -> None:
    cluster = Cluster()
    cluster.admin.create(NewTopic("small", 1, 1))
    cluster.admin.create(NewTopic("large", 9, 1))
    assert answers(cluster, {"unknown": 2, "large": 3, "small": 3}) == [
        ("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("large", ErrorCode.INVALID_PARTITIONS),
        ("small", ErrorCode.NONE),
    ]


def test_rule_16_a_topic_in_deletion_does_not_grow() -> None:
    cluster = Cluster()
    cluster.admin.create(NewTopic("t", 1, 1))
    refused = answers(cluster, {"t": 2}, in_deletion=frozenset({"t"}))
    assert refused == [("t", ErrorCode.INVALID_TOPIC_EXCEPTION)]


def test_a_name_that_no_znode_may_have_fails_all_on_a_controller_that_would_look_for_it() -> None:
    cluster = Cluster()
    wanted = {"..": 2, "unknown": 2}
    with pytest.raises(BrokerError):
        answers(cluster, wanted)
    elsewhere = answers(cluster, wanted, is_controller=False)
    assert elsewhere == [("..", ErrorCode.NOT_CONTROLLER), ("unknown", ErrorCode.NOT_CONTROLLER)]
    assert answers(cluster, wanted, forbidden=frozenset({".."})) == [
        ("..", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
