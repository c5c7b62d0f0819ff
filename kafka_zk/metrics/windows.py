"""Sampled statistics: rates, averages and maxima over the last few windows of time.

Role        Pure. The second generation of Kafka's metrics (connections, quotas, coordinators) is made of these.
Invariants  Only samples that touch the last `num_samples * window_ms` count; older ones are dropped when read.
Source      org.apache.kafka.common.metrics.stats: SampledStat, Rate.windowSize, Avg, Max.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Sample:
    start_ms: int
    total: float = 0.0
    count: int = 0
    most: float = float("-inf")


class SampledStat:
    """Values recorded over the last windows; all times are monotonic milliseconds."""

    __slots__ = ("_num_samples", "_samples", "_window_ms")

    def __init__(self, *, num_samples: int, window_ms: int) -> None:
        self._num_samples = num_samples
        self._window_ms = window_ms
        self._samples: list[_Sample] = []

    def record(self, value: float, now_ms: int) -> None:
        if not self._samples or now_ms - self._samples[-1].start_ms >= self._window_ms:
            self._drop_old(now_ms)
            self._samples.append(_Sample(now_ms))
        sample = self._samples[-1]
        sample.total += value
        sample.count += 1
        sample.most = max(sample.most, value)

    def total(self, now_ms: int) -> float:
        self._drop_old(now_ms)
        return sum(sample.total for sample in self._samples)

    def rate(self, now_ms: int) -> float:
        """Total a second over `span_ms`."""
        return self.total(now_ms) * 1000 / max(self.span_ms(now_ms), 1) if self._samples else 0.0

    def span_ms(self, now_ms: int) -> int:
        """The time covered, which counts as at least all windows but the newest."""
        self._drop_old(now_ms)
        elapsed_ms = now_ms - self._samples[0].start_ms if self._samples else 0
        full_windows = elapsed_ms // self._window_ms
        missing = max(0, self._num_samples - 1 - full_windows)
        return elapsed_ms + missing * self._window_ms

    def average(self, now_ms: int) -> float:
        """NaN without a sample, as in Kafka."""
        self._drop_old(now_ms)
        count = sum(sample.count for sample in self._samples)
        return sum(sample.total for sample in self._samples) / count if count else float("nan")

    def maximum(self, now_ms: int) -> float:
        """NaN without a sample, as in Kafka."""
        self._drop_old(now_ms)
        return max((sample.most for sample in self._samples), default=float("nan"))

    def _drop_old(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._num_samples * self._window_ms
        self._samples = [sample for sample in self._samples if sample.start_ms > oldest_ms]


class RateOfTotal:
    """How fast a total grows that somebody counts anyway; looked at once a second."""

    __slots__ = ("_now_ms", "_seen", "_stat", "total")

    def __init__(self, total: Callable[[], int], stat: SampledStat) -> None:
        self.total = total
        self._seen = total()
        self._stat = stat
        self._now_ms = 0

    def sample(self, now_ms: int) -> bool:
        """Take in what was counted since the last call; False, as a folder that has no more."""
        total = self.total()
        self._stat.record(total - self._seen, now_ms)
        self._seen, self._now_ms = total, now_ms
        return False

    def rate(self) -> float:
        """A second."""
        return self._stat.rate(self._now_ms)
