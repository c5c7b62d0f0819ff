"""Topic requests that wait for the metadata cache end with the connection of who asked."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_zk.admin.topics import NewTopic
from kafka_zk.api.admin.create_partitions import create_partitions
from kafka_zk.api.admin.create_topics import create_topics
from kafka_zk.api.admin.delete_topics import delete_topics
from kafka_zk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_zk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_zk.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.unit.admin.given import Cluster

A_MONTH_MS = 30 * 24 * 3_600_000

ASKED: list[tuple[Callable[[Any, Any], Any], Any]] = [
    (
        create_topics,
        CreateTopicsRequest(
            topics=[CreatableTopic(name="new", num_partitions=1, replication_factor=1)], timeout_ms=A_MONTH_MS
        ),
    ),
    (
        create_partitions,
        CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="t", count=2, assignments=None)], timeout_ms=A_MONTH_MS
        ),
    ),
    (delete_topics, DeleteTopicsRequest(topic_names=["t"], timeout_ms=A_MONTH_MS)),
]


@pytest.mark.parametrize(("handler", "request_"), ASKED, ids=lambda asked: getattr(asked, "__name__", ""))
def test_who_has_gone_is_waited_for_no_more(handler: Callable[[Any, Any], Any], request_: Any) -> None:
    cluster = Cluster()
    cluster.admin.create(NewTopic("t", 1, 1))
    active_controller = SimpleNamespace(context=SimpleNamespace(topics_to_delete=frozenset()))
    ctx: Any = SimpleNamespace(
        services=SimpleNamespace(
            quotas=None,
            controller=SimpleNamespace(is_active=True, active_controller=active_controller),
            topic_admin=cluster.admin,
            config=SimpleNamespace(delete_topic_enable=True),
            metadata_cache=SimpleNamespace(topic=lambda name: SimpleNamespace(partitions={0: None}, topic_id=None)),
        ),
        may=lambda *_: True,
        api_version=5,
    )
    if handler is delete_topics:
        # This broker still shows what ZooKeeper has marked.
        cluster.admin.waits._cache = ctx.services.metadata_cache
    answer = handler(request_, ctx)
    purgatory = cluster.admin.waits._purgatory
    assert purgatory.waiting_count == 1
    answer.leave(False)
    assert purgatory.waiting_count == 1, "who has sent all may still read"
    answer.leave(True)
    assert (purgatory.waiting_count, purgatory.watch_count) == (0, 0)
    assert not answer.is_done
