"""Guards of transactions that are about to begin."""

from __future__ import annotations

from kafka_zk.log.state.verification import VerificationGuard, Verifications

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
