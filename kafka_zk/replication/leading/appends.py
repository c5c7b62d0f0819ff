"""Tracks the appends of one partition, and holds them while its leadership changes.

Role        Acts: blocks greenlets. `wait_while_held`, `count` and `ended` are for appenders, `held` is for changes
            of the leadership.
Invariants  While `held` is entered no append is in progress. A change rejects no appends: waiting ones see its result.
Source      Kafka 3.9 Partition.leaderIsrUpdateLock, whose read lock appenders hold.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gevent.event import Event


class Appends:
    """`count`: appends in progress. `change`: set when the change that holds the others is over."""

    __slots__ = ("_none_left", "change", "count")

    def __init__(self) -> None:
        self.count = 0
        self.change: Event | None = None
        self._none_left = Event()

    def wait_while_held(self) -> None:
        """Blocks until appends are no longer held."""
        while self.change is not None:
            self.change.wait()

    def ended(self) -> None:
        """An append in progress has ended."""
        if not self.count:
            self._none_left.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Blocks until the appends in progress have ended. One change at a time."""
        assert self.change is None
        change = self.change = Event()
        try:
            if self.count:
                self._none_left.clear()
                self._none_left.wait()
            yield
        finally:
            self.change = None
            change.set()
