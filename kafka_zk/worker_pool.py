"""WorkerPool: a gevent ThreadPool that copes with a system that gives it no further thread.

Role        gevent queues a task, then starts a thread if there are fewer than tasks, and raises if it cannot: although
            the threads there are would come to the task. Here the task then waits for one of them.
Invariants  Only a pool without any thread raises; one whose `start` was called has a thread for good.
Source      gevent 26.9 (pinned): ThreadPool._adjust_step.
"""

from __future__ import annotations

import errno
from typing import Any

from gevent import get_hub
from gevent.threadpool import ThreadPool


class WorkerPool(ThreadPool):
    """At most `maxsize` threads, which start as they are needed."""

    size: int  # A property of gevent's, whose types are not there when modules are compiled.

    def start(self) -> None:
        """Start the first thread. Raises OSError where the system gives none."""
        if self.size:
            return
        try:
            self.size = 1
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, "cannot start a thread (see ulimit -u, and pids.max of the cgroup)") from error

    def _adjust_step(self) -> None:
        try:
            super()._adjust_step()  # type: ignore[misc]  # a private part of gevent
        except RuntimeError:
            if not self.size:
                raise


def start_hub_pool() -> None:
    """Give the hub a pool of this kind: it resolves host names and waits for processes to end. Raises OSError."""
    hub: Any = get_hub()
    if not isinstance(hub.threadpool, WorkerPool):
        hub.threadpool = WorkerPool(hub.threadpool_size, hub=hub)
    hub.threadpool.start()
