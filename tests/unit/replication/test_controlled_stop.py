"""A broker goes in order, and no writer waits for it: who leads next does not, and it does not come back to follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from kafka_zk.broker.parts import HAND_OVER_S, Parts
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.alter_partition import AlterPartitionResponse
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.serving import early_followers

from .broker import Broker, answered, fetch_request, produce_request, records
from .test_following import FOLLOWER, LEADER, Pair, end_of, eventually
from .test_leadership import LAG_MS, controller_answers, follower_fetches

LONG_MS = 10_000_000
T = TopicPartition("t", 0)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.close()


def test_a_broker_that_goes_does_not_follow_who_leads_after_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.order()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 1)
    # The controller answers while the request is under way: it moves the leaders first.
    monkeypatch.setattr(
        "kafka_zk.broker.parts.leave_cluster", lambda *_, **__: pair.order(leader=FOLLOWER, epoch=1, isr=(2,))
    )
    parts = Parts(pair.leader.config, pair.leader.clock, give_up=lambda: None)
    parts._replica_manager = pair.leader.manager
    surroundings: Any = SimpleNamespace(broker_epoch=77)
    parts._controller_channel = parts._membership = surroundings
    waited: list[float] = []
    surroundings.wait_until_answered = waited.append
    parts._controller = surroundings
    wires = len(pair.wires)
    parts.leave_cluster()
    assert waited == [HAND_OVER_S], "a controller that goes hands over first"
    assert not pair.led.is_leader
    pending = pair.follower.call(produce_request(records(), acks=-1, timeout_ms=LONG_MS), 9)
    gevent.sleep(0.01)
    assert len(pair.wires) == wires, "nobody fetches from the new leader"
    assert answered(pending).error_code == ErrorCode.NONE


def test_what_waited_for_a_follower_that_the_controller_refuses_is_committed_at_once(broker: Broker) -> None:
    partition = broker.lead(replicas=(1, 2), isr=(1,))
    follower_fetches(broker, 0)
    pending = broker.call(produce_request(records(), acks=-1, timeout_ms=LONG_MS), 9)
    assert not pending.is_done
    controller_answers(broker, [], partition_epoch=0, error=ErrorCode.INELIGIBLE_REPLICA)
    assert partition.high_watermark == 1
    assert pending.is_done
    # Nor does the next one wait, though its broker still counts as alive.
    assert answered(broker.produce(acks=-1)).error_code == ErrorCode.NONE


def waits_for_one_that_may_join(broker: Broker) -> object:
    """A produce that waits for a caught-up follower out of the ISR, which fetched a second after the timers began."""
    broker.clock.advance(1_000)
    broker.lead(replicas=(1, 2, 3), isr=(1,))
    follower_fetches(broker, 0, replica=3)
    controller_answers(broker, [], partition_epoch=0, error=ErrorCode.OPERATION_NOT_ATTEMPTED)
    pending = broker.call(produce_request(records(), acks=-1, timeout_ms=LONG_MS), 9)
    assert not pending.is_done
    return pending


def test_what_waited_for_a_broker_is_committed_when_the_broker_is_lost(broker: Broker) -> None:
    pending = waits_for_one_that_may_join(broker)
    broker.update_metadata({}, alive=(1, 2))
    assert answered(pending).error_code == ErrorCode.NONE


def test_an_order_that_is_sent_again_commits_what_no_longer_waits(broker: Broker) -> None:
    pending = waits_for_one_that_may_join(broker)
    broker.clock.advance(LAG_MS + 1)
    assert broker.order(replicas=(1, 2, 3), isr=(1,)) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert answered(pending).error_code == ErrorCode.NONE


def test_a_question_that_failed_commits_what_no_longer_waits(broker: Broker) -> None:
    pending = waits_for_one_that_may_join(broker)
    follower_fetches(broker, 1, replica=2)
    assert broker.controller.proposed == [[1, 3], [1, 2]]
    broker.clock.advance(LAG_MS + 1)
    broker.controller.asked[-1][1].complete(AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    assert answered(pending).error_code == ErrorCode.NONE


def test_time_alone_ends_the_wait_for_one_that_fetches_no_more(broker: Broker) -> None:
    pending = waits_for_one_that_may_join(broker)
    broker.clock.advance(LAG_MS + LAG_MS // 2)
    assert answered(pending).error_code == ErrorCode.NONE


def test_a_follower_that_knows_the_next_leader_first_is_not_sent_away(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 2}})
    assert broker.order(replicas=(1, 2, 3), leader=2) == ErrorCode.NONE
    early = fetch_request(0, replica=3, leader_epoch=1, max_wait_ms=500, by_id=True)
    asked = gevent.spawn(broker.call, early, 17)
    gevent.sleep(0)
    assert not asked.dead
    assert broker.order(replicas=(1, 2, 3), isr=(1, 3), epoch=1, partition_epoch=1) == ErrorCode.NONE
    pending = asked.get(timeout=60)
    assert not pending.is_done, "it is in the right place, and waits for records"
    produced = broker.call(produce_request(records(), acks=-1, timeout_ms=LONG_MS), 9)
    assert answered(pending).error_code == ErrorCode.NONE
    follower_fetches(broker, 1, replica=3)
    assert answered(produced).error_code == ErrorCode.NONE


def test_a_follower_that_is_ahead_for_long_is_told_so(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_followers, "HOLD_MS", 0)
    broker.lead(replicas=(1, 2))
    early = fetch_request(0, replica=2, leader_epoch=1, max_wait_ms=500, by_id=True)
    assert answered(broker.call(early, 17)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_follower_soon_asks_a_leader_again_that_has_not_heard_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early_followers, "HOLD_MS", 0)
    monkeypatch.setattr(Pair, "FOLLOWER_BACK_OFF_MS", 1_000_000)
    pair = Pair(tmp_path)
    pair.order()
    pair.follower.order(replicas=(1, 2), leader=LEADER, epoch=1, partition_epoch=1)
    fetcher = pair.follower.manager.fetchers._fetchers[LEADER, 0]
    eventually(pair, lambda: fetcher._followed[T].state.delayed_until_ms is not None)
    pair.leader.order(replicas=(1, 2), leader=LEADER, epoch=1, partition_epoch=1)
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 1)
    pair.close()
