"""What one leadership began ends with it, although this broker leads again, or another topic of that name."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from errno import EIO
from typing import Any

import gevent
import pytest

from kafka_zk.log import unified_log
from kafka_zk.log.produce.checking import CHECK_POOLED_BYTES
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import ErrorCode, NotLeaderOrFollower
from kafka_zk.record import Codec, Record, build_batch
from kafka_zk.record.batch import Batch
from kafka_zk.record.record import times_of
from kafka_zk.replication.leading.isr_changes import RETRY_MS
from kafka_zk.replication.partition import Partition
from kafka_zk.replication.serving import append
from kafka_zk.replication.serving.append import ENTRIES_PER_LOOK, AppendFailure

from .broker import Broker, answered, fetch_request, records, topic_id
from .test_leadership import LAG_MS, stop
from .test_offsets import EARLIEST, MAX_TIMESTAMP, list_offsets

OTHER = "other"
PATIENCE_S = 60
INDEXES = range(ENTRIES_PER_LOOK)
"""So many that others have a turn before the last one is appended."""


def lead_again(broker: Broker) -> None:
    """It follows for a while, loses what it had to itself, and leads again."""
    broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)
    log = broker.partition().log
    assert log is not None
    log.truncate_to(0)
    broker.order(replicas=(1, 2), epoch=2, partition_epoch=2)


def make_anew(broker: Broker) -> None:
    stop(broker, epoch=-2, delete=True)
    broker.order(replicas=(1, 2), id_of_topic=topic_id("another"))


def commit(broker: Broker, count: int) -> None:
    """So many other records, which the follower has, too."""
    broker.produce(count)
    for _ in range(2):
        broker.call(fetch_request(count, replica=2), 12)


@pytest.fixture
def led(broker: Broker) -> Broker:
    broker.update_metadata({"t": {0: 1}, OTHER: dict.fromkeys(INDEXES, 1)})
    broker.lead(replicas=(1, 2))
    for index in INDEXES:
        broker.lead(OTHER, index)
    return broker


@pytest.mark.parametrize("meanwhile", [lead_again, make_anew])
def test_what_was_cut_is_not_acknowledged_for_what_stands_there_now(
    led: Broker, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Broker], None]
) -> None:
    def others() -> None:
        monkeypatch.undo()
        meanwhile(led)
        commit(led, 3)

    monkeypatch.setattr(append, "give_way", others)
    entries = [("t", 0, records()), *((OTHER, index, records()) for index in INDEXES)]
    results = led.manager.append_records(entries, required_acks=-1, timeout_ms=1_000)
    assert isinstance(results, list), "it is answered at once"
    assert led.partition().high_watermark == 3
    failed, *others_results = results
    assert isinstance(failed, AppendFailure) and failed.error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not any(isinstance(each, AppendFailure) for each in others_results)


@pytest.mark.parametrize("meanwhile", [lead_again, make_anew])
def test_a_deletion_of_records_does_not_wait_for_what_stands_there_now(
    led: Broker, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Broker], None]
) -> None:
    commit(led, 3)

    def others(_: object) -> None:
        monkeypatch.undo()
        meanwhile(led)

    monkeypatch.setattr(led.manager._deletes, "_wake", others)
    pending = led.manager.delete_records([("t", 0, 2)], timeout_ms=1_000)
    assert pending.is_done, "it is answered at once"
    assert isinstance(pending.value[0], NotLeaderOrFollower)


def test_who_goes_on_leading_in_the_next_epoch_acknowledges(led: Broker) -> None:
    pending = led.produce(3, acks=-1)
    led.order(replicas=(1, 2), epoch=1, partition_epoch=1)
    assert not pending.is_done
    for _ in range(2):
        led.call(fetch_request(3, replica=2), 12)
    assert pending.value.responses[0].partition_responses[0].error_code == ErrorCode.NONE


# --- while the order waits for an append -----------------------------------------------------------------------------


class Passing:
    """`order` waits for an append, which has its turn when the test says so."""

    def __init__(self, broker: Broker, order: Callable[[], object]) -> None:
        self.log = broker.partition().leader_log()
        self.log.turn.take()
        self.append = gevent.spawn(broker.produce, acks=-1)
        gevent.idle()
        self.order = gevent.spawn(order)
        gevent.idle()
        assert not self.append.ready() and not self.order.ready()

    def goes_on(self) -> Any:
        """How the append is answered."""
        self.log.turn.leave()
        gevent.joinall([self.append, self.order], raise_error=True)
        return self.append.value


def next_epoch(broker: Broker) -> int:
    return broker.order(replicas=(1, 2), epoch=1, partition_epoch=1)


def follow(broker: Broker) -> int:
    return broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)


def test_a_leader_that_goes_on_leading_refuses_nobody_meanwhile(led: Broker) -> None:
    waiting = led.produce(acks=-1)
    passing = Passing(led, lambda: next_epoch(led))
    later = gevent.spawn(led.produce, acks=-1)
    gevent.idle()
    assert not later.ready(), "it is appended in the next epoch"
    assert answered(led.call(fetch_request(0, replica=2, leader_epoch=0), 12)).error_code == ErrorCode.NONE
    assert list_offsets(led, EARLIEST).error_code == ErrorCode.NONE
    first = passing.goes_on()
    later.join()
    assert not any(each.is_done for each in (waiting, first, later.value)), "the follower has nothing yet"
    for _ in range(2):
        led.call(fetch_request(3, replica=2), 12)
    answers = [answered(each) for each in (waiting, first, later.value)]
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, 0), (0, 1), (0, 2)]
    log = led.partition().leader_log()
    assert (log.end_offset_for(0), log.end_offset_for(1)) == ((0, 2), (1, 3))


def test_who_came_while_the_leadership_ended_is_refused_behind_it(led: Broker) -> None:
    passing = Passing(led, lambda: follow(led))
    later = gevent.spawn(led.produce)
    gevent.idle()
    assert not later.ready()
    assert answered(passing.goes_on()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    later.join()
    assert answered(later.value).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def delete(broker: Broker) -> int:
    return stop(broker, epoch=-2, delete=True)


@pytest.mark.parametrize("order", [next_epoch, follow, delete])
def test_an_order_whose_directory_fails_while_it_waits_for_an_append_is_told_so(
    led: Broker, order: Callable[[Broker], int]
) -> None:
    """A controller that is told that the replica was deleted lets go of it, though its files are there."""
    passing = Passing(led, lambda: order(led))
    partition = led.partition()
    passing.log.log_dir.fail("a broken disk", OSError(EIO, "broken"))
    assert answered(passing.goes_on()).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert passing.order.value == ErrorCode.KAFKA_STORAGE_ERROR
    assert (partition.is_leader, partition.log) == (False, None)
    assert partition.topic_partition in led.manager.hosted.offline


def test_an_append_that_is_still_checked_ends_before_its_partition_is_deleted(led: Broker) -> None:
    """Its log was gone when its turn came: the client was told of a broken disk."""
    partition = led.partition()
    value = random.Random(1).randbytes(CHECK_POOLED_BYTES * 2)
    batch = memoryview(build_batch([Record(0, 1_000, b"k", value)], codec=Codec.GZIP))
    append = gevent.spawn(partition.append_as_leader, batch, 1)
    gevent.sleep(0)
    assert not append.ready()
    assert stop(led, epoch=-2, delete=True) == ErrorCode.NONE
    append.join()
    assert append.successful(), append.exception
    with pytest.raises(NotLeaderOrFollower):
        partition.append_as_leader(records(), 1)


# --- an order that could not be carried out --------------------------------------------------------------------------


def fail(*_: object) -> None:
    raise RuntimeError("a bug")


@pytest.mark.interpreted
def test_who_waits_hears_that_an_order_could_not_be_carried_out(led: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = led.produce(acks=-1)
    fetch = led.fetch(0, max_wait_ms=500)
    deletion = led.manager.delete_records([("t", 0, 0)], timeout_ms=1_000)
    partition = led.partition()
    monkeypatch.setattr(partition.leader_log(), "assign_epoch_start", fail)
    assert led.order(replicas=(1, 2), epoch=1, partition_epoch=1) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert answered(waiting).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answered(fetch).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert isinstance(deletion.value[0], NotLeaderOrFollower)
    with pytest.raises(NotLeaderOrFollower):
        partition.append_as_leader(records(), 1)


@pytest.mark.interpreted
def test_nobody_fetches_for_a_partition_that_could_not_follow(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead(replicas=(1, 2), leader=2)
    fetcher = broker.manager.fetchers._fetchers[2, 0]
    assert fetcher.followed == [broker.partition()]
    monkeypatch.setattr(Partition, "become_follower", fail)
    assert broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert fetcher.followed == []


# --- ISR changes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("meanwhile", [lead_again, make_anew])
def test_an_isr_change_is_not_sent_again_for_another_leadership(
    broker: Broker, meanwhile: Callable[[Broker], None]
) -> None:
    """A controller that knows names only would take it for one of the new topic, whose epochs begin again."""
    broker.lead(replicas=(1, 2))
    broker.clock.advance(LAG_MS + LAG_MS // 2)
    assert broker.controller.proposed == [[1]]
    broker.controller.asked[0][1].fail(NetworkError("lost"))
    meanwhile(broker)
    broker.clock.advance(RETRY_MS)
    assert broker.controller.proposed == [[1]], "broker 2 may be in sync with what is there now"
    broker.clock.advance(LAG_MS + LAG_MS // 2)
    assert broker.controller.proposed == [[1], [1]], "the new leadership proposes for itself"


# --- look-ups by time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timestamp", [1_000, MAX_TIMESTAMP])
@pytest.mark.parametrize("meanwhile", [lead_again, make_anew, follow])
def test_a_look_up_by_time_does_not_say_that_there_is_nothing_in_what_has_gone(
    led: Broker, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Broker], None], timestamp: int
) -> None:
    led.produce(3, codec=Codec.GZIP)
    for _ in range(2):
        led.call(fetch_request(3, replica=2), 12)
    begun, may_go_on = threading.Event(), threading.Event()

    def slowly(batch: Batch) -> list[tuple[int, int]]:
        begun.set()
        assert may_go_on.wait(PATIENCE_S)
        return times_of(batch)

    monkeypatch.setattr(unified_log, "times_of", slowly)
    look_up = gevent.spawn(list_offsets, led, timestamp)
    with gevent.Timeout(PATIENCE_S):
        while not begun.is_set():
            gevent.sleep(0.001)
    meanwhile(led)
    may_go_on.set()
    look_up.join()
    assert (look_up.value.error_code, look_up.value.offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
