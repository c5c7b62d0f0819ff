"""Clocks as parameters: the broker's real clock, and the simulated one of the tests.

Role        Every package takes a `Clock`; none reads the time by itself.
Invariants  Wall and monotonic times are never compared with each other.
            `SimClock` runs due tasks in deadline order and stops at each deadline.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from typing import Any, Protocol


class Timer(Protocol):
    """A task that is due later. `cancel` is harmless after the task ran."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for records and znodes, monotonic time for everything that waits."""

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch; may jump."""

    def monotonic_ms(self) -> int:
        """Milliseconds since an unknown moment; never goes back."""

    def call_at(self, deadline_ms: int, task: Callable[[], None]) -> Timer:
        """Run `task` once `monotonic_ms()` has reached `deadline_ms`."""


class SystemClock:
    """The machine's clocks; timers run on the gevent loop, each task in a greenlet of its own."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def call_at(self, deadline_ms: int, task: Callable[[], None]) -> Timer:
        return _LoopTimer(max(0, deadline_ms - self.monotonic_ms()) / 1000, task)


class _LoopTimer:
    """A libev timer: cheaper than a sleeping greenlet, which purgatory would need by the thousand."""

    __slots__ = ("_watcher",)

    def __init__(self, delay_s: float, task: Callable[[], None]) -> None:
        from gevent import get_hub, spawn

        watcher = get_hub().loop.timer(delay_s)
        self._watcher: Any = watcher

        def fire() -> None:
            self.cancel()
            spawn(task)

        watcher.start(fire)

    def cancel(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = None


class SimClock:
    """A clock that moves only when told. Its two times start far apart, so that mixing them up fails at once."""

    def __init__(self, wall_ms: int = 1_700_000_000_000, monotonic_ms: int = 5_000) -> None:
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms
        self._order = itertools.count()
        self._tasks: list[tuple[int, int, _SimTimer]] = []

    def wall_ms(self) -> int:
        return self._wall_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def call_at(self, deadline_ms: int, task: Callable[[], None]) -> Timer:
        timer = _SimTimer(task)
        heapq.heappush(self._tasks, (deadline_ms, next(self._order), timer))
        return timer

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next task falls due, a cancelled one included; None without any."""
        return self._tasks[0][0] if self._tasks else None

    def advance(self, ms: int) -> None:
        """Move both times by `ms`, running every task that falls due, each at its own deadline."""
        until = self._monotonic_ms + ms
        while self._tasks and self._tasks[0][0] <= until:
            deadline, _, timer = heapq.heappop(self._tasks)
            self._move_to(max(deadline, self._monotonic_ms))
            timer.run()
        self._move_to(until)

    def set_wall(self, ms: int) -> None:
        """As if the machine's clock were set: only the wall time moves, by `ms`."""
        self._wall_ms += ms

    def _move_to(self, monotonic_ms: int) -> None:
        self._wall_ms += monotonic_ms - self._monotonic_ms
        self._monotonic_ms = monotonic_ms


class _SimTimer:
    __slots__ = ("_task",)

    def __init__(self, task: Callable[[], None]) -> None:
        self._task: Callable[[], None] | None = task

    def cancel(self) -> None:
        self._task = None

    def run(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task()
