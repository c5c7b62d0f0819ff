"""Pending: settled once, callbacks once."""

from __future__ import annotations

import gevent
import pytest

from kafka_zk.network.pending import Pending, completed


def test_the_first_to_settle_wins() -> None:
    pending: Pending[int] = Pending()
    assert pending.complete(1)
    assert not pending.complete(2)
    assert not pending.fail(ValueError("late"))
    assert pending.value == 1
    assert pending.error is None


def test_callbacks_run_once_and_in_order_also_when_asked_late() -> None:
    pending: Pending[str] = Pending()
    seen: list[tuple[int, str]] = []
    pending.on_complete(lambda settled: seen.append((1, settled.value)))
    pending.on_complete(lambda settled: seen.append((2, settled.value)))
    pending.complete("done")
    pending.complete("again")
    pending.on_complete(lambda settled: seen.append((3, settled.value)))
    assert seen == [(1, "done"), (2, "done"), (3, "done")]


def test_a_failure_is_raised_where_the_value_is_asked_for() -> None:
    pending: Pending[int] = Pending()
    pending.fail(KeyError("gone"))
    with pytest.raises(KeyError):
        _ = pending.value
    with pytest.raises(KeyError):
        pending.result()


def test_what_follows_is_made_of_the_value_once_it_is_there() -> None:
    pending: Pending[int] = Pending()
    doubled = pending.then(lambda value: value * 2)
    assert not doubled.is_done
    pending.complete(4)
    assert doubled.value == 8


def test_what_follows_fails_with_what_it_waits_for_or_by_itself() -> None:
    failed: Pending[int] = Pending()
    after_a_failure = failed.then(lambda value: value * 2)
    lost = KeyError("gone")
    failed.fail(lost)
    assert after_a_failure.error is lost
    assert isinstance(completed(0).then(lambda value: 1 // value).error, ZeroDivisionError)


def test_result_waits_for_another_greenlet() -> None:
    pending: Pending[int] = Pending()
    gevent.spawn(pending.complete, 7)
    assert pending.result(timeout_ms=5000) == 7


def test_result_gives_up_after_its_time() -> None:
    pending: Pending[int] = Pending()
    with pytest.raises(TimeoutError):
        pending.result(timeout_ms=1)


def test_completed_is_settled_from_the_start() -> None:
    assert completed(3).is_done
    assert completed(3).result(timeout_ms=0) == 3
