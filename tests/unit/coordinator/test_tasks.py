"""The background work of a coordinator: tasks one after another, beside all that the broker does for others."""

from __future__ import annotations

import time
from collections.abc import Iterator

import gevent
import pytest

from kafka_zk.coordinator.tasks import Tasks


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    made = Tasks("test")
    made.start()
    gevent.sleep(0)
    yield made
    made.stop()


def test_others_have_turns_however_many_tasks_wait(tasks: Tasks) -> None:
    """As when thousands of transactions time out at once: none of these tasks switches by itself."""

    def work() -> None:
        until_s = time.monotonic() + 0.002
        while time.monotonic() < until_s:
            pass

    for _ in range(100):
        tasks.later(work)
    seen: list[bool] = []
    gevent.spawn(lambda: seen.append(tasks.is_idle)).join()
    assert seen == [False]


def test_an_unexpected_error_ends_its_task_and_no_other(tasks: Tasks) -> None:
    done: list[str] = []
    tasks.later(lambda: done.append("before"))
    tasks.later(lambda: 1 // 0)
    tasks.later(lambda: done.append("after"))
    while not tasks.is_idle:
        gevent.sleep(0)
    assert done == ["before", "after"]
