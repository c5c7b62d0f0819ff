"""The lag of groups on real logs: as Apache's tool would print it, never below zero, and what is really left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from kafka_zk.coordinator.lag import gauges
from kafka_zk.coordinator.lag.gauges import GroupLag
from kafka_zk.metadata.snapshot import Node
from kafka_zk.metrics.prometheus import exposition
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_zk.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from kafka_zk.protocol.messages.offset_fetch import (
    OFFSET_FETCH_REQUEST,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.test_coordinator_log import GROUP, Coordinated, wait
from tests.unit.replication.broker import Broker

OTHER = Node(2, "h", 9002, None)
GONE = Node(3, "h", 9003, None)


class OtherBroker:
    """Coordinates `committed` (group -> offset in t-0); `before` runs when it is asked for offsets.

    `highest`: the last version of OffsetFetch that it knows.
    """

    def __init__(self) -> None:
        self.committed: dict[str, int] = {}
        self.before: Any = lambda: None
        self.highest = 9

    def connect(self, node: Node) -> Any:
        if node is not OTHER:
            raise NetworkError("nobody listens")
        return SimpleNamespace(send=self.send, close=lambda: None)

    def send(self, request: Any, api_version: int, *, timeout_ms: int = 0) -> Any:
        if isinstance(request, ApiVersionsRequest):
            known = ApiVersion(api_key=OFFSET_FETCH_REQUEST.api_key, min_version=0, max_version=self.highest)
            return ApiVersionsResponse(api_keys=[known])
        if type(request).__name__ == "ListGroupsRequest":
            return ListGroupsResponse(groups=[ListedGroup(group_id=name) for name in self.committed])
        assert api_version <= self.highest
        self.before()
        if api_version < 8:
            found = OffsetFetchResponsePartition(partition_index=0, committed_offset=self.committed[request.group_id])
            return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t", partitions=[found])])
        groups = []
        for group in request.groups:
            line = OffsetFetchResponsePartitions(partition_index=0, committed_offset=self.committed[group.group_id])
            topics = [OffsetFetchResponseTopics(name="t", partitions=[line])]
            groups.append(OffsetFetchResponseGroup(group_id=group.group_id, topics=topics))
        return OffsetFetchResponse(groups=groups)


class Watched:
    """A coordinator whose broker also leads t-0, and what its lag gauges say."""

    def __init__(self, path: Path, **properties: str) -> None:
        self.coordinated = Coordinated(path, **properties)
        self.broker: Broker = self.coordinated.broker
        self.other = OtherBroker()
        self.others: list[Node] = []
        self.lag = GroupLag(
            hosted=self.broker.manager.hosted,
            coordinated=self.coordinated.coordinator.committed_offsets,
            others=lambda: self.others,
            connect=self.other.connect,
            pause=lambda: None,
            clock=self.broker.clock,
        )
        self.lag.register(self.broker.metrics)
        self.coordinated.lead()
        self.broker.lead("t")

    def seen(self) -> dict[str, tuple[float, ...]]:
        """By group: the lag, and the records left."""
        return {dict(tags)["group"]: values for tags, values in self.lag.rows()}


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.coordinated.close()


def test_the_lag_is_the_way_from_the_committed_offset_to_the_end(watched: Watched) -> None:
    watched.broker.produce(10)
    assert watched.seen() == {}, "no group has committed anything"
    watched.coordinated.commit(3)
    assert watched.seen() == {GROUP: (7, 7)}
    watched.broker.produce(5)
    assert watched.seen() == {GROUP: (12, 12)}


def test_a_group_that_read_everything_of_an_idle_topic_lags_by_nothing(watched: Watched) -> None:
    watched.broker.produce(10)
    watched.coordinated.commit(10)
    assert watched.seen() == {GROUP: (0, 0)}
    watched.broker.clock.advance(3_600_000)
    assert watched.seen() == {GROUP: (0, 0)}, "time alone changes nothing"


def test_a_lag_is_never_negative_where_the_log_was_cut(watched: Watched) -> None:
    watched.broker.produce(10)
    watched.coordinated.commit(10)
    watched.broker.order("t", leader=2, replicas=(2, 1), epoch=1, partition_epoch=1)
    log: Any = watched.broker.partition("t").log
    log.truncate_to(0)
    watched.broker.lead("t", epoch=2, partition_epoch=2)
    assert watched.seen() == {GROUP: (0, 0)}
    watched.broker.produce(12)
    assert watched.seen() == {GROUP: (2, 2)}


def test_records_that_were_deleted_are_not_left_though_the_tool_counts_them(watched: Watched) -> None:
    watched.broker.produce(5)
    watched.broker.produce(5)
    watched.coordinated.commit(2)
    log: Any = watched.broker.partition("t").log
    log.increment_log_start_offset(5)
    assert watched.seen() == {GROUP: (8, 5)}


def test_a_topic_that_was_deleted_has_no_lag(watched: Watched) -> None:
    watched.broker.produce(5)
    watched.coordinated.commit(2)
    watched.coordinated.coordinator.handle_deleted_partitions([TopicPartition("t", 0)])
    wait(lambda: watched.seen() == {})


def test_an_offset_that_expired_has_no_lag(tmp_path: Path) -> None:
    watched = Watched(tmp_path, **{"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "60000"})
    watched.broker.produce(5)
    watched.coordinated.commit(2)
    watched.broker.clock.advance(120_000)
    wait(lambda: watched.seen() == {})
    watched.coordinated.close()


def test_only_the_leader_tells_and_only_what_it_leads(watched: Watched) -> None:
    watched.broker.produce(5)
    watched.coordinated.commit(2)
    watched.broker.order("t", leader=2, replicas=(2, 1), epoch=1, partition_epoch=1)
    assert watched.seen() == {}


@pytest.mark.parametrize("highest", [7, 8, 9])
def test_groups_of_other_coordinators_are_asked_for(watched: Watched, highest: int) -> None:
    watched.others = [OTHER]
    watched.other.highest = highest
    watched.other.committed = {"far": 4, "near": 9}
    watched.broker.produce(10)
    watched.coordinated.commit(3)
    assert watched.seen() == {GROUP: (7, 7), "far": (6, 6), "near": (1, 1)}


def test_what_is_committed_while_we_ask_never_makes_a_lag_negative(watched: Watched) -> None:
    """The offset is read first and the end after it: an end from before could lie below the offset."""
    watched.others = [OTHER]
    watched.other.committed = {"fast": 10}
    watched.other.before = lambda: watched.broker.produce(10)
    assert watched.seen() == {"fast": (0, 0)}


def test_a_coordinator_that_does_not_answer_is_counted_and_keeps_nobody_waiting(watched: Watched) -> None:
    watched.others = [OTHER, GONE]
    watched.other.committed = {"far": 4}
    watched.broker.produce(10)
    assert watched.seen() == {"far": (6, 6)}
    metric = watched.broker.metrics.find("kafka.coordinator.group:type=GroupLag,name=UnansweredCoordinators")
    assert metric is not None and metric.attributes()["Value"] == 1


def test_no_more_than_so_many_lags_are_shown(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauges, "MAX_SERIES", 2)
    watched.others = [OTHER]
    watched.other.committed = {"a": 1, "b": 2, "c": 3}
    watched.broker.produce(10)
    assert len(watched.seen()) == 2


def test_a_count_that_is_not_there_yet_is_no_number(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_zk.coordinator.lag.record_counts.BATCHES_PER_LOOK", 0)
    watched.broker.produce(10)
    watched.coordinated.commit(3)
    lag, left = watched.seen()[GROUP]
    assert lag == 7 and math.isnan(left)


def test_who_looks_while_somebody_looks_waits(watched: Watched) -> None:
    order: list[str] = []
    watched.others = [OTHER]
    watched.other.committed = {"far": 4}
    watched.broker.produce(10)

    def asked() -> None:
        order.append("asked")
        gevent.sleep(0)

    def look() -> None:
        assert watched.seen() == {"far": (6, 6)}
        order.append("seen")

    watched.other.before = asked
    gevent.joinall([gevent.spawn(look), gevent.spawn(look)], raise_error=True)
    assert order == ["asked", "seen", "asked", "seen"]


def test_groups_of_partitions_that_others_lead_do_not_hold_the_loop_either(watched: Watched) -> None:
    pauses: list[None] = []
    elsewhere = [(TopicPartition("elsewhere", index), 1) for index in range(gauges.PAIRS_PER_TURN)]
    watched.lag = GroupLag(
        hosted=watched.broker.manager.hosted,
        coordinated=lambda: [("first", [(TopicPartition("t", 0), 0)]), *[("g", elsewhere)] * 10],
        others=list,
        connect=watched.other.connect,
        pause=lambda: pauses.append(None),
        clock=watched.broker.clock,
    )
    assert watched.seen() == {"first": (0, 0)}
    assert len(pauses) >= 10


def test_prometheus_shows_both(watched: Watched) -> None:
    watched.broker.produce(10)
    watched.coordinated.commit(3)
    page = b"".join(exposition(watched.broker.metrics)).decode()
    labels = '{group="g",partition="0",topic="t"}'
    assert f"\nkafka_coordinator_group_grouplag_offsetlag{labels} 7.0\n" in page
    assert f"\nkafka_coordinator_group_grouplag_recordsleft{labels} 7.0\n" in page
