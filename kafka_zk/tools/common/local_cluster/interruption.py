"""A signal that asks the work to end: noticed where the work waits, and nowhere else.

Role        Acts. The hook that `Shutdown` runs asks, and waits until the work has put its things in order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_zk.tools.common.program import Shutdown

POLL_S = 0.05


class Interrupted(Exception):
    """A signal asked this run to end; the message says what that leaves."""


class Interruption:
    """Whether a signal has come. A second one ends the process without waiting for the work."""

    def __init__(self) -> None:
        self._is_asked = threading.Event()
        self._is_over = threading.Event()
        self._is_held = False

    @contextmanager
    def heeded_by(self, shutdown: Shutdown) -> Iterator[None]:
        """Around the work."""
        shutdown.add(self._ask)
        try:
            yield
        finally:
            self._is_over.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, no wait ends because of a signal; one that came is noticed at the next wait outside."""
        before, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = before

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Blocks. Whether `condition` came to hold in time. Raises Interrupted."""
        deadline = time.monotonic() + timeout_s
        while True:
            self.check()
            if condition():
                return True
            if time.monotonic() > deadline:
                return False
            if self._is_held:
                time.sleep(POLL_S)
            else:
                self._is_asked.wait(POLL_S)

    def check(self) -> None:
        """Raises Interrupted if a signal has come."""
        if self._is_asked.is_set() and not self._is_held:
            raise Interrupted

    def _ask(self) -> None:
        self._is_asked.set()
        self._is_over.wait()
