"""Fetchers of a follower: where they fetch from, and how they end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.fetch import FetchResponse
from kafka_zk.replication.following.fetcher import Fetcher
from kafka_zk.replication.following.fetchers import fetcher_id
from kafka_zk.replication.following.follower_session import SessionRequest
from kafka_zk.replication.partition import Partition

from .test_following import LEADER, Pair, end_of, eventually


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.close()


def two_fetchers(pair: Pair) -> list[Partition]:
    """Two partitions of the follower, each with a fetcher of its own."""
    pair.follower.manager.fetchers._size = 2
    other = next(name for name in "uvwxyz" if fetcher_id(name, 0, 2) != fetcher_id("t", 0, 2))
    pair.order()
    pair.follower.update_metadata({other: {0: LEADER}}, alive=(1, 2))
    pair.follower.order(other, replicas=(1, 2), leader=LEADER)
    return [pair.followed, pair.follower.partition(other)]


def test_a_leader_at_another_address_is_followed_there_with_all_its_partitions(pair: Pair) -> None:
    pair.order()
    for broker in (pair.leader, pair.follower):
        broker.update_metadata({"u": {0: LEADER}}, alive=(1, 2))
        broker.order("u", replicas=(1, 2), leader=LEADER)
    eventually(pair, lambda: pair.ports == [9001])
    pair.follower.update_metadata({}, alive=(1, 2), first_port=9100)
    eventually(pair, lambda: pair.ports == [9001, 9101])
    assert pair.wires[0].is_cut
    for topic in ("t", "u"):
        pair.leader.produce(2, topic=topic)
        eventually(pair, lambda name=topic: end_of(pair.follower.partition(name)) == 2)  # type: ignore[misc]


def test_a_leader_that_comes_back_at_another_address_is_followed_there(pair: Pair) -> None:
    pair.order()
    eventually(pair, lambda: pair.ports == [9001])
    pair.follower.update_metadata({}, alive=(2,))
    pair.follower.update_metadata({}, alive=(1, 2), first_port=9100)
    pair.leader.produce(2)
    eventually(pair, lambda: end_of(pair.followed) == 2)
    assert pair.ports == [9001, 9101]


def test_a_stop_waits_for_no_back_off_that_begins_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pair, "FOLLOWER_BACK_OFF_MS", 1_000_000)
    pair = Pair(tmp_path)
    pair.order()
    fetcher = pair.follower.manager.fetchers._fetchers[LEADER, 0]
    stopping: list[gevent.Greenlet[..., None]] = []

    def refused_while_it_is_stopped(_: SessionRequest) -> FetchResponse:
        stopping.append(gevent.spawn(fetcher.stop))
        gevent.sleep(0)
        return FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)

    monkeypatch.setattr(fetcher._endpoint, "fetch", refused_while_it_is_stopped)
    eventually(pair, lambda: bool(stopping))
    with gevent.Timeout(30):
        stopping[0].join()
    pair.close()


def test_no_fetcher_begins_behind_the_stop_of_all(pair: Pair) -> None:
    """The end of a move between log directories has the partition followed again."""
    pair.order()
    eventually(pair, lambda: pair.ports == [9001])
    fetchers = pair.follower.manager.fetchers
    fetchers.shutdown()
    fetchers.follow([pair.followed])
    assert not fetchers._fetchers


def test_no_fetcher_begins_behind_the_stop_of_all_for_the_next_of_many(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leader has another address: its partitions are followed there. One waits for its fetcher, and all stop."""
    followed = two_fetchers(pair)
    fetchers = pair.follower.manager.fetchers
    begun: list[Partition] = []

    def stopped_meanwhile(_: Fetcher, partition: Partition) -> None:
        begun.append(partition)
        fetchers.shutdown()

    fetchers.forget(partition.topic_partition for partition in followed)
    fetchers.stop_idle()
    monkeypatch.setattr(Fetcher, "follow", stopped_meanwhile)
    fetchers.follow(followed)
    assert begun == followed[:1]


def test_idle_fetchers_that_were_ended_with_all_others_are_not_ended_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A StopReplica leaves fetchers idle; the broker stops while the first of them is ended."""
    followed = two_fetchers(pair)
    fetchers = pair.follower.manager.fetchers
    first, second = fetchers._fetchers.values()
    stop = first.stop

    def stopped_among_all() -> None:
        stop()
        fetchers.shutdown()

    monkeypatch.setattr(first, "stop", stopped_among_all)
    fetchers.forget(partition.topic_partition for partition in followed)
    fetchers.stop_idle()
    assert second._stopped and not fetchers._fetchers
