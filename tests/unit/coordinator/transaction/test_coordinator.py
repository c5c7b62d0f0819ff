"""What a transaction coordinator does with what it decided: store it, answer, have markers written, go on after a move.

Rules by their number in the faults that others paid for (transactions and idempotence).
"""

from __future__ import annotations

import logging
from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.coordinator.transaction.decisions.transaction import LAST_EPOCH
from kafka_zk.coordinator.transaction.markers import LONGEST_RETRY_MS
from kafka_zk.protocol.errors import ErrorCode, NotEnoughReplicas, NotLeaderOrFollower
from tests.unit.coordinator.transaction.transaction_world import OWN, T0, T1, T2, TIMEOUT_MS, TOO_LONG_MS, World, both

COMMITTED = ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
ABORTED = ["Empty", "Ongoing", "PrepareAbort", "CompleteAbort"]
ABORT_INTERVAL_MS = 10_000
HOUR_MS = 3_600_000


# --- one transaction --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("commit", "states"), [(True, COMMITTED), (False, ABORTED)])
def test_a_transaction_is_stored_step_by_step_and_ends_in_all_its_partitions(
    scene: World, commit: bool, states: list[str]
) -> None:
    producer = scene.producer()
    assert scene.adds(producer, T0, T2).value is ErrorCode.NONE
    assert scene.ends(producer, commit=commit).value is ErrorCode.NONE
    assert scene.history() == states
    assert scene.leaders.ends(producer) == both([T0, T2], commit=commit)
    assert scene.state() == states[-1]


def test_an_end_is_answered_once_it_is_stored_before_its_markers_are_written(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.leaders.silent = True
    assert scene.ends(producer, commit=True).value is ErrorCode.NONE
    assert scene.state() == "PrepareCommit" and not scene.leaders.markers
    assert scene.adds(producer, T1).value is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.leaders.speak()
    scene.settle()
    assert scene.history() == COMMITTED


def test_nothing_is_answered_before_it_is_replicated(scene: World) -> None:
    producer = scene.producer()
    scene.log.holds_back = True
    added = scene.adds(producer, T0)
    assert not added.is_done and scene.state() == "Empty"
    assert scene.adds(producer, T1).value is ErrorCode.CONCURRENT_TRANSACTIONS, "one change at a time"
    scene.log.release()
    assert added.value is ErrorCode.NONE and scene.state() == "Ongoing"


def test_partitions_that_the_transaction_has_are_not_stored_again(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0, T1)
    before = scene.history()
    assert scene.adds(producer, T1).value is ErrorCode.NONE
    assert scene.history() == before


def test_a_transaction_without_partitions_needs_no_markers(scene: World) -> None:
    producer = scene.producer()
    assert scene.adds(producer).value is ErrorCode.NONE
    assert scene.ends(producer, commit=True).value is ErrorCode.NONE
    assert scene.history() == COMMITTED and not scene.leaders.requests


@pytest.mark.parametrize("timeout_ms", [0, -1, TOO_LONG_MS])
def test_a_timeout_that_is_no_time_or_too_long_is_refused(scene: World, timeout_ms: int) -> None:
    assert scene.begins(timeout_ms=timeout_ms) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert scene.state() == "TRANSACTIONAL_ID_NOT_FOUND"


@pytest.mark.parametrize("transactional_id", ["", "\ufffd" * 20_000])
def test_an_id_that_no_record_can_hold_is_refused(scene: World, transactional_id: str) -> None:
    assert scene.begins(transactional_id) is ErrorCode.INVALID_REQUEST
    assert scene.ends(ProducerIdAndEpoch(1, 0), commit=True, transactional_id=transactional_id).value is (
        ErrorCode.INVALID_REQUEST
    )


def test_a_coordinator_that_stops_says_so(scene: World) -> None:
    producer = scene.producer()
    scene.stop()
    assert scene.coordinator.end_transaction("id", producer, is_commit=True).value is (
        ErrorCode.COORDINATOR_NOT_AVAILABLE
    )


# --- fencing ----------------------------------------------------------------------------------------------------------


def test_who_begins_again_aborts_what_was_open_and_gets_a_higher_epoch(scene: World) -> None:
    old = scene.producer()
    scene.adds(old, T0)
    assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS
    fence = ProducerIdAndEpoch(old.producer_id, old.epoch + 1)
    assert scene.leaders.ends(fence) == both([T0], commit=False), "with the raised epoch: the old one writes no more"
    new = scene.producer()
    assert new == ProducerIdAndEpoch(old.producer_id, old.epoch + 2)
    assert scene.ends(old, commit=True).value is ErrorCode.PRODUCER_FENCED
    assert scene.adds(old, T1).value is ErrorCode.PRODUCER_FENCED


def test_71_only_the_exact_epoch_may_end_a_transaction(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    for epoch in (producer.epoch - 1, producer.epoch + 1):
        assert scene.ends(ProducerIdAndEpoch(producer.producer_id, epoch), commit=True).value is (
            ErrorCode.PRODUCER_FENCED
        )
    stranger = ProducerIdAndEpoch(producer.producer_id + 1, producer.epoch)
    assert scene.ends(stranger, commit=True).value is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.state() == "Ongoing"


def test_67_a_producer_whose_transaction_timed_out_is_fenced(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.passes(TIMEOUT_MS)
    assert scene.state() == "Ongoing", "its time is not over yet"
    scene.passes(ABORT_INTERVAL_MS)
    assert scene.state() == "CompleteAbort"
    assert scene.ends(producer, commit=True).value is ErrorCode.PRODUCER_FENCED
    assert scene.leaders.ends(ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)) == both([T0], commit=False)


def test_67_one_transaction_that_cannot_be_fenced_keeps_no_other_one_open(scene: World) -> None:
    for transactional_id, partition in (("broken", T0), ("sound", T1)):
        scene.adds(scene.producer(transactional_id), partition, transactional_id=transactional_id)
    scene.found("broken").producer_epoch = 2**15 - 1
    scene.passes(TIMEOUT_MS + ABORT_INTERVAL_MS)
    assert (scene.state("broken"), scene.state("sound")) == ("Ongoing", "CompleteAbort")


def test_66_a_late_end_does_not_end_the_transaction_after_a_timeout(scene: World) -> None:
    """What KIP-890 part 1 and the raised epoch prevent; within one epoch the protocol cannot tell two EndTxn apart."""
    late = scene.producer()
    scene.adds(late, T0)
    scene.passes(TIMEOUT_MS + ABORT_INTERVAL_MS)
    again = scene.begins(was=late)
    assert again is ErrorCode.PRODUCER_FENCED, "it was fenced, and must find that out"
    new = scene.producer()
    scene.adds(new, T1)
    assert scene.ends(late, commit=True).value is ErrorCode.PRODUCER_FENCED
    assert scene.state() == "Ongoing"


def test_68_an_epoch_that_could_not_be_stored_is_not_raised_again(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.log.fails = True
    for _ in range(5):
        scene.passes(TIMEOUT_MS)
        assert scene.begins() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.found().producer_epoch == producer.epoch + 1
    scene.log.fails = False
    assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.leaders.ends(ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)) == both([T0], commit=False)


def test_73_when_epochs_run_out_the_producer_gets_another_id(scene: World) -> None:
    producer = scene.producer()
    scene.found().producer_epoch = LAST_EPOCH - 1
    last = scene.begins()
    assert last == ProducerIdAndEpoch(producer.producer_id, LAST_EPOCH)
    scene.adds(last, T0)
    assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS, "one epoch is left to fence it"
    assert scene.begins() == ProducerIdAndEpoch(scene.next_id, 0)
    assert scene.next_id != producer.producer_id


def test_a_lost_answer_is_given_again_without_another_epoch(scene: World) -> None:
    first = scene.producer()
    second = scene.begins(was=first)
    assert second == ProducerIdAndEpoch(first.producer_id, first.epoch + 1)
    assert scene.begins(was=first) == second
    assert scene.begins(was=ProducerIdAndEpoch(first.producer_id, first.epoch - 1)) is ErrorCode.PRODUCER_FENCED


# --- the log refuses --------------------------------------------------------------------------------------------------


def test_what_cannot_be_stored_changes_nothing_and_may_be_tried_again(scene: World) -> None:
    producer = scene.producer()
    scene.log.fails = True
    assert scene.adds(producer, T0).value is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.state() == "Empty"
    scene.log.fails = False
    assert scene.adds(producer, T0).value is ErrorCode.NONE
    scene.log.fails = True
    assert scene.ends(producer, commit=True).value is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.state() == "Ongoing" and not scene.leaders.requests
    scene.log.fails = False
    assert scene.ends(producer, commit=True).value is ErrorCode.NONE


def test_69_the_last_record_is_stored_in_the_end_whatever_the_log_says_meanwhile(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.leaders.silent = True
    scene.ends(producer, commit=True)
    scene.log.fails = True
    scene.leaders.speak()
    scene.settle()
    for _ in range(3):
        scene.passes(100)
        assert scene.state() == "PrepareCommit"
        assert scene.begins() is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.log.fails = False
    scene.passes(100)
    assert scene.history() == COMMITTED and scene.state() == "CompleteCommit"
    assert len(scene.leaders.markers) == 1, "markers are not written twice for it"


def test_an_append_whose_coordinator_has_lost_the_partition_is_not_believed(scene: World) -> None:
    producer = scene.producer()
    scene.log.holds_back = True
    added = scene.adds(producer, T0)
    partition = scene.partition_of("id")
    (lost,) = scene.resign(partition)
    scene.log.holds_back = False
    scene.lead(partition)
    lost.store()  # Its answer comes when the partition is led, and loaded, anew.
    assert added.value is ErrorCode.NOT_COORDINATOR
    assert scene.state() == "Empty"


# --- coordinators that come and go ------------------------------------------------------------------------------------


@pytest.mark.parametrize("open_partitions", [(T0,), (T0, T2)])
def test_a_transaction_outlives_its_coordinator(scene: World, open_partitions: tuple) -> None:
    """Its beginning is not only in memory."""
    producer = scene.producer()
    scene.adds(producer, *open_partitions)
    partition = scene.partition_of("id")
    scene.resign(partition)
    assert scene.state() == "NOT_COORDINATOR"
    scene.lead(partition)
    assert scene.found().partitions == set(open_partitions)
    assert scene.ends(producer, commit=True).value is ErrorCode.NONE
    assert scene.leaders.ends(producer) == both(open_partitions, commit=True)


@pytest.mark.parametrize("commit", [True, False])
def test_the_next_coordinator_finishes_what_was_decided(scene: World, commit: bool) -> None:
    producer = scene.producer()
    scene.adds(producer, T0, T2)
    scene.leaders.silent = True
    scene.ends(producer, commit=commit)
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.leaders.forget()
    scene.leaders.silent = False
    scene.lead(partition)
    scene.passes(1_000)
    assert scene.leaders.ends(producer) == both([T0, T2], commit=commit)
    assert {each.coordinator_epoch for each in scene.leaders.markers} == {scene.epochs[partition]}
    assert scene.history() == (COMMITTED if commit else ABORTED)


def test_what_was_decided_is_finished_while_other_partitions_still_load(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.leaders.cut = True
    scene.ends(producer, commit=True)
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.leaders.cut = False
    other_is_loaded = Event()
    scene.log.led.add(partition)
    scene.coordinator.leadership.on_leadership_change([scene._led(partition)], [])
    scene.coordinator._manager._tasks.later(other_is_loaded.wait)
    for _ in range(100):
        gevent.sleep(0)
    assert scene.state() == "CompleteCommit"
    other_is_loaded.set()


def test_a_coordinator_that_lost_the_partition_finishes_nothing_any_more(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.leaders.silent = True
    scene.ends(producer, commit=True)
    scene.resign(scene.partition_of("id"))
    before = scene.history()
    scene.leaders.speak()
    scene.passes(1_000)
    assert scene.history() == before


@pytest.mark.parametrize("last", ["lost", "refused", "under way"])
def test_a_coordinator_that_is_elected_once_more_writes_markers_that_count(scene: World, last: str) -> None:
    """Between its two elections another broker led, of which it has not heard, and wrote markers in its epoch."""
    producer = scene.producer()
    scene.adds(producer, T0)
    if last == "lost":
        scene.leaders.cut = True
    else:
        scene.leaders.refusals[T0] = [ErrorCode.TRANSACTION_COORDINATOR_FENCED]
        scene.leaders.silent = last == "under way"
    scene.ends(producer, commit=True)
    assert not scene.leaders.markers
    partition = scene.partition_of("id")
    scene.epochs[partition] += 1
    scene.lead(partition)
    scene.leaders.cut = scene.leaders.silent = False
    scene.leaders.speak()
    scene.passes_slowly(LONGEST_RETRY_MS)
    assert [each.coordinator_epoch for each in scene.leaders.markers] == [scene.epochs[partition]], "and soon"
    assert scene.history() == COMMITTED


def test_70_a_load_replaces_what_was_in_memory(scene: World) -> None:
    producer = scene.producer()
    partition = scene.partition_of("id")
    scene.log.holds_back = True
    added = scene.adds(producer, T0)
    for each in scene.resign(partition, keep_held=True):
        each.refuse(NotLeaderOrFollower())
    scene.log.holds_back = False
    assert added.value is ErrorCode.NOT_COORDINATOR
    scene.lead(partition)
    assert scene.state() == "Ongoing", "it was in the log all the same"


def test_a_record_that_was_refused_and_yet_replicated_counts_only_for_the_next_coordinator(scene: World) -> None:
    producer = scene.producer()
    scene.adds(producer, T0)
    scene.log.holds_back = True
    ended = scene.ends(producer, commit=True)
    (held,) = scene.log.held
    scene.log.held.clear()
    scene.log.holds_back = False
    held.append()
    held.refuse(NotEnoughReplicas())
    assert ended.value is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert scene.state() == "Ongoing" and not scene.leaders.markers
    partition = scene.partition_of("id")
    scene.resign(partition)
    scene.lead(partition)
    assert scene.history()[-1] == "CompleteCommit"
    assert scene.leaders.ends(producer) == both([T0], commit=True)


# --- ids that nobody uses ---------------------------------------------------------------------------------------------


def test_70_idle_ids_expire_and_open_ones_do_not(scene: World) -> None:
    scene.producer("idle")
    scene.config.transactional_id_expiration_ms = 0
    busy = scene.producer("busy")
    scene.leaders.silent = True
    scene.adds(busy, T0, transactional_id="busy")
    scene.ends(busy, commit=True, transactional_id="busy")
    scene.passes(604_800_000 + HOUR_MS)
    assert scene.state("idle") == "TRANSACTIONAL_ID_NOT_FOUND" and scene.stored("idle") is None
    assert scene.state("busy") == "PrepareCommit"


def test_70_an_id_whose_tombstone_was_refused_can_be_used_again(scene: World) -> None:
    producer = scene.producer()
    scene.passes(604_800_000 - HOUR_MS)
    scene.log.fails = True
    scene.passes(2 * HOUR_MS)
    assert scene.state() == "Empty"
    scene.log.fails = False
    assert scene.adds(producer, T0).value is ErrorCode.NONE


def test_70_an_id_that_another_coordinator_has_revived_gets_no_tombstone(
    scene: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its partition goes and comes while the expired ids of others are buried."""
    ids = {scene.partition_of(each): each for each in ("a", "b", "c", "d", "e")}
    (first, _), (second, revived) = ids.items()
    for each in ids.values():
        scene.producer(each)
    append = scene.log.append_records
    batch = bytes(scene.log.data[second])

    def append_and_move(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(scene.log, "append_records", append)
        scene.resign(second)
        scene.log._append(second, memoryview(batch))
        scene.log.led.add(second)
        scene.coordinator.leadership.on_leadership_change([scene._led(second)], [])
        return append(*arguments, **options)

    monkeypatch.setattr(scene.log, "append_records", append_and_move)
    scene.passes(604_800_000 + HOUR_MS)
    assert scene.stored(ids[first]) is None
    assert scene.stored(revived) is not None


def test_70_an_id_that_was_never_stored_expires(scene: World) -> None:
    scene.log.fails = True
    assert scene.begins() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    scene.log.fails = False
    scene.passes(604_800_000 + HOUR_MS)
    assert scene.state() == "TRANSACTIONAL_ID_NOT_FOUND"
    assert not list(scene.log.batches(scene.partition_of("id"))), "there is nothing to write a tombstone for"


def test_74_the_tombstones_of_very_many_ids_are_split(scene: World) -> None:
    for index in range(60):
        scene.producer(f"{index}-" + "x" * 30_000)
    scene.passes(604_800_000 + HOUR_MS)
    assert not scene.coordinator.all_transactions()
    sizes = [batch.header.size_bytes for partition in (0, 1) for batch in scene.log.batches(partition)]
    assert max(sizes) < 1_000_000


def test_an_operator_finds_in_the_log_what_becomes_of_a_partition_and_its_ids(
    scene: World, caplog: pytest.LogCaptureFixture
) -> None:
    """In the words of Apache's coordinator."""
    caplog.set_level(logging.INFO)
    partition, coordinator = scene.partition_of("id"), f"[TransactionCoordinator id={OWN}]"
    log = f"__transaction_state-{partition}"
    scene.resign(partition)
    scene.lead(partition)
    producer = scene.producer()
    begun = f"producerId {producer.producer_id} and producer epoch {producer.epoch}"
    scene.adds(producer, T0)
    scene.passes(TIMEOUT_MS + 10_000)
    for said in (
        f"{coordinator} Resigned as the txn coordinator for partition {partition} at epoch 2",
        f"{coordinator} Elected as the txn coordinator for partition {partition} at epoch 3",
        f"[TransactionStateManager] Loading transaction metadata from {log} at epoch 3",
        f"{coordinator} Initialized transactionalId id with {begun} on partition {log}",
        f"{coordinator} Completed rollback of ongoing transaction for transactionalId id due to timeout",
    ):
        assert caplog.messages.count(said) == 1, said
    (loaded,) = (line for line in caplog.messages if "Finished loading" in line)
    assert f"from {log} at epoch 3 in" in loaded
