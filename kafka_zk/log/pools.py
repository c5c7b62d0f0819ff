"""The log's thread pools: appends, reads, syncs, slow work, and one thread for memory-heavy work.

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

from kafka_zk.giving_way import look_at_what_came
from kafka_zk.worker_pool import WorkerPool

log = logging.getLogger("kafka.log.LogManager")

T = TypeVar("T")

APPEND_THREADS = 4
READ_THREADS = 4
MAINTENANCE_THREADS = 2
DELETION_THREADS = 1
"""Nobody waits for a deletion, and a deleted topic may have thousands."""

SYNC_THREADS = 16
"""A sync is nearly all waiting, so there may be far more than processors."""


class LogPools:
    """After `start` each pool has a thread; others start on demand."""

    def __init__(self) -> None:
        self.append = WorkerPool(APPEND_THREADS)
        self.read = WorkerPool(READ_THREADS)
        self.maintenance = WorkerPool(MAINTENANCE_THREADS)
        self.deletion = WorkerPool(DELETION_THREADS)
        self.sync = WorkerPool(SYNC_THREADS)
        self.large = WorkerPool(1)
        self._to_sync: dict[Path, tuple[Callable[[Path], None], Callable[[OSError], object]]] = {}
        self._syncers: set[gevent.Greenlet[..., None]] = set()

    def start(self) -> None:
        """Start a thread in each pool, so that no later call fails for lack of one. Raises OSError."""
        for pool in (self.append, self.read, self.maintenance, self.deletion, self.sync, self.large):
            pool.start()

    def run_to_end(self, pool: WorkerPool, function: Callable[..., T], *arguments: object) -> T:
        """Blocks. Run `function` in a thread of `pool`; its result or exception.

        A greenlet that is killed meanwhile still waits for the thread to end: the thread uses files and buffers that
        are used by other code afterwards.
        """
        task = _Task(function, arguments)
        try:
            result = pool.spawn(task)
        except BaseException:
            # The pool has no thread and could not start one, but gevent queued the task before it tried.
            task.call_off()
            raise
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
        """Blocks. Run `work` in that many new threads in parallel; raises the first error once all ended.

        `work` may be Python-heavy: the loop then gets its turn every switch interval.
        """
        pool = WorkerPool(thread_count)
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

    def sync_soon(self, path: Path, sync: Callable[[Path], None], failed: Callable[[OSError], object]) -> None:
        """Run `sync(path)` in the background, once for all callers meanwhile. `failed` gets its OSError.

        Code that depends on the data must sync it itself.
        """
        self._to_sync[path] = sync, failed
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
            # Killed while waiting: the running work must end before other code uses the files.
            gevent.killall(workers)
        if errors:
            raise errors[0]

    def _sync_all(self) -> None:
        try:
            while self._to_sync:
                path, (sync, failed) = next(iter(self._to_sync.items()))
                del self._to_sync[path]
                try:
                    self.run_to_end(self.sync, sync, path)
                except FileNotFoundError:
                    continue  # The partition was deleted meanwhile.
                except OSError as error:
                    failed(error)
                except Exception:
                    log.exception("Failed to sync %s", path)
        finally:
            self._syncers.discard(gevent.getcurrent())


class _Task:
    """A call that runs in a thread, and can be cancelled until it has begun."""

    __slots__ = ("_arguments", "_function", "_is_over", "_may_begin")

    def __init__(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self._function = function
        self._arguments = arguments
        # Holds one item. The thread or `call_off` pops it, and so decides whether the call runs.
        self._may_begin = [True]
        self._is_over = False

    def __call__(self) -> tuple[object, Exception | None]:
        """Runs in a thread. Returns errors: gevent prints the traceback of each one that is raised here."""
        try:
            self._may_begin.pop()
        except IndexError:
            return None, None
        try:
            return self._function(*self._arguments), None
        except Exception as error:
            # Raised again by the caller, in its own greenlet.
            return None, error
        finally:
            self._is_over = True

    def call_off(self) -> None:
        """Blocks if the call has begun, until it has ended."""
        try:
            self._may_begin.pop()
        except IndexError:
            # Polled: rare, and no watcher of the loop belongs to a task that could not be spawned.
            while not self._is_over:
                gevent.sleep(0.001)
        # The task stays in gevent's queue; what it was called with need not.
        self._function, self._arguments = len, ()
