"""Who waits for the throttle of replicas: at the leader its followers' fetches, at the follower its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest

from kafka_zk.config.topic import LogConfig
from kafka_zk.network.parts import part_size
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.fetch import FETCH_RESPONSE, FetchResponse
from kafka_zk.replication.throttle import RATE_KEYS, UNLIMITED, Direction, ReplicationQuota

from .broker import Broker, answered, offsets_in
from .test_following import FOLLOWER, LEADER, Pair, end_of, eventually

LEADERS = {"leader.replication.throttled.replicas": f"0:{LEADER}"}
FOLLOWERS = {"follower.replication.throttled.replicas": f"0:{FOLLOWER}"}
WAIT_MS = 5_000


def allow(broker: Broker, direction: Direction, bytes_per_second: int) -> None:
    """The dynamic config of this broker."""
    now = broker.config.with_dynamic(default={}, broker={RATE_KEYS[direction]: str(bytes_per_second)})
    broker.config.become(now)
    broker.manager.broker_config_changed()


def override(broker: Broker, overrides: dict[str, str]) -> None:
    """The configs of the topic, changed while it is served."""
    broker.log_manager.update_topic_config("t", LogConfig.from_overrides(broker.config, overrides))


@pytest.fixture
def lead_with(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """A broker that leads t-0, whose follower 2 is not in sync, and that may send a byte a second."""
    made: list[Broker] = []

    def lead(overrides: dict[str, str] | None = None, *, isr: tuple[int, ...] = (1,), batches: int = 1) -> Broker:
        broker = Broker(tmp_path / str(len(made)), overrides=LEADERS if overrides is None else overrides)
        made.append(broker)
        broker.lead(replicas=(1, 2), isr=isr)
        for _ in range(batches):
            broker.produce()
        allow(broker, Direction.LEADER, 1)
        return broker

    yield lead
    for broker in made:
        broker.close()


def exceed(quota: ReplicationQuota) -> None:
    quota.record(1_000)
    assert quota.is_exceeded()


def test_a_follower_that_lags_gets_nothing_while_the_throttle_is_exceeded(lead_with: Callable[..., Broker]) -> None:
    broker = lead_with()
    assert offsets_in(answered(broker.fetch(0, replica=2))) == [0], "one fetch may exceed it"
    assert offsets_in(answered(broker.fetch(0, replica=2))) == []
    broker.clock.advance(11_000)
    assert offsets_in(answered(broker.fetch(0, replica=2))) == [0], "what was sent is forgotten"


@pytest.mark.parametrize(
    ("overrides", "isr", "replica"),
    [
        (LEADERS, (1, 2), 2),
        (LEADERS, (1,), -1),
        ({}, (1,), 2),
        ({"leader.replication.throttled.replicas": "0:2,1:1"}, (1,), 2),
        (FOLLOWERS, (1,), 2),
    ],
    ids=["in sync", "a consumer", "not throttled", "other replicas throttled", "throttled as a follower"],
)
def test_who_does_not_wait_for_the_throttle(
    lead_with: Callable[..., Broker], overrides: dict[str, str], isr: tuple[int, ...], replica: int
) -> None:
    broker = lead_with(overrides, isr=isr)
    exceed(broker.manager.leader_throttle)
    if replica < 0:
        broker.partition().log.update_high_watermark(1)  # type: ignore[union-attr]
    assert offsets_in(answered(broker.fetch(0, replica=replica))) == [0]


def test_what_is_held_back_counts_as_progress_all_the_same(lead_with: Callable[..., Broker]) -> None:
    broker = lead_with(batches=3)
    exceed(broker.manager.leader_throttle)
    assert offsets_in(answered(broker.fetch(2, replica=2))) == []
    assert broker.partition().followers[2].log_end_offset == 2


def test_a_fetch_that_is_held_back_waits_and_is_asked_again_at_its_end(lead_with: Callable[..., Broker]) -> None:
    broker = lead_with()
    exceed(broker.manager.leader_throttle)
    pending = broker.fetch(0, replica=2, max_wait_ms=WAIT_MS)
    assert isinstance(pending, Pending)
    broker.produce()
    assert not pending.is_done, "more records do not end its wait"
    allow(broker, Direction.LEADER, 10_000)
    broker.clock.advance(WAIT_MS + 1)
    assert offsets_in(answered(pending)) == [0, 1]


def test_a_fetch_that_is_held_back_ends_with_records_once_it_may(lead_with: Callable[..., Broker]) -> None:
    broker = lead_with()
    exceed(broker.manager.leader_throttle)
    pending = broker.fetch(0, replica=2, max_wait_ms=WAIT_MS)
    allow(broker, Direction.LEADER, 10_000)
    broker.produce()
    assert offsets_in(answered(pending)) == [0, 1]


def test_a_rolled_segment_does_not_end_the_wait_of_a_fetch_that_is_held_back(
    lead_with: Callable[..., Broker],
) -> None:
    broker = lead_with({**LEADERS, "segment.bytes": "100"}, batches=3)
    exceed(broker.manager.leader_throttle)
    pending = broker.fetch(0, replica=2, max_wait_ms=WAIT_MS)
    assert isinstance(pending, Pending)
    broker.produce()
    assert not pending.is_done
    allow(broker, Direction.LEADER, UNLIMITED)
    broker.produce()
    assert offsets_in(answered(pending)) == [0]


def test_a_fetch_that_is_held_back_leaves_its_bytes_to_other_partitions(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides=LEADERS)
    broker.update_metadata({"t": {0: 1, 1: 1}})
    for index in (0, 1):
        broker.lead(index=index, replicas=(1, 2), isr=(1,))
        broker.produce(index=index)
    allow(broker, Direction.LEADER, 1)
    exceed(broker.manager.leader_throttle)
    response = broker.call(_of_both(), 12)
    held, free = response.responses[0].partitions
    assert offsets_in(held) == []
    assert offsets_in(free) == [0], "the first batch is whole though it is larger than the limit"
    broker.close()


def _of_both() -> Any:
    from .broker import fetch_request

    request = fetch_request(0, replica=2, max_bytes=1)
    request.topics[0].partitions += fetch_request(0, index=1, replica=2).topics[0].partitions
    return request


def test_what_is_sent_of_throttled_partitions_counts_as_large_as_the_answer(lead_with: Callable[..., Broker]) -> None:
    broker = lead_with()
    response = broker.fetch(0, replica=2)
    size_bytes = 4 + sum(part_size(part) for part in FETCH_RESPONSE.encode_parts(response, 12))
    assert offsets_in(answered(response)) == [0]
    assert broker.manager.leader_throttle.byte_rate() == size_bytes


def test_without_a_throttled_partition_the_frame_of_an_answer_counts_as_with_kafka(
    lead_with: Callable[..., Broker],
) -> None:
    broker = lead_with({})
    frame = 4 + sum(part_size(part) for part in FETCH_RESPONSE.encode_parts(FetchResponse(), 12))
    assert offsets_in(answered(broker.fetch(0, replica=2))) == [0]
    assert broker.manager.leader_throttle.byte_rate() == frame
    broker.partition().log.update_high_watermark(1)  # type: ignore[union-attr]
    assert offsets_in(answered(broker.fetch(0))) == [0]
    assert broker.manager.leader_throttle.byte_rate() == frame, "consumers count for nothing"


# --- the follower --------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    made.close()


@pytest.fixture
def held_up(tmp_path: Path) -> Iterator[Pair]:
    """t-0 is throttled at its follower, and the throttle was exceeded before anything was fetched."""
    made = Pair(tmp_path, overrides=FOLLOWERS)
    allow(made.follower, Direction.FOLLOWER, 1)
    exceed(made.follower.manager.follower_throttle)
    made.order(isr=(1,))
    made.leader.produce(3)
    yield made
    made.close()


def rounds(pair: Pair, count: int = 20) -> None:
    """Let the greenlets run for a while, of which a follower that does not wait would need a part."""
    for _ in range(count):
        gevent.sleep(0.001)
        pair.leader.clock.advance(10)
        pair.follower.clock.advance(10)


def test_a_follower_that_lags_leaves_a_throttled_partition_out_and_goes_on_once_it_may(held_up: Pair) -> None:
    rounds(held_up)
    assert end_of(held_up.followed) == 0
    allow(held_up.follower, Direction.FOLLOWER, UNLIMITED)
    eventually(held_up, lambda: end_of(held_up.followed) == 3)


@pytest.mark.parametrize(
    "overrides",
    [{}, LEADERS, {"follower.replication.throttled.replicas": f"0:{LEADER}"}],
    ids=["none", "leaders", "others"],
)
def test_a_follower_goes_on_once_its_replica_is_not_throttled_any_more(
    held_up: Pair, overrides: dict[str, str]
) -> None:
    rounds(held_up)
    assert end_of(held_up.followed) == 0
    override(held_up.follower, overrides)
    eventually(held_up, lambda: end_of(held_up.followed) == 3)


def test_a_partition_at_the_leaders_end_is_fetched_whatever_the_throttle_says(tmp_path: Path) -> None:
    # So long a memory forgets nothing while the test lasts.
    pair = Pair(tmp_path, {"replication.quota.window.num": "1000000"})
    pair.order()
    pair.leader.produce(1)
    override(pair.follower, FOLLOWERS)
    fetchers = pair.follower.manager.fetchers
    eventually(pair, lambda: end_of(pair.followed) == 1 and fetchers._fetchers[LEADER, 0].lags()[0][1] == 0)
    allow(pair.follower, Direction.FOLLOWER, 1)
    exceed(pair.follower.manager.follower_throttle)
    # The first may be the answer to a fetch that was under way.
    for end in (2, 3):
        pair.leader.produce(1)
        eventually(pair, lambda end=end: end_of(pair.followed) == end)  # type: ignore[misc]
    pair.close()


def test_a_follower_counts_what_it_appends_of_throttled_partitions_in_sync_or_not(pair: Pair) -> None:
    pair.order()
    override(pair.follower, FOLLOWERS)
    pair.leader.produce(3)
    eventually(pair, lambda: end_of(pair.followed) == 3)
    log = pair.followed.log
    assert log is not None
    assert pair.follower.manager.follower_throttle.byte_rate() == log.size_bytes


def test_a_follower_counts_nothing_of_other_partitions(pair: Pair) -> None:
    pair.order()
    pair.leader.produce(3)
    eventually(pair, lambda: end_of(pair.followed) == 3)
    assert pair.follower.manager.follower_throttle.byte_rate() == 0
