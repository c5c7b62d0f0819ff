"""Followers that know a new leader before the leader does are woken in the order in which they came."""

from __future__ import annotations

import gevent

from kafka_zk.clock import SimClock
from kafka_zk.protocol.errors import UnknownLeaderEpoch
from kafka_zk.replication.serving.early_followers import HOLD_MS, EarlyFollowers
from kafka_zk.replication.serving.records_view import PartitionRead

FOLLOWERS = range(20)


class Waiting:
    """Fetches of many followers; `answered` has their numbers in the order of their answers."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.early_followers = EarlyFollowers(self.clock)
        self.has_heard = False
        self.answered: list[int] = []
        self._greenlets = [gevent.spawn(self._fetch, number) for number in FOLLOWERS]
        gevent.sleep(0)

    def _read_all(self) -> list[PartitionRead]:
        return [PartitionRead(None if self.has_heard else UnknownLeaderEpoch())]

    def _fetch(self, number: int) -> None:
        self.early_followers.read(self._read_all, self._read_all())
        self.answered.append(number)

    def join(self) -> None:
        with gevent.Timeout(30):
            gevent.joinall(self._greenlets)


def test_early_followers_are_woken_in_the_order_in_which_they_came() -> None:
    waiting = Waiting()
    waiting.has_heard = True
    waiting.early_followers.order_carried_out()
    waiting.join()
    assert waiting.answered == [*FOLLOWERS]


def test_an_order_for_another_partition_keeps_them_waiting_until_their_time_is_over() -> None:
    waiting = Waiting()
    waiting.early_followers.order_carried_out()
    gevent.sleep(0)
    assert not waiting.answered
    waiting.clock.advance(HOLD_MS)
    waiting.join()
    assert waiting.answered == [*FOLLOWERS]
    assert not waiting.early_followers._waiting
