"""What monitoring sees of the groups, on real logs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import pytest

from kafka_zk.coordinator.group.coordinator import GroupCoordinator
from kafka_zk.coordinator.group.decisions.joining import Join
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.syncing import Sync
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.scene import RANGE
from tests.unit.replication.broker import Broker

PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "1000",
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "10000",
}
JOIN = Join("", "m-1", None, "c", "/127.0.0.1", 60_000, 10_000, "consumer", RANGE)
MINUTE_MS = 60_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path, PROPERTIES)
    yield made
    made.close()


@pytest.fixture
def coordinator(broker: Broker) -> Iterator[GroupCoordinator]:
    made = GroupCoordinator(
        config=broker.config,
        clock=broker.clock,
        replica_manager=broker.manager,
        metadata_cache=broker.cache,
        metrics=broker.metrics,
        offsets_partition_count=lambda: None,
        gone_topics=lambda topics: (),
    )
    made.startup()
    yield made
    made.shutdown()


def events(broker: Broker) -> dict[str, float]:
    """The totals of group-coordinator-metrics, by their stems."""
    metric = broker.metrics.find("kafka.server:type=group-coordinator-metrics")
    assert metric is not None
    return {name[: -len("-count")]: value for name, value in metric.attributes().items() if name.endswith("-count")}  # type: ignore[misc]


def waiting(broker: Broker) -> tuple[object, ...]:
    """How many wait in the purgatories Heartbeat and Rebalance."""
    name = "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations"
    metrics = [broker.metrics.find(name, delayedOperation=each) for each in ("Heartbeat", "Rebalance")]
    return tuple(metric.attributes()["Value"] for metric in metrics if metric is not None)


def value_of(broker: Broker, name: str) -> object:
    metric = broker.metrics.find(name)
    assert metric is not None
    return metric.attributes()["Value"]


def eventually(claim: Callable[[], bool]) -> None:
    with gevent.Timeout(60):
        while not claim():
            gevent.sleep(0.001)


def test_loads_commits_and_expiries_are_counted(broker: Broker, coordinator: GroupCoordinator) -> None:
    metric = broker.metrics.find("kafka.server:type=group-coordinator-metrics")
    assert metric is not None
    assert math.isnan(metric.attributes()["partition-load-time-max"])  # type: ignore[arg-type]
    broker.lead("__consumer_offsets", 0)
    eventually(lambda: not math.isnan(metric.attributes()["partition-load-time-max"]))  # type: ignore[arg-type]
    offsets = {
        TopicPartition(topic, partition): OffsetAndMetadata(1, -1, "", broker.clock.wall_ms())
        for topic in ("kept", "gone")
        for partition in range(3)
    }
    done = coordinator.commit_offsets("g", member_id="", group_instance_id=None, generation=-1, offsets=offsets)
    assert set(done.result(10_000).values()) == {ErrorCode.NONE}
    assert events(broker) == {
        "offset-commit": 1,
        "offset-expiration": 0,
        "offset-deletion": 0,
        "group-completed-rebalance": 0,
    }
    coordinator.handle_deleted_partitions([TopicPartition("gone", partition) for partition in range(3)])
    offsets_left = "kafka.coordinator.group:type=GroupMetadataManager,name=NumOffsets"
    eventually(lambda: value_of(broker, offsets_left) == 3)
    assert events(broker)["offset-deletion"] == 0
    broker.clock.advance(2 * MINUTE_MS)
    eventually(lambda: events(broker)["offset-expiration"] == 3)
    assert events(broker)["offset-commit"] == 1


def test_a_rebalance_counts_when_the_leader_assigns_and_waits_are_seen(
    broker: Broker, coordinator: GroupCoordinator
) -> None:
    broker.lead("__consumer_offsets", 0)
    eventually(lambda: coordinator.list_groups() == (ErrorCode.NONE, []))
    joined = coordinator.join_group("g", JOIN)
    assert waiting(broker)[1] == 1
    broker.clock.advance(1_000)
    member = joined.result(10_000)
    assert waiting(broker) == (1, 1)
    assert events(broker)["group-completed-rebalance"] == 0
    sync = Sync(member.member_id, generation=member.generation, assignments={member.member_id: b"all"})
    assert coordinator.sync_group("g", sync).result(10_000).assignment == b"all"
    assert events(broker)["group-completed-rebalance"] == 1
    assert waiting(broker) == (1, 0)
