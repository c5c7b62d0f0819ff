"""Counters and meters: totals, and rates per second.

Role        Pure. The hot path only appends to a list; `fold` does the arithmetic once a second.
Invariants  `count` never goes down. A value is in `pending` or in `count`, never in both.
Source      com.yammer.metrics Meter and EWMA (ticks of 5 s, weights of 1, 5 and 15 minutes).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kafka_zk.metrics.values import AttributeValue

TICK_MS = 5_000
_TICK_S = TICK_MS / 1000
_WEIGHTS = tuple(1 - math.exp(-_TICK_S / 60 / minutes) for minutes in (1, 5, 15))


class Counter:
    """A total. `inc(n)` is a bare list.append."""

    kind = "counter"
    __slots__ = ("_count", "_pending", "inc")

    def __init__(self) -> None:
        self._pending: list[int] = []
        self._count = 0
        self.inc: Callable[[int], None] = self._pending.append

    @property
    def count(self) -> int:
        """The total, including what is pending."""
        return self._count + sum(self._pending)

    def fold(self, now_ms: int) -> None:
        self._count += drain_sum(self._pending)

    def attributes(self) -> dict[str, AttributeValue]:
        return {"Count": self.count}


class Meter:
    """A total and its rates per second. `mark(n)` is a bare list.append."""

    kind = "meter"
    __slots__ = (
        "_count",
        "_event_type",
        "_next_tick_ms",
        "_pending",
        "_rates",
        "_start_ms",
        "_total",
        "_uncounted",
        "mark",
    )

    def __init__(self, start_ms: int, event_type: str = "requests", *, total: Callable[[], int] | None = None) -> None:
        """With `total`, the meter follows that count instead of being marked."""
        self._total = total
        self._pending: list[int] = []
        self.mark: Callable[[int], None] = self._pending.append
        self._event_type = event_type
        self._count = 0
        self._uncounted = 0
        self._rates: list[float] | None = None
        self._start_ms = start_ms
        self._next_tick_ms = start_ms + TICK_MS

    @property
    def count(self) -> int:
        """The total, including what is pending."""
        return self._count + sum(self._pending) if self._total is None else self._total()

    def add(self, amount: int) -> None:
        """Count `amount` at once; for callers that fold themselves."""
        self._count += amount
        self._uncounted += amount

    def fold(self, now_ms: int) -> None:
        """Fold in what is pending and bring the rates up to `now_ms` (monotonic)."""
        self.add(drain_sum(self._pending) if self._total is None else self._total() - self._count)
        while self._next_tick_ms <= now_ms:
            self._tick()
            self._next_tick_ms += TICK_MS

    def mean_rate(self, now_ms: int) -> float:
        """Events per second since the meter was made."""
        elapsed_ms = now_ms - self._start_ms
        return self.count * 1000 / elapsed_ms if elapsed_ms > 0 and self.count else 0.0

    def rates(self) -> tuple[float, float, float]:
        """Events per second, weighted over the last 1, 5 and 15 minutes."""
        one, five, fifteen = self._rates or (0.0, 0.0, 0.0)
        return one, five, fifteen

    def attributes(self) -> dict[str, AttributeValue]:
        one, five, fifteen = self.rates()
        now_ms = self._next_tick_ms - TICK_MS
        return {
            "Count": self.count,
            "EventType": self._event_type,
            "FifteenMinuteRate": fifteen,
            "FiveMinuteRate": five,
            "MeanRate": self.mean_rate(now_ms),
            "OneMinuteRate": one,
            "RateUnit": "SECONDS",
        }

    def _tick(self) -> None:
        rate = self._uncounted / _TICK_S
        self._uncounted = 0
        if self._rates is None:
            self._rates = [rate] * len(_WEIGHTS)
            return
        self._rates = [old + weight * (rate - old) for old, weight in zip(self._rates, _WEIGHTS, strict=True)]


def drain_sum(pending: list[int]) -> int:
    """The sum of `pending`, which is emptied in place (handles keep pointing at it)."""
    total = sum(pending)
    pending.clear()
    return total
