"""Guards of transactions that are about to begin."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from kafka_zk.log.state.verification import VerificationGuard, Verifications
from kafka_zk.protocol.errors import InvalidTxnState
from tests.unit.log.given import TP, manager_on, produced

PRODUCER = 5


def begin(found: Verifications, sequence: int = 0, epoch: int = 0, now_ms: int = 0) -> VerificationGuard:
    return found.begin(PRODUCER, sequence=sequence, producer_epoch=epoch, coordinator_epoch=-1, now_ms=now_ms)


def test_all_who_wait_share_a_guard_until_it_ends() -> None:
    found = Verifications()
    guard = begin(found)
    assert begin(found) is guard
    assert found.is_guarded_by(PRODUCER, guard)
    found.end(PRODUCER)
    assert not found.is_guarded_by(PRODUCER, guard)
    assert begin(found) is not guard
    assert not found.is_guarded_by(PRODUCER, guard)


def test_nobody_is_guarded_by_nothing() -> None:
    found = Verifications()
    assert not found.is_guarded_by(PRODUCER, None)
    begin(found)
    assert not found.is_guarded_by(PRODUCER, None)


def test_the_lowest_sequence_of_an_epoch_is_remembered() -> None:
    found = Verifications()
    assert found.lowest_sequence(PRODUCER) is None
    begin(found, sequence=4)
    begin(found, sequence=7)
    assert found.lowest_sequence(PRODUCER) == 4
    begin(found, sequence=2)
    assert found.lowest_sequence(PRODUCER) == 2


def test_a_newer_epoch_begins_with_its_own_sequence_and_an_older_one_changes_nothing() -> None:
    found = Verifications()
    begin(found, sequence=2, epoch=1)
    begin(found, sequence=9, epoch=2)
    assert found.lowest_sequence(PRODUCER) == 9
    begin(found, sequence=0, epoch=1)
    assert found.lowest_sequence(PRODUCER) == 9


def test_a_guard_expires_after_its_time() -> None:
    found = Verifications()
    guard = begin(found, now_ms=1_000)
    found.remove_expired(1_099, 100)
    assert found.is_guarded_by(PRODUCER, guard)
    found.remove_expired(1_100, 100)
    assert not found.is_guarded_by(PRODUCER, guard)
    assert len(found) == 0


def test_who_was_verified_in_a_log_begins_in_the_one_that_takes_its_place(tmp_path: Path) -> None:
    """The partition moves to another log directory while its coordinator is asked."""
    manager = manager_on(tmp_path / "one", tmp_path / "other")
    manager.startup()
    log = manager.get_or_create_log(TP, topic_id=UUID(int=1), is_new=True)
    guard = log.begin_verification(PRODUCER, sequence=0, producer_epoch=0)
    target = next(folder for folder in (tmp_path / "one", tmp_path / "other") if folder != log.log_dir.path)
    manager.future.create(TP, str(target))
    with manager.future.swap(TP) as swap:
        assert swap is not None and swap.finish()
    moved = manager.get_log(TP)
    assert moved is not None and moved is not log
    batches = [produced("a", producer_id=PRODUCER, epoch=0, sequence=0, transactional=True) for _ in range(2)]
    with pytest.raises(InvalidTxnState):
        moved.append_as_leader(batches[0], leader_epoch=0)
    assert moved.append_as_leader(batches[1], leader_epoch=0, guard=guard).first_offset == 0
    manager.shutdown()
