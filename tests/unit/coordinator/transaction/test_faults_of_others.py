"""Faults that other transaction coordinators shipped, each as a rule; docs/transaction-tests.md has the whole list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.coordinator.transaction.decisions.transaction import LAST_EPOCH
from kafka_zk.protocol.errors import ErrorCode, NotEnoughReplicas
from kafka_zk.replication.serving.append import AppendFailure
from tests.unit.coordinator.transaction.transaction_world import T0, T1, T2, TIMEOUT_MS, World, both, world

ABORT_INTERVAL_MS = 10_000
EXPIRATION_MS, EXPIRY_INTERVAL_MS = 1_200_000, 60_000
"""Of transactional ids that nobody uses."""
PATIENCE = 20
"""How often a producer begins again, a second apart."""


# --- what was begun is not only in memory -----------------------------------------------------------------------------


def moves(scene: World) -> None:
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.lead(partition)


def dies(scene: World) -> None:
    scene.stop()
    scene.start_again()


@pytest.mark.parametrize("befalls", [moves, dies])
def test_what_was_added_before_a_re_election_is_verified_after_it(
    scene: World, befalls: Callable[[World], None]
) -> None:
    """The first write to a partition may come long after it was added; nothing else may be written."""
    producer = scene.producer()
    scene.adds(producer, T0, T2)
    befalls(scene)
    assert scene.coordinator.verify_partitions("id", producer, [T0, T1, T2]) == {
        T0: ErrorCode.NONE,
        T1: ErrorCode.TRANSACTION_ABORTABLE,
        T2: ErrorCode.NONE,
    }


@pytest.mark.parametrize("befalls", [moves, dies])
def test_a_transaction_that_nobody_goes_on_with_times_out_after_a_re_election(
    scene: World, befalls: Callable[[World], None]
) -> None:
    producer = scene.producer()
    scene.adds(producer, T0, T2)
    scene.passes(TIMEOUT_MS // 2)
    befalls(scene)
    scene.passes(TIMEOUT_MS // 2 + ABORT_INTERVAL_MS)
    assert scene.state() == "CompleteAbort"
    assert scene.leaders.ends(ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)) == both(
        [T0, T2], commit=False
    )


# --- a newer epoch waits for the markers of the older one -------------------------------------------------------------


def begins_again(scene: World) -> None:
    assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS


def times_out(scene: World) -> None:
    scene.passes(TIMEOUT_MS + ABORT_INTERVAL_MS)


@pytest.mark.parametrize("is_last_epoch", [False, True], ids=["an-epoch", "the-last-epoch"])
@pytest.mark.parametrize("coordinator", [None, moves, dies], ids=["stays", "moves", "dies"])
@pytest.mark.parametrize("cause", [begins_again, times_out])
def test_no_newer_epoch_is_given_before_each_partition_has_the_marker_of_the_older_one(
    scene: World, cause: Callable[[World], None], coordinator: Callable[[World], None] | None, is_last_epoch: bool
) -> None:
    """Else the next transaction would go on, in a partition that missed it, with the records of the older one."""
    old = scene.producer()
    if is_last_epoch:
        scene.found().producer_epoch = LAST_EPOCH - 1
        begun = scene.begins()
        assert isinstance(begun, ProducerIdAndEpoch)
        old = begun
    scene.adds(old, T0, T2)
    scene.leaders.alive.discard(2)
    cause(scene)
    if coordinator is not None:
        coordinator(scene)
    for _ in range(PATIENCE):
        assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS
        scene.passes(1_000)
    fence = ProducerIdAndEpoch(old.producer_id, old.epoch + 1)
    assert scene.leaders.ends(fence) == both([T0], commit=False)
    scene.leaders.alive.add(2)
    scene.leaders.changed()
    scene.passes(1_000)
    assert scene.leaders.ends(fence) == both([T0, T2], commit=False)
    new = scene.producer()
    if is_last_epoch:
        assert new.producer_id != old.producer_id and new.epoch == 0
    else:
        assert new == ProducerIdAndEpoch(old.producer_id, old.epoch + 2)


# --- an id can always be used, or it expires --------------------------------------------------------------------------

WRITES = 17
"""Records that `lives` has stored if nothing goes wrong; the last one is the tombstone."""


class Faulty:
    """The log of `scene`, whose append of this number has another outcome than usual."""

    def __init__(self, scene: World, number: int, fault: str) -> None:
        self._scene, self._left, self._fault = scene, number, fault
        self._append = scene.log.append_records
        self.is_over = False
        scene.log.append_records = self._take  # type: ignore[method-assign]

    def _take(self, entries: Any, **options: Any) -> Any:
        self._left -= 1
        if self._left >= 0:
            return self._append(entries, **options)
        self._scene.log.append_records = self._append  # type: ignore[method-assign]
        self.is_over = True
        if "stored" in self._fault:
            self._append(entries, **options)
        if "moved" in self._fault:
            ((_, partition, _),) = entries
            self._scene.resign(partition)
        return [AppendFailure(NotEnoughReplicas())]


def lives(scene: World) -> Iterator[None]:
    """A producer whose transactions end in each way; it goes on as well as it can."""
    epochs = [ProducerIdAndEpoch(0, 0)]

    def begins() -> None:
        begun = scene.begins()
        if isinstance(begun, ProducerIdAndEpoch):
            epochs.append(begun)

    for partitions, commit in (((T0,), True), ((T1, T2), False), ((T0, T2), None)):
        begins()
        yield
        scene.adds(epochs[-1], *partitions)
        yield
        if commit is not None:
            scene.ends(epochs[-1], commit=commit)
            yield
    begins()  # It aborts what is open.
    yield
    begins()
    yield
    scene.adds(epochs[-1], T1)
    yield
    scene.passes(TIMEOUT_MS + ABORT_INTERVAL_MS)
    yield
    expires(scene)


def expires(scene: World) -> None:
    scene.passes(EXPIRATION_MS + EXPIRY_INTERVAL_MS)


@pytest.mark.parametrize("fault", ["refused", "refused and stored", "moved", "moved and stored"])
@pytest.mark.parametrize("number", range(WRITES))
@pytest.mark.parametrize("comes_back", [True, False])
def test_no_id_is_left_that_can_be_neither_used_nor_expired(number: int, fault: str, comes_back: bool) -> None:
    """Whichever record cannot be stored, and whether it is in the log all the same."""
    with world(
        transactional_id_expiration_ms=EXPIRATION_MS,
        transaction_remove_expired_transaction_cleanup_interval_ms=EXPIRY_INTERVAL_MS,
    ) as scene:
        faulty = Faulty(scene, number, fault)
        for _ in lives(scene):
            if faulty.is_over:
                break
        assert faulty.is_over
        partition = scene.partition_of("id")
        if partition not in scene.log.led:
            scene.lead(partition)
        if comes_back:
            producer = comes(scene)
            assert scene.adds(producer, T0).value is ErrorCode.NONE
            assert scene.ends(producer, commit=True).value is ErrorCode.NONE
            scene.passes(1_000)
            assert scene.state() == "CompleteCommit"
        scene.passes(TIMEOUT_MS + ABORT_INTERVAL_MS)
        expires(scene)
        assert scene.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        # A first record that was refused and is in the log all the same: only the next coordinator knows of it.
        moves(scene)
        expires(scene)
        assert scene.state() == "TRANSACTIONAL_ID_NOT_FOUND" and scene.stored() is None


def comes(scene: World) -> ProducerIdAndEpoch:
    """A producer of the id, as soon as it may begin."""
    for _ in range(PATIENCE):
        begun = scene.begins()
        if isinstance(begun, ProducerIdAndEpoch):
            return begun
        assert begun in (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE), begun
        scene.passes(1_000)
    raise AssertionError("it may never begin")


# --- an EndTxn that comes late ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_that_was_answered_and_comes_again_ends_nothing(scene: World, commit: bool) -> None:
    """While its producer has not begun the next transaction."""
    producer = scene.producer()
    scene.adds(producer, T0)
    assert scene.ends(producer, commit=commit).value is ErrorCode.NONE
    before = scene.history(), list(scene.leaders.markers)
    assert scene.ends(producer, commit=commit).value is ErrorCode.NONE
    assert scene.ends(producer, commit=not commit).value is ErrorCode.INVALID_TXN_STATE
    assert (scene.history(), scene.leaders.markers) == before


def test_what_an_end_that_came_late_has_ended_can_no_longer_be_written(scene: World) -> None:
    """Within one epoch nobody can tell it from the end of the next transaction: that is KIP-890's second part.

    What its first part does: what the producer has not begun to write yet is refused, so that nothing hangs.
    """
    producer = scene.producer()
    scene.adds(producer, T0)
    assert scene.ends(producer, commit=True).value is ErrorCode.NONE
    scene.adds(producer, T1)
    assert scene.ends(producer, commit=True).value is ErrorCode.NONE, "it came late, and nobody can tell"
    assert scene.coordinator.verify_partitions("id", producer, [T1]) == {T1: ErrorCode.TRANSACTION_ABORTABLE}
    assert scene.ends(producer, commit=False).value is ErrorCode.INVALID_TXN_STATE, "so its producer finds out"
