"""A leader that was away while another took its place: it ends leading by whatever tells it, and keeps its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition

from .broker import Broker, answered, produce_request, records

NEXT_ID = UUID(int=9)


def error_of_a_produce(broker: Broker) -> int:
    code: int = answered(broker.produce(1)).error_code
    return code


def given_leader(broker: Broker) -> None:
    broker.lead(replicas=(1, 2), isr=(1,), epoch=5)
    broker.produce(3)


def told_by_metadata(broker: Broker) -> None:
    broker.update_metadata({"t": {0: 2}}, leader_epoch=6)


def told_that_nobody_leads(broker: Broker) -> None:
    broker.update_metadata({"t": {0: -1}}, leader_epoch=6)


def told_that_it_is_no_replica(broker: Broker) -> None:
    answer = broker.order(replicas=(2, 3), leader=2, epoch=6, partition_epoch=1)
    assert answer == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def told_to_follow_nobody(broker: Broker) -> None:
    assert broker.order(replicas=(1, 2), leader=-1, epoch=6, partition_epoch=1) == 0


@pytest.mark.parametrize(
    "told", [told_by_metadata, told_that_nobody_leads, told_that_it_is_no_replica, told_to_follow_nobody]
)
def test_it_leads_no_longer_and_keeps_its_files(broker: Broker, tmp_path: Path, told: Callable[[Broker], None]) -> None:
    heard: list[TopicPartition] = []
    given_leader(broker)
    broker.manager.on_leadership_change(lambda led, followed: heard.extend(p.topic_partition for p in followed))
    told(broker)
    assert error_of_a_produce(broker) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answered(broker.fetch(0)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert heard == [TopicPartition("t", 0)], "the coordinators resign with it"
    assert (tmp_path / "t-0").exists()
    assert broker.partition().log.log_end_offset == 3


@pytest.mark.parametrize(("leader", "epoch"), [(2, 5), (2, 4), (1, 6), (-2, 6)])
def test_what_is_not_newer_or_names_itself_ends_nothing(broker: Broker, leader: int, epoch: int) -> None:
    given_leader(broker)
    partition = broker.partition()
    broker.update_metadata({"t": {0: leader}}, leader_epoch=epoch)
    assert partition.is_leader


def test_who_waits_for_acks_is_told(broker: Broker) -> None:
    given_leader(broker)
    broker.order(replicas=(1, 2), isr=(1, 2), epoch=6, partition_epoch=1)
    waiting = broker.call(produce_request(records(), acks=-1), 9)
    assert not waiting.is_done
    broker.update_metadata({"t": {0: 2}}, leader_epoch=7)
    assert answered(waiting).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_it_says_who_leads_as_the_metadata_do(broker: Broker) -> None:
    given_leader(broker)
    told_by_metadata(broker)
    assert broker.manager.current_leader("t", 0) == (2, 6)


def test_the_order_that_comes_late_is_carried_out(broker: Broker) -> None:
    given_leader(broker)
    told_by_metadata(broker)
    assert broker.order(replicas=(1, 2), leader=2, epoch=6, partition_epoch=1) == 0
    assert (broker.partition().leader_id, broker.partition().leader_epoch) == (2, 6)
    assert broker.order(replicas=(1, 2), isr=(1,), epoch=7, partition_epoch=2) == 0
    assert answered(broker.produce(1)).base_offset == 3


def test_a_topic_that_was_made_anew_meanwhile_begins_empty(broker: Broker, tmp_path: Path) -> None:
    given_leader(broker)
    stopped: list[TopicPartition] = []
    broker.manager.on_stop(lambda stops: stopped.extend(stop.topic_partition for stop in stops))
    broker.update_metadata({"t": {0: 1}}, id_of_topic=NEXT_ID)
    assert error_of_a_produce(broker) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert stopped == [TopicPartition("t", 0)]
    assert broker.order(id_of_topic=NEXT_ID) == 0
    assert answered(broker.produce(1)).base_offset == 0
    assert any(path.name.endswith("-stray") for path in tmp_path.iterdir()), "nobody ordered to delete the old one"
