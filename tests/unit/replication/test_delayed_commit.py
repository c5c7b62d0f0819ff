"""Waits until what a leader has is committed: woken by what moves the high watermark, and ended with the leadership."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

from .broker import Broker, fetch_request

T = TopicPartition("t", 0)
TIMEOUT_MS = 10_000


def waits(broker: Broker, offset: int) -> Pending[ErrorCode]:
    return broker.manager.await_committed(T, offset, timeout_ms=TIMEOUT_MS)


def follow(broker: Broker, replica: int, offset: int) -> None:
    """The follower has all below `offset`."""
    broker.call(fetch_request(offset, replica=replica), 12)


def test_the_only_replica_waits_for_nobody(broker: Broker) -> None:
    broker.lead()
    broker.produce(3)
    assert waits(broker, 3).value is ErrorCode.NONE
    assert not broker.manager.delayed_commits.waiting_count


def test_it_waits_for_each_follower_in_sync(broker: Broker) -> None:
    broker.lead(replicas=(1, 2, 3))
    broker.produce(3)
    answer = waits(broker, 3)
    for replica, offset in ((2, 3), (3, 2)):
        follow(broker, replica, offset)
        assert not answer.is_done
    follow(broker, 3, 3)
    assert answer.value is ErrorCode.NONE


def test_what_comes_behind_it_is_not_waited_for(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    answer = waits(broker, 3)
    broker.produce(3)
    follow(broker, 2, 3)
    assert answer.value is ErrorCode.NONE


def test_under_min_insync_replicas_nothing_counts_as_committed(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"min.insync.replicas": "2"})
    try:
        broker.lead(replicas=(1, 2, 3), isr=(1,))
        broker.produce(3)
        answer = waits(broker, 3)
        assert not answer.is_done
        broker.order(replicas=(1, 2, 3), isr=(1, 2), epoch=1, partition_epoch=1)
        follow(broker, 2, 3)
        assert answer.value is ErrorCode.NONE
    finally:
        broker.close()


def test_a_replica_that_leaves_the_isr_is_not_waited_for(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    answer = waits(broker, 3)
    broker.order(replicas=(1, 2), isr=(1,), epoch=1, partition_epoch=1)
    assert answer.value is ErrorCode.NONE


def resigns(broker: Broker) -> None:
    broker.order(replicas=(1, 2), leader=2, epoch=1, partition_epoch=1)


def leads_again(broker: Broker) -> None:
    resigns(broker)
    broker.order(replicas=(1, 2), isr=(1,), epoch=2, partition_epoch=2)


def is_deleted(broker: Broker) -> None:
    broker.stop_replica()


@pytest.mark.parametrize("meanwhile", [resigns, leads_again, is_deleted])
def test_it_ends_with_the_leadership(broker: Broker, meanwhile: Callable[[Broker], None]) -> None:
    """Also where this broker leads again, and all is committed: the log may have been cut in between."""
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    answer = waits(broker, 3)
    meanwhile(broker)
    assert answer.value is not ErrorCode.NONE


@pytest.mark.parametrize("partition", [T, TopicPartition("elsewhere", 0)])
def test_who_does_not_lead_waits_for_nothing(broker: Broker, partition: TopicPartition) -> None:
    broker.lead(replicas=(1, 2))
    resigns(broker)
    answer = broker.manager.await_committed(partition, 0, timeout_ms=TIMEOUT_MS)
    assert answer.value is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_wait_has_an_end(broker: Broker) -> None:
    broker.lead(replicas=(1, 2))
    broker.produce(3)
    answer = waits(broker, 3)
    broker.clock.advance(TIMEOUT_MS)
    assert answer.value is ErrorCode.REQUEST_TIMED_OUT
    assert not broker.manager.delayed_commits.waiting_count


def test_whether_another_broker_may_lead_by_now(broker: Broker) -> None:
    assert broker.manager.may_be_replaced(T), "it leads by now: this one has never heard of the partition"
    broker.lead()
    assert not broker.manager.may_be_replaced(T), "there is no other replica"
    broker.order(replicas=(1, 2), epoch=1, partition_epoch=1)
    assert broker.manager.may_be_replaced(T)
    resigns(broker)
    assert broker.manager.may_be_replaced(T)
