"""The log's threads, played by the loop: a call is made at once, and now and then others come first or after."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import gevent

from kafka_zk.log.pools import LogPools

T = TypeVar("T")


class InlinePools(LogPools):
    """Deterministic: who runs when is drawn from `chance`, not decided by the machine."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.append = self.read = self.maintenance = self.sync = None  # type: ignore[assignment]
        self.deletion = self.large = None  # type: ignore[assignment]
        self._to_sync: dict[Path, tuple[Callable[[Path], None], Callable[[OSError], object]]] = {}
        self._syncers: set[gevent.Greenlet[..., None]] = set()

    def start(self) -> None:
        """There are no threads."""

    def run_to_end(self, pool: Any, function: Callable[..., T], *arguments: object) -> T:
        self._let_others()
        try:
            return function(*arguments)
        finally:
            self._let_others()

    def run_in_threads(self, thread_count: int, work: Callable[[], None]) -> None:
        self.run_to_end(None, work)

    def _sync_all(self) -> None:
        """In the background, and the background may be slow."""
        for _ in range(self._chance.choice((0, 3, 100))):
            gevent.sleep(0)
        super()._sync_all()

    def for_each(self, items: Iterable[T], work: Callable[[T], None]) -> None:
        for item in items:
            work(item)

    def _let_others(self) -> None:
        if self._chance.random() < 0.3:
            gevent.sleep(0)
