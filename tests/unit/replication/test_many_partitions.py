"""What looks at every partition now and then lets others in meanwhile, however many there are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from kafka_zk.clock import SimClock
from kafka_zk.log.cleaner.states import LOGS_PER_ROUND, NAMES_PER_ROUND, CleanerStates
from kafka_zk.log.directory import data_dir
from kafka_zk.replication import control_requests, manager
from kafka_zk.replication.control_requests import ReplicaStop
from kafka_zk.replication.leadership import EPOCH_DURING_DELETE
from tests.unit.replication.broker import Broker


class Others:
    """Everybody else on the loop: how many turns they had."""

    def __init__(self) -> None:
        self.turns = 0
        self._greenlet = gevent.spawn(self._go_round)

    def _go_round(self) -> None:
        while True:
            self.turns += 1
            gevent.sleep(0)

    def during(self, work: Callable[[], object]) -> int:
        before = self.turns
        work()
        self._greenlet.kill()
        return self.turns - before


class Log:
    """What choosing asks of one."""

    is_closed = False

    def __init__(self, compact: bool) -> None:
        self.config = SimpleNamespace(compact=compact)


def logs(count: int, *, compact: bool) -> dict[Any, Any]:
    return {number: Log(compact) for number in range(count)}


def test_looking_for_lagging_members_of_isrs_lets_others_in(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(6):
        broker.lead(index=index)
    others, seen = Others(), []
    monkeypatch.setattr(manager, "PARTITIONS_PER_ROUND", 2)
    monkeypatch.setattr(manager, "shrink_if_due", lambda partition: seen.append(others.turns))
    others.during(lambda: broker.clock.advance(broker.config.replica_lag_time_max_ms // 2))
    assert len(seen) == 6
    assert seen[0] < seen[2] < seen[4]


def test_the_stop_of_many_replicas_lets_others_in(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deletion of thousands of topics is one request."""
    for index in range(6):
        broker.lead(index=index)
    monkeypatch.setattr(control_requests, "PARTITIONS_PER_TURN", 2)
    asked = [ReplicaStop(partition.topic_partition, EPOCH_DURING_DELETE, True) for partition in broker.manager.hosted]
    stop = partial(broker.manager.stop_replicas, asked, controller_epoch=1, controller_id=0)
    assert Others().during(stop) >= 3
    assert not len(broker.manager.hosted)


def test_choosing_what_to_clean_lets_others_in_though_nothing_is_compacted() -> None:
    states = CleanerStates([], logs(3 * NAMES_PER_ROUND, compact=False), SimClock())
    assert Others().during(states.take_filthiest) >= 2
    assert Others().during(states.take_deletable) >= 2


def test_two_cleaners_that_choose_at_a_time_take_no_log_twice() -> None:
    states = CleanerStates([], logs(3 * NAMES_PER_ROUND + LOGS_PER_ROUND, compact=True), SimClock())
    cleaners = [gevent.spawn(states.take_deletable) for _ in range(2)]
    gevent.joinall(cleaners)
    taken = [id(log) for cleaner in cleaners for log in cleaner.get()]
    assert len(taken) == len(set(taken)) > 0


def test_the_text_of_a_checkpoint_is_made_off_the_loop(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead()
    made_in = []

    def encode(offsets: object) -> bytes:
        made_in.append(threading.get_ident())
        return b"0\n0\n"

    monkeypatch.setattr(data_dir, "encode_offsets", encode)
    broker.log_manager.write_high_watermarks()
    assert made_in and threading.get_ident() not in made_in
