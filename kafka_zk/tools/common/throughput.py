"""--throughput: limits records per second.

Role        `Throttle` decides when to wait; `wait` sleeps.
Source      org.apache.kafka.server.util.ThroughputThrottler.
"""

from __future__ import annotations

import threading
import time

SHORTEST_SLEEP_S = 0.002
"""Shorter waits are saved up, since sleeping itself takes time."""


class Throttle:
    """Holds the mean rate since `start_ms` at `per_second`; a negative rate is no limit, zero stops everything."""

    def __init__(self, per_second: float, start_ms: int) -> None:
        self._per_second = per_second
        self._start_ms = start_ms
        self._owed_s = 0.0
        self._stopped = threading.Event()

    def is_due(self, count: int, now_ms: int) -> bool:
        """Whether `count` records by `now_ms` are too many."""
        elapsed_s = (now_ms - self._start_ms) / 1000
        return self._per_second >= 0 and elapsed_s > 0 and count / elapsed_s > self._per_second

    def wait(self) -> None:
        """Blocks for one record's share of a second, or until `stop`."""
        if self._per_second == 0:
            self._stopped.wait()
            return
        self._owed_s += 1 / self._per_second
        if self._owed_s < SHORTEST_SLEEP_S:
            return
        begun_s = time.monotonic()
        self._stopped.wait(self._owed_s)
        self._owed_s -= time.monotonic() - begun_s

    def stop(self) -> None:
        """End a wait, and all later ones."""
        self._stopped.set()
