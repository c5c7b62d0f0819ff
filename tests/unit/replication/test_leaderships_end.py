"""What one leadership began ends with it, although this broker leads again, or another topic of that name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_zk.protocol.errors import ErrorCode, NotLeaderOrFollower
from kafka_zk.replication.serving import append
from kafka_zk.replication.serving.append import ENTRIES_A_LOOK, AppendFailure

from .broker import Broker, fetch_request, records, topic_id
from .test_leadership import stop

OTHER = "other"
INDEXES = range(ENTRIES_A_LOOK)
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
