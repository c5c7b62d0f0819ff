"""What a fetcher makes of errors: of whom it asks next, and what it tells the program."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_zk.client.consumer.errors import OffsetOutOfRange
from kafka_zk.client.consumer.fetch_answers import FetchAnswer
from kafka_zk.client.consumer.fetch_metrics import FetchMetrics
from kafka_zk.client.consumer.fetch_session import Wanted
from kafka_zk.client.consumer.fetcher import Fetcher
from kafka_zk.client.consumer.settings import FetchSettings
from kafka_zk.client.consumer.subscription_state import FetchPosition, ResetStrategy, SubscriptionState
from kafka_zk.client.network.cluster_snapshot import ClusterSnapshot, PartitionMetadata, TopicMetadata
from kafka_zk.clock import SimClock
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafka_zk.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from kafka_zk.protocol.types import NULL_UUID
from tests.support.our_consumer import read
from tests.unit.client.consumer.test_answers_of_brokers import FETCH, METADATA, T0, VERSIONS, Log, reader
from tests.unit.client.range_reading.given import marker
from tests.unit.client.scripted_broker import ScriptedBroker

LED_BY_1 = ClusterSnapshot({}, topics={"t": TopicMetadata("t", partitions={0: PartitionMetadata("t", 0, 1, 0)})})
SETTINGS = FetchSettings(1, 1 << 20, 500, 1 << 20, 500, True, 0, "", 100)


@pytest.fixture
def log() -> Iterator[Log]:
    made = Log()
    with made.broker:
        yield made


def test_a_follower_whose_disk_failed_is_not_read_from_any_more(log: Log) -> None:
    """Nobody's epoch changes by that: only its own answer tells."""
    failed = PartitionData(partition_index=0, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    answer = FetchResponse(session_id=9, responses=[FetchableTopicResponse(topic="t", partitions=[failed])])
    with ScriptedBroker({FETCH: lambda *_: answer}, versions=VERSIONS) as follower:

        def metadata(request: Any, version: int) -> MetadataResponse:
            answer = log.metadata(request, version)
            answer.brokers = [
                *answer.brokers,
                MetadataResponseBroker(node_id=2, host=follower.host, port=follower.port),
            ]
            return answer

        log.broker.handlers[METADATA] = follower.handlers[METADATA] = metadata
        log.preferred_replicas = [2]
        with reader(log, client_rack="r") as consumer:
            consumer.seek(T0, 0)
            assert [record.offset for record in read(consumer, 20)] == list(range(20))
        assert any(key == FETCH for key, _ in follower.seen)


def fetcher_at(offset: int) -> tuple[Fetcher, SubscriptionState]:
    subscriptions = SubscriptionState(ResetStrategy.NONE)
    subscriptions.assign([T0])
    subscriptions.seek(T0, FetchPosition(offset))
    clock = SimClock()
    network = SimpleNamespace(metadata=SimpleNamespace(snapshot=LED_BY_1))
    return Fetcher(cast(Any, network), subscriptions, SETTINGS, FetchMetrics("c", clock), clock), subscriptions


def take_out_of_range(fetcher: Fetcher, offset: int, node_id: int = 1) -> None:
    answer = FetchAnswer(T0, ErrorCode.OFFSET_OUT_OF_RANGE, -1, -1, -1, -1, [], b"")
    fetcher._take([answer], {T0: Wanted(NULL_UUID, offset, 1 << 20)}, node_id)


@pytest.mark.parametrize("is_preferred", [True, False])
def test_a_follower_cannot_tell_that_an_offset_is_out_of_range(is_preferred: bool) -> None:
    """Its log may begin later than the leader's. Also when the time to read from it ended while it was asked."""
    fetcher, subscriptions = fetcher_at(5)
    subscriptions.default_strategy = ResetStrategy.LATEST
    state = subscriptions.of(T0)
    state.preferred_replica = 2 if is_preferred else None
    take_out_of_range(fetcher, 5, node_id=2)
    assert (state.position, state.preferred_replica) == (FetchPosition(5), None), "the leader is asked"
    take_out_of_range(fetcher, 5, node_id=1)
    assert state.position is None


def test_a_follower_that_leads_by_the_time_its_answer_is_taken_could_not_tell_either() -> None:
    fetcher, subscriptions = fetcher_at(5)
    subscriptions.default_strategy = ResetStrategy.LATEST
    state = subscriptions.of(T0)
    state.preferred_replica = 1
    take_out_of_range(fetcher, 5, node_id=1)
    assert (state.position, state.preferred_replica) == (FetchPosition(5), None), "it is asked again, as the leader"
    take_out_of_range(fetcher, 5, node_id=1)
    assert state.position is None


def test_what_gives_no_record_is_passed_once_however_often_a_poll_fails() -> None:
    """Else a partition that fails in every poll would keep another from getting past an aborted transaction."""
    fetcher, subscriptions = fetcher_at(5)
    markers = marker(5, 7, commit=False) + marker(6, 8, commit=False)
    answer = FetchAnswer(T0, ErrorCode.NONE, 7, 7, 0, -1, [], markers)
    fetcher._take([answer], {T0: Wanted(NULL_UUID, 5, 1 << 20)}, 1)
    with pytest.raises(ZeroDivisionError), fetcher.handing_out():
        assert fetcher.collect() == {}
        raise ZeroDivisionError
    position = subscriptions.of(T0).position
    assert position is not None and position.offset == 7


def test_a_failure_that_several_answers_brought_is_told_once() -> None:
    fetcher, _ = fetcher_at(5)
    for _ in range(3):
        take_out_of_range(fetcher, 5)
    with pytest.raises(OffsetOutOfRange):
        fetcher.collect()
    assert fetcher.collect() == {}


@pytest.mark.parametrize("change", ["seek", "pause", "assign"])
def test_a_failure_of_where_nobody_reads_any_more_is_not_told(change: str) -> None:
    fetcher, subscriptions = fetcher_at(5)
    take_out_of_range(fetcher, 5)
    if change == "seek":
        subscriptions.seek(T0, FetchPosition(7))
    elif change == "pause":
        subscriptions.pause([T0])
    else:
        subscriptions.assign([])
    assert fetcher.collect() == {}
