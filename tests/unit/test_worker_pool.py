"""Where the system gives no further thread, work waits for the threads there are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import gevent
import gevent.threadpool
import pytest
from gevent import get_hub

from kafka_zk import worker_pool
from kafka_zk.worker_pool import WorkerPool

PATIENCE_S = 30
NO_THREAD = "can't start new thread"


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(4)
    yield made
    made.kill()


@pytest.fixture
def refuse_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(gevent.threadpool, "start_new_thread", _refused)


def _refused(*_: Any) -> None:
    raise RuntimeError(NO_THREAD)


def test_a_task_waits_for_the_only_thread(pool: WorkerPool, refuse_threads: Callable[[], None]) -> None:
    pool.start()
    refuse_threads()
    may_end = threading.Event()
    first = pool.spawn(may_end.wait, PATIENCE_S)
    others = [pool.spawn(abs, -number) for number in range(3)]
    gevent.sleep(0)
    assert not any(task.ready() for task in others)
    may_end.set()
    assert first.get(timeout=PATIENCE_S)
    assert [task.get(timeout=PATIENCE_S) for task in others] == [0, 1, 2]
    assert pool.size == 1


def test_a_pool_grows_again_when_threads_are_there_again(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    pool.start()
    both = threading.Barrier(2)
    with monkeypatch.context() as patch:
        patch.setattr(gevent.threadpool, "start_new_thread", _refused)
        first = pool.spawn(both.wait, PATIENCE_S)
        gevent.sleep(0)
    second = pool.spawn(both.wait, PATIENCE_S)
    assert sorted((first.get(timeout=PATIENCE_S), second.get(timeout=PATIENCE_S))) == [0, 1]


def test_a_pool_without_any_thread_raises(pool: WorkerPool, refuse_threads: Callable[[], None]) -> None:
    refuse_threads()
    with pytest.raises(RuntimeError, match=NO_THREAD):
        pool.spawn(abs, -1)


def test_a_start_that_gets_no_thread_says_what_to_look_at(pool: WorkerPool, refuse_threads: Callable[[], None]) -> None:
    refuse_threads()
    with pytest.raises(OSError, match=r"cannot start a thread \(see ulimit -u"):
        pool.start()


def test_the_hubs_pool_has_a_thread_from_the_start(
    monkeypatch: pytest.MonkeyPatch, refuse_threads: Callable[[], None]
) -> None:
    hub: Any = get_hub()
    monkeypatch.setattr(hub, "threadpool", None)
    worker_pool.start_hub_pool()
    refuse_threads()
    assert hub.threadpool.apply(abs, (-1,)) == 1
    hub.threadpool.kill()
