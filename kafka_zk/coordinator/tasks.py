"""The background work of a coordinator: one greenlet, one task after another.

Role        Acts. A task may block; an unexpected error ends it and no other.
Invariants  However many wait, everybody else has turns between them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import gevent
from gevent.event import Event

from kafka_zk.giving_way import in_slices
from kafka_zk.supervision import caught, spawn_for_life

Task = Callable[[], None]


class Tasks:
    """`name` is that of the owner, for the lines of unexpected errors."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: deque[Task] = deque()
        self._has_task = Event()
        self._worker: gevent.Greenlet[..., None] | None = None

    @property
    def is_idle(self) -> bool:
        return not self._has_task.is_set()

    def start(self) -> None:
        self._worker = spawn_for_life(self._name, self._work)

    def stop(self) -> None:
        """Blocks. What has not begun never does, and what runs is ended where it blocks."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def later(self, task: Task) -> None:
        """Run it after those that wait already. Does not switch."""
        self._tasks.append(task)
        self._has_task.set()

    def _work(self) -> None:
        while True:
            self._has_task.wait()
            for task in in_slices(self._waiting()):
                try:
                    task()
                except Exception:
                    # A bug of ours in one partition must not end the greenlet that loads all others.
                    caught(self._name, "a background task failed")
            self._has_task.clear()

    def _waiting(self) -> Iterator[Task]:
        while self._tasks:
            yield self._tasks.popleft()
