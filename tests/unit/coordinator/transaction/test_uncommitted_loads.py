"""A new coordinator serves nothing that the next one may not have: it waits until all that it read is committed."""

from __future__ import annotations

import logging

import pytest

from kafka_zk.coordinator.loads import LOAD_AGAIN_MS
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.protocol.errors import ErrorCode
from tests.unit.coordinator.transaction.transaction_world import COUNT, T0, T1, World, both

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.fixture
def partition(scene: World) -> int:
    return scene.partition_of("id")


def lead_while_behind(scene: World, partition: int) -> None:
    """The next leader has the log; its replicas have not told it so."""
    scene.resign(partition)
    scene.log.is_behind = True
    scene.lead(partition)


@pytest.fixture
def producer(scene: World, partition: int) -> ProducerIdAndEpoch:
    """Its transaction is in the log, and the coordinator has just begun to lead."""
    begun = scene.producer()
    scene.adds(begun, T0)
    lead_while_behind(scene, partition)
    return begun


def test_what_is_not_committed_is_not_served(scene: World, partition: int, producer: ProducerIdAndEpoch) -> None:
    ((waited_for, offset, _),) = scene.log.waiting
    assert (waited_for.partition, offset) == (partition, scene.log.ends[partition]), "all that was read"
    assert scene.coordinator.verify_partitions("id", producer, [T0]) == {T0: LOADING}
    assert scene.adds(producer, T0).value is LOADING
    assert scene.ends(producer, commit=True).value is LOADING
    assert scene.begins() is LOADING
    assert not scene.coordinator._manager.transactions
    scene.log.catch_up()
    scene.settle()
    assert scene.adds(producer, T0).value is ErrorCode.NONE
    assert scene.ends(producer, commit=True).value is ErrorCode.NONE
    assert scene.leaders.ends(producer) == both([T0], commit=True)


def test_markers_of_a_decision_that_is_not_committed_wait(scene: World, partition: int) -> None:
    """The next leader may never have heard of it, and decide otherwise."""
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.leaders.cut = True
    scene.ends(producer, commit=True)
    scene.leaders.cut = False
    lead_while_behind(scene, partition)
    scene.passes_slowly(5_000)
    assert not scene.leaders.markers
    scene.log.catch_up()
    scene.settle()
    assert scene.leaders.ends(producer) == both([T0], commit=True)


def test_a_partition_that_waits_keeps_no_other_one_waiting(
    scene: World, partition: int, producer: ProducerIdAndEpoch
) -> None:
    other = next(each for each in range(COUNT) if each != partition)
    scene.log.is_behind = False
    scene.resign(other)
    scene.lead(other)
    assert scene.coordinator._manager.ownership.check(other) is ErrorCode.NONE
    assert scene.coordinator._manager.ownership.check(partition) is LOADING


def test_a_leadership_that_ends_meanwhile_serves_nothing(
    scene: World, partition: int, producer: ProducerIdAndEpoch
) -> None:
    scene.resign(partition)
    assert scene.state() == "NOT_COORDINATOR"
    scene.log.catch_up()
    scene.settle()
    assert scene.state() == "NOT_COORDINATOR" and not scene.coordinator._manager.transactions
    scene.lead(partition)
    assert scene.state() == "Ongoing"


def test_of_two_loads_only_the_last_one_counts(scene: World, partition: int, producer: ProducerIdAndEpoch) -> None:
    ((*_, first),) = scene.log.waiting
    scene.resign(partition)
    scene.lead(partition)
    assert len(scene.log.waiting) == 2
    first.complete(ErrorCode.NONE)
    scene.settle()
    assert scene.state() == LOADING.name and not scene.coordinator._manager.transactions
    scene.log.catch_up()
    scene.settle()
    assert scene.state() == "Ongoing"


def test_a_leader_that_is_elected_once_more_waits_on(
    scene: World, partition: int, producer: ProducerIdAndEpoch
) -> None:
    scene.lead(partition)
    assert len(scene.log.waiting) == 1 and scene.state() == LOADING.name
    scene.log.catch_up()
    scene.settle()
    assert scene.state() == "Ongoing"


@pytest.mark.parametrize("is_led_again", [False, True])
def test_a_replica_that_stops_leading_before_its_coordinator_hears_of_it(
    scene: World, partition: int, producer: ProducerIdAndEpoch, is_led_again: bool
) -> None:
    scene.log.catch_up(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    scene.settle()
    assert scene.state() == LOADING.name
    if not is_led_again:
        scene.resign(partition)
    scene.passes(LOAD_AGAIN_MS)
    assert scene.state() == ("Ongoing" if is_led_again else "NOT_COORDINATOR")


def test_a_start_is_not_held_for_ever_without_a_line(
    scene: World, partition: int, producer: ProducerIdAndEpoch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        scene.log.catch_up(ErrorCode.REQUEST_TIMED_OUT)
        scene.settle()
        assert scene.state() == LOADING.name
    lines = [line for line in caplog.messages if "its replicas do not have all that was read" in line]
    assert len(lines) == 3
    assert all(f"load of __transaction_state-{partition} at epoch" in line for line in lines)
    scene.log.catch_up()
    scene.settle()
    assert scene.state() == "Ongoing"
    assert scene.adds(producer, T1).value is ErrorCode.NONE
