"""Fetches that wait for min.bytes: what counts, what ends the wait, and what it costs those who produce."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.replication.serving.reading import read, size_to_read
from kafka_zk.replication.serving.records_view import FetchParams, PartitionFetch, ReadUpTo

from .broker import Broker, answered, offsets_in

WAIT_MS = 5_000
A_BATCH = 79
"""Bytes of a batch of one record as the broker's `produce` makes it."""


def ask(wanted: list[tuple[int, int]], *, min_bytes: int = 1, session: tuple[int, int] = (0, -1)) -> FetchRequest:
    """A request that waits. `wanted`: partition and offset."""
    partitions = [FetchPartition(partition=index, fetch_offset=at, partition_max_bytes=1 << 20) for index, at in wanted]
    return FetchRequest(
        max_wait_ms=WAIT_MS,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic="t", partitions=partitions)],
    )


@pytest.fixture
def led(broker: Broker) -> Broker:
    """Leads t-0 to t-29, all of them empty."""
    broker.update_metadata({"t": dict.fromkeys(range(30), 1)})
    for index in range(30):
        broker.lead(index=index)
    return broker


@pytest.mark.parametrize("session", [(0, -1), (0, 0)], ids=["no session", "a session"])
def test_a_partition_named_again_is_read_once_as_named_last_where_it_was_named_first(
    led: Broker, session: tuple[int, int]
) -> None:
    for _ in range(3):
        led.produce(index=1)
        led.produce(index=2)
    answer = led.call(ask([(1, 0), (2, 0), (1, 2)], session=session), 11)
    (topic,) = answer.responses
    assert [(each.partition_index, offsets_in(each)) for each in topic.partitions] == [(1, [2]), (2, [0, 1, 2])]


def test_a_partition_named_again_in_a_step_of_a_session_is_wanted_as_named_last(led: Broker) -> None:
    for _ in range(3):
        led.produce(index=1)
    session = led.call(ask([(1, 3), (2, 0)], session=(0, 0), min_bytes=0), 11).session_id
    answer = led.call(ask([(1, 0), (1, 2)], session=(session, 1)), 11)
    (topic,) = answer.responses
    assert [(each.partition_index, offsets_in(each)) for each in topic.partitions] == [(1, [2])]


def calls_of_a_produce(broker: Broker) -> int:
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1

    for _ in range(2):
        broker.produce(index=7)
    sys.setprofile(note)
    try:
        broker.produce(index=7)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.interpreted
def test_a_produce_pays_for_its_own_partition_only_however_many_others_are_waited_for(
    led: Broker, tmp_path: Path
) -> None:
    one = led.call(ask([(7, 0)], min_bytes=1 << 20), 11)
    with_one = calls_of_a_produce(led)
    one.leave(True)
    led.call(ask([(index, 0) for index in range(30) for _ in range(100)], min_bytes=1 << 20), 11)
    with_all = calls_of_a_produce(led)
    assert with_all <= with_one + 4, f"{with_all} events, and {with_one} where one partition is waited for"


def test_bytes_of_several_partitions_count_together(led: Broker) -> None:
    pending = led.call(ask([(1, 0), (2, 0), (3, 0)], min_bytes=3 * A_BATCH), 11)
    for index in (1, 2):
        led.produce(index=index)
        assert not pending.is_done
    led.produce(index=29)
    assert not pending.is_done, "nobody asked for that one"
    led.produce(index=2)
    assert pending.is_done
    (topic,) = pending.value.responses
    assert [offsets_in(each) for each in topic.partitions] == [[0], [0, 1], []]


def test_what_is_committed_counts(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    for _ in range(4):
        broker.produce()
    pending = broker.fetch(0, max_wait_ms=WAIT_MS, min_bytes=3 * A_BATCH)
    for offset in (1, 2):
        broker.fetch(offset, replica=2)
        assert isinstance(pending, Pending) and not pending.is_done
    broker.fetch(3, replica=2)
    assert pending.is_done
    assert offsets_in(answered(pending)) == [0, 1, 2]


def test_a_wait_ends_with_its_segment(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"segment.bytes": "200"})
    broker.lead()
    broker.produce()
    pending = broker.fetch(0, max_wait_ms=WAIT_MS, min_bytes=10_000)
    broker.produce()
    assert not pending.is_done
    broker.produce()
    assert offsets_in(answered(pending)) == [0, 1], "the third is in another segment"
    broker.close()


def test_a_client_that_has_gone_waits_no_longer(led: Broker) -> None:
    fetches = led.manager.delayed_fetches
    pending = led.call(ask([(index, 0) for index in range(30)]), 11)
    assert fetches.watch_count == 30
    pending.leave(True)
    assert fetches.watch_count == 0
    led.produce(index=3)
    led.clock.advance(WAIT_MS + 1)
    assert not pending.is_done


@pytest.mark.parametrize("version", [9, 11])
def test_a_client_that_sends_no_more_gets_what_there_is(led: Broker, version: int) -> None:
    led.produce(index=1)
    pending = led.call(ask([(1, 0)], min_bytes=1000), version)
    pending.leave(False)
    assert offsets_in(answered(pending)) == [0]
    assert led.manager.delayed_fetches.watch_count == 0


@pytest.mark.parametrize("gone", [True, False])
def test_a_produce_ends_with_its_client_and_not_with_what_that_sends(broker: Broker, gone: bool) -> None:
    broker.lead(replicas=(1, 2))
    pending = broker.produce(acks=-1)
    pending.leave(gone)
    assert broker.manager.delayed_produces.watch_count == (0 if gone else 1)
    broker.fetch(1, replica=2)
    assert pending.is_done is not gone


@pytest.fixture
def rolling(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "rolling", overrides={"segment.bytes": "1000"})
    yield broker
    broker.close()


def test_sizes_counted_from_offsets_are_those_of_the_reads(rolling: Broker, chance: random.Random) -> None:
    partition = rolling.lead(replicas=(1, 2))
    log = partition.log
    assert log is not None
    for _ in range(60):
        rolling.produce(chance.randint(1, 3), size_bytes=chance.randint(1, 50))
        if chance.random() < 0.5:
            rolling.fetch(chance.randint(log.high_watermark, log.log_end_offset), replica=2)
        up_to: Any = chance.choice([ReadUpTo.HIGH_WATERMARK, ReadUpTo.LOG_END])
        params = FetchParams(-1, 0, 1, 1 << 20, up_to, True)
        offset = chance.randint(log.active.base_offset, log.log_end_offset)
        wanted = PartitionFetch("t", NULL_UUID, 0, offset, 1 << 20)
        found = read(partition, wanted, params, max_bytes=1 << 20, min_one=False)
        assert size_to_read(log, wanted, up_to) == found.size_bytes
        found.release()
