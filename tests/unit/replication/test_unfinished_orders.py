"""An order to lead or follow that meets an unexpected error is carried out later, unless another one came since."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.unfinished import FIRST_PAUSE_MS, LONGEST_PAUSE_MS

from .broker import Broker, answered, topic_id

TP = TopicPartition("t", 0)


class Failing:
    """What one partition's order does fails until it is told not to."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self.fails = True
        self.count = 0
        self._real = real

    def __call__(self, *arguments: Any) -> Any:
        self.count += 1
        if self.fails:
            raise MemoryError
        return self._real(*arguments)


@pytest.fixture
def opening(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Failing:
    leadership = broker.manager.leadership
    failing = Failing(leadership._open_log)
    monkeypatch.setattr(leadership, "_open_log", failing)
    broker.update_metadata({"t": {0: 1, 1: 1}})
    return failing


def refused(broker: Broker, **how: Any) -> None:
    assert broker.order(**how) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.manager.hosted.find(*TP) is None


def test_a_partition_whose_log_could_not_be_opened_is_led_after_a_pause(broker: Broker, opening: Failing) -> None:
    heard: list[TopicPartition] = []
    broker.manager.on_leadership_change(lambda led, _: heard.extend(each.topic_partition for each in led))
    refused(broker)
    opening.fails = False
    assert broker.order(index=1) == ErrorCode.NONE, "the others go on meanwhile"
    broker.clock.advance(FIRST_PAUSE_MS - 1)
    assert broker.manager.hosted.find(*TP) is None
    broker.clock.advance(1)
    assert broker.partition().is_leader
    assert answered(broker.produce()).error_code == ErrorCode.NONE
    assert heard == [TopicPartition("t", 1), TP]
    broker.clock.advance(2 * LONGEST_PAUSE_MS)
    assert opening.count == 3, "once it is carried out nothing is tried again"


def test_a_leader_that_could_not_be_followed_is_followed_after_a_pause(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.update_metadata({"t": {0: 2}})
    fetchers = broker.manager.fetchers
    failing = Failing(fetchers.follow)
    monkeypatch.setattr(fetchers, "follow", failing)
    refused(broker, replicas=(2, 1), leader=2)
    failing.fails = False
    broker.clock.advance(FIRST_PAUSE_MS)
    assert broker.partition().leader_id == 2
    assert failing.count == 2


def test_what_fails_again_waits_twice_as_long_and_a_minute_at_most(broker: Broker, opening: Failing) -> None:
    refused(broker)
    pause_ms = FIRST_PAUSE_MS
    for count in range(2, 12):
        broker.clock.advance(pause_ms - 1)
        assert opening.count == count - 1
        broker.clock.advance(1)
        assert opening.count == count
        pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)
    opening.fails = False
    broker.clock.advance(LONGEST_PAUSE_MS)
    assert broker.partition().is_leader
    opening.fails = True
    refused(broker, epoch=1, partition_epoch=1)
    opening.fails = False
    broker.clock.advance(FIRST_PAUSE_MS)
    assert broker.partition().leader_epoch == 1, "another failure begins with a short pause"


def test_a_later_order_takes_the_place_of_one_that_failed(broker: Broker, opening: Failing) -> None:
    refused(broker)
    opening.fails = False
    assert broker.order(epoch=1, partition_epoch=1, replicas=(2, 1), leader=2) == ErrorCode.NONE
    broker.clock.advance(FIRST_PAUSE_MS)
    assert opening.count == 2
    partition = broker.partition()
    assert (partition.leader_id, partition.leader_epoch) == (2, 1)


def test_an_order_that_failed_goes_with_one_by_which_the_replica_lives_elsewhere(
    broker: Broker, opening: Failing
) -> None:
    refused(broker)
    opening.fails = False
    assert broker.order(epoch=1, partition_epoch=1, replicas=(2, 3), leader=2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.clock.advance(FIRST_PAUSE_MS)
    assert broker.manager.hosted.find(*TP) is None
    assert broker.log_manager.get_log(TP) is None


@pytest.mark.parametrize("delete", [False, True])
def test_a_replica_that_was_stopped_since_is_not_made_again(broker: Broker, opening: Failing, delete: bool) -> None:
    refused(broker)
    opening.fails = False
    assert broker.stop_replica(delete=delete) == ErrorCode.NONE
    broker.clock.advance(FIRST_PAUSE_MS)
    assert broker.manager.hosted.find(*TP) is None
    assert broker.log_manager.get_log(TP) is None


def test_a_topic_that_was_deleted_unheard_is_not_made_again(broker: Broker, opening: Failing) -> None:
    refused(broker)
    opening.fails = False
    topic = broker.cache.topic("t")
    assert topic is not None
    broker.manager.leadership.forget_deleted([topic])
    broker.clock.advance(FIRST_PAUSE_MS)
    assert broker.log_manager.get_log(TP) is None


def test_what_metadata_of_a_later_epoch_has_overtaken_is_not_tried_again(broker: Broker, opening: Failing) -> None:
    refused(broker)
    opening.fails = False
    broker.update_metadata({"t": {0: 2}}, leader_epoch=1, id_of_topic=topic_id("t"))
    broker.clock.advance(FIRST_PAUSE_MS)
    assert broker.manager.hosted.find(*TP) is None


def test_a_broker_that_has_stopped_tries_nothing_again(broker: Broker, opening: Failing) -> None:
    refused(broker)
    opening.fails = False
    broker.manager.shutdown()
    broker.clock.advance(LONGEST_PAUSE_MS)
    assert opening.count == 1
