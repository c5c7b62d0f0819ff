"""A broker goes in order, and no writer waits for it: who leads next does not, and it does not come back to follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from kafka_zk.broker.parts import Parts
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.alter_partition import AlterPartitionResponse

from .broker import Broker, answered, produce_request, records
from .test_following import FOLLOWER, Pair, end_of, eventually
from .test_leadership import LAG_MS, controller_answers, follower_fetches

LONG_MS = 10_000_000


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
    wires = len(pair.wires)
    parts.leave_cluster()
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
