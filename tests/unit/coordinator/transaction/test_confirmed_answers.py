"""What was done already is answered only once the log confirms it: another broker may have taken over meanwhile.

A coordinator that was paused, or cut off, goes on from its memory. What it stores then, its replicas never take.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, NotLeaderOrFollower
from tests.unit.coordinator.transaction.transaction_world import T0, T1, TIMEOUT_MS, World, both

ABORT_INTERVAL_MS = 10_000
HOUR_MS = 3_600_000
WEEK_MS = 604_800_000

Asks = Callable[[World, ProducerIdAndEpoch], Pending[ErrorCode]]


def adds_again(scene: World, producer: ProducerIdAndEpoch) -> Pending[ErrorCode]:
    return scene.adds(producer, T0)


def commits_again(scene: World, producer: ProducerIdAndEpoch) -> Pending[ErrorCode]:
    return scene.ends(producer, commit=True)


def aborts_again(scene: World, producer: ProducerIdAndEpoch) -> Pending[ErrorCode]:
    return scene.ends(producer, commit=False)


STATES = {adds_again: "Ongoing", commits_again: "CompleteCommit", aborts_again: "CompleteAbort"}
"""What each one meets."""


@pytest.fixture(params=STATES, ids=lambda asks: asks.__name__)
def asks(request: pytest.FixtureRequest) -> Asks:
    found: Asks = request.param
    return found


@pytest.fixture
def producer(scene: World, asks: Asks) -> ProducerIdAndEpoch:
    """What it asks for is done, with replicas."""
    scene.log.has_replicas = True
    begun = scene.producer()
    assert scene.adds(begun, T0, T1).value is ErrorCode.NONE
    if asks is not adds_again:
        assert asks(scene, begun).value is ErrorCode.NONE
    assert scene.state() == STATES[asks]
    return begun


def test_it_is_answered_once_the_replicas_have_it_again(scene: World, producer: ProducerIdAndEpoch, asks: Asks) -> None:
    before, stored = scene.history(), scene.stored()
    scene.log.holds_back = True
    answer = asks(scene, producer)
    assert not answer.is_done, "whether another broker coordinates the transaction is not known yet"
    scene.log.release()
    assert answer.value is ErrorCode.NONE
    assert scene.history() == [*before, STATES[asks]]
    again = scene.stored()
    assert again is not None and stored is not None
    assert all(getattr(again, name) == getattr(stored, name) for name in type(again).__slots__), "the same record"


def test_who_was_replaced_says_so(scene: World, producer: ProducerIdAndEpoch, asks: Asks) -> None:
    scene.log.holds_back = True
    answer = asks(scene, producer)
    (held,) = scene.log.held
    scene.log.held.clear()
    held.refuse(NotLeaderOrFollower())
    assert answer.value is ErrorCode.NOT_COORDINATOR
    assert scene.state() == STATES[asks]


def test_without_other_replicas_nobody_can_have_taken_over(
    scene: World, producer: ProducerIdAndEpoch, asks: Asks
) -> None:
    """As Apache does: the log has no record for it."""
    scene.log.has_replicas = False
    before = scene.history()
    assert asks(scene, producer).value is ErrorCode.NONE
    assert scene.history() == before


def test_replicas_that_are_missing_change_nothing(scene: World, producer: ProducerIdAndEpoch, asks: Asks) -> None:
    scene.log.fails = True
    assert asks(scene, producer).value is ErrorCode.COORDINATOR_NOT_AVAILABLE
    scene.log.fails = False
    assert scene.state() == STATES[asks] and scene.found().changing_to is None
    assert asks(scene, producer).value is ErrorCode.NONE


def test_all_others_wait_for_it(scene: World, producer: ProducerIdAndEpoch, asks: Asks) -> None:
    scene.log.holds_back = True
    answer = asks(scene, producer)
    assert asks(scene, producer).value is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert len(scene.log.held) == 1
    scene.log.release()
    assert answer.value is ErrorCode.NONE


def test_a_leadership_that_ends_meanwhile_confirms_nothing(
    scene: World, producer: ProducerIdAndEpoch, asks: Asks
) -> None:
    """The record is in the log, and replicated; but what another coordinator decided in between is not known."""
    partition = scene.partition_of("id")
    scene.log.holds_back = True
    answer = asks(scene, producer)
    (lost,) = scene.resign(partition)
    scene.log.holds_back = False
    scene.lead(partition)
    lost.store()
    assert answer.value is ErrorCode.NOT_COORDINATOR
    assert scene.state() == STATES[asks] and scene.found().changing_to is None


def test_a_directory_that_fails_meanwhile_confirms_nothing(
    scene: World, producer: ProducerIdAndEpoch, asks: Asks
) -> None:
    partition = scene.partition_of("id")
    scene.log.holds_back = True
    answer = asks(scene, producer)
    (lost,) = scene.log.lose_leadership(partition, keep_held=False)
    scene.coordinator.leadership.on_offline([scene._led(partition)])
    assert scene.state() == "NOT_COORDINATOR"
    lost.refuse(NotLeaderOrFollower())
    assert answer.value is ErrorCode.NOT_COORDINATOR


def test_what_is_asked_again_while_the_partition_loads_waits_for_the_load(
    scene: World, producer: ProducerIdAndEpoch, asks: Asks
) -> None:
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.log.is_behind = True
    scene.lead(partition)
    before = scene.history()
    assert asks(scene, producer).value is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert scene.history() == before, "nothing is stored by who has read it only half"
    scene.log.catch_up()
    scene.settle()
    assert asks(scene, producer).value is ErrorCode.NONE


def test_the_next_coordinator_goes_on_from_what_was_confirmed(
    scene: World, producer: ProducerIdAndEpoch, asks: Asks
) -> None:
    assert asks(scene, producer).value is ErrorCode.NONE
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.lead(partition)
    assert scene.state() == STATES[asks]
    if asks is adds_again:
        assert scene.ends(producer, commit=True).value is ErrorCode.NONE
        assert scene.leaders.ends(producer) == both([T0, T1], commit=True)
    else:
        assert scene.adds(producer, T0).value is ErrorCode.NONE


@pytest.mark.parametrize("asks", [commits_again, aborts_again], ids=lambda asks: asks.__name__, indirect=True)
def test_an_id_expires_only_once_nobody_waits_for_its_confirmation(
    scene: World, producer: ProducerIdAndEpoch, asks: Asks
) -> None:
    scene.log.holds_back = True
    answer = asks(scene, producer)
    scene.log.has_replicas = False
    scene.passes(WEEK_MS + HOUR_MS)
    assert scene.state() == STATES[asks], "it is in use"
    scene.log.holds_back = False
    scene.log.release()
    assert answer.value is ErrorCode.NONE
    scene.passes(HOUR_MS)
    assert scene.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    assert scene.stored() is None


@pytest.mark.parametrize("asks", [commits_again, aborts_again], ids=lambda asks: asks.__name__, indirect=True)
def test_an_id_that_expires_confirms_nothing(scene: World, producer: ProducerIdAndEpoch, asks: Asks) -> None:
    scene.log.holds_back = True
    scene.passes(WEEK_MS + HOUR_MS)
    assert asks(scene, producer).value is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.log.holds_back = False
    scene.log.release()
    scene.settle()
    assert asks(scene, producer).value is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("asks", [adds_again], ids=lambda asks: asks.__name__, indirect=True)
def test_a_transaction_that_takes_too_long_is_aborted_after_its_confirmation(
    scene: World, producer: ProducerIdAndEpoch, asks: Asks
) -> None:
    scene.log.holds_back = True
    answer = asks(scene, producer)
    scene.passes(TIMEOUT_MS + ABORT_INTERVAL_MS)
    assert scene.state() == "Ongoing" and not scene.leaders.markers
    scene.log.holds_back = False
    scene.log.release()
    assert answer.value is ErrorCode.NONE
    scene.passes(ABORT_INTERVAL_MS)
    assert scene.state() == "CompleteAbort"
    fence = ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
    assert scene.leaders.ends(fence) == both([T0, T1], commit=False)
