"""The threads of the log: for appends, reads, syncs, everything that may take long, one for what needs much memory.

Invariants  A thread runs only calls that release the GIL. fsync never shares a pool with reads or appends.
            `sync_soon` joins requests: a file that is waiting to be synced is synced once.
            Syncs run side by side: a journalling file system commits many of them in the time of one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast

import gevent
from gevent.threadpool import ThreadPool

from kafka_zk.giving_way import look_at_what_came

log = logging.getLogger("kafka.log.LogManager")

T = TypeVar("T")

APPEND_THREADS = 4
READ_THREADS = 4
MAINTENANCE_THREADS = 2
SYNC_THREADS = 16
"""A sync is nearly all waiting, so there may be far more than processors."""


class LogPools:
    """All threads are started here. Raises RuntimeError where the system allows no more."""

    def __init__(self) -> None:
        self.append = _started(APPEND_THREADS)
        self.read = _started(READ_THREADS)
        self.maintenance = _started(MAINTENANCE_THREADS)
        self.sync = _started(SYNC_THREADS)
        self.large = _started(1)
        self._to_sync: dict[Path, Callable[[Path], None]] = {}
        self._syncers: set[gevent.Greenlet[..., None]] = set()

    def run_to_end(self, pool: ThreadPool, function: Callable[..., T], *arguments: object) -> T:
        """Blocks. Run `function` in a thread of `pool`; its result or exception.

        A greenlet that is killed meanwhile still waits for the thread to end: the thread uses files and buffers that
        are somebody else's afterwards.
        """
        result = pool.spawn(_outcome, function, *arguments)
        try:
            value, error = cast(tuple[T, Exception | None], result.get())
        except BaseException:
            # Killed while the thread runs.
            while not result.ready():
                with suppress(BaseException):
                    result.wait()
            raise
        if error is None:
            return value
        try:
            raise error
        finally:
            # Otherwise the error, its traceback and this frame keep one another and every buffer below them alive.
            del error, result

    def run_in_threads(self, thread_count: int, work: Callable[[], None]) -> None:
        """Blocks. Run `work` in so many threads of its own at the same time; raises the first error once all ended.

        `work` may be Python-heavy: the loop then gets its turn every switch interval.
        """
        pool = ThreadPool(thread_count)
        errors: list[Exception] = []

        def run() -> None:
            try:
                self.run_to_end(pool, work)
            except Exception as error:
                errors.append(error)  # Raised below, once nothing runs any more.

        workers = [gevent.spawn(run) for _ in range(thread_count)]
        try:
            gevent.joinall(workers)
        finally:
            gevent.killall(workers)
            pool.kill()
        if errors:
            raise errors[0]

    def sync_soon(self, path: Path, sync: Callable[[Path], None]) -> None:
        """Have `sync(path)` run in the background, once for all who asked meanwhile. Its OSError is logged only:
        what must not be lost is synced by whoever depends on it."""
        self._to_sync[path] = sync
        if len(self._syncers) < SYNC_THREADS:
            self._syncers.add(gevent.spawn(self._sync_all))

    def drain(self) -> None:
        """Blocks. Wait for what `sync_soon` was asked for."""
        gevent.joinall(list(self._syncers))

    def for_each(self, items: Iterable[T], work: Callable[[T], None]) -> None:
        """Blocks. Do `work`, which blocks in threads, for all items, as many at once as there are threads for syncs.

        Raises the first error, once nothing runs any more; items that were not begun by then are left out.
        """
        waiting = iter(items)
        errors: list[Exception] = []

        def work_on() -> None:
            for item in waiting:
                try:
                    work(item)
                    look_at_what_came()
                except Exception as error:
                    errors.append(error)
                if errors:
                    return

        workers = [gevent.spawn(work_on) for _ in range(SYNC_THREADS)]
        try:
            gevent.joinall(workers)
        finally:
            # Killed while waiting: what a thread has begun must end before the files are somebody else's.
            gevent.killall(workers)
        if errors:
            raise errors[0]

    def _sync_all(self) -> None:
        try:
            while self._to_sync:
                path, sync = next(iter(self._to_sync.items()))
                del self._to_sync[path]
                try:
                    self.run_to_end(self.sync, sync, path)
                except FileNotFoundError:
                    continue  # The partition was deleted meanwhile.
                except Exception:
                    log.exception("Failed to sync %s", path)
        finally:
            self._syncers.discard(gevent.getcurrent())


def _started(thread_count: int) -> ThreadPool:
    """A pool whose threads run from now on.

    gevent starts a thread when a task finds none idle, but queues the task first: where no thread can be started then,
    the caller is told so, and the task runs all the same, whenever another thread comes to it.
    """
    pool = ThreadPool(thread_count)
    pool.size = thread_count
    return pool


def _outcome(function: Callable[..., T], *arguments: object) -> tuple[T | None, Exception | None]:
    """In a thread. gevent prints the traceback of every exception that leaves one, whoever handles it: none does."""
    try:
        return function(*arguments), None
    except Exception as error:
        # Raised again by the caller, in its own greenlet.
        return None, error
