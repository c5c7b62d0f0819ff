"""Sampled statistics: rates, averages and maxima over the last few windows of time.

Role        Pure. The second generation of Kafka's metrics (connections, quotas, coordinators) is made of these.
Invariants  Only samples with a value in the last `num_samples * window_ms` count. There is one sample more than asked
            for, because the oldest one that counts overlaps the beginning of that time.
Source      org.apache.kafka.common.metrics.stats: SampledStat, Rate.windowSize, SimpleRate, Avg, Max.
"""

from __future__ import annotations

from collections.abc import Callable


class _Sample:
    __slots__ = ("count", "last_ms", "most", "start_ms", "total")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.total = 0.0
        self.count = 0
        self.most = float("-inf")


class SampledStat:
    """Values recorded over the last windows; all times are monotonic milliseconds."""

    __slots__ = ("_current", "_num_samples", "_samples", "_window_ms")

    def __init__(self, *, num_samples: int, window_ms: int) -> None:
        self._num_samples = num_samples
        self._window_ms = window_ms
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        """Negative values take back what was recorded."""
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._window_ms:
            sample = self._next_sample(now_ms)
        sample.total += value
        sample.count += 1
        sample.last_ms = now_ms
        if value > sample.most:
            sample.most = value

    def total(self, now_ms: int) -> float:
        self._reset_old(now_ms)
        return sum(sample.total for sample in self._samples)

    def rate(self, now_ms: int) -> float:
        """The total per second over `span_ms`."""
        return self.total(now_ms) * 1000 / self.span_ms(now_ms) if self._samples else 0.0

    def simple_rate(self, now_ms: int) -> float:
        """The total per second over the time since the oldest sample began, but at least over one window.

        Being asked begins the first sample, as in Kafka. Source: SimpleRate.windowSize.
        """
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        total = self.total(now_ms)
        elapsed_ms = now_ms - min(sample.start_ms for sample in self._samples)
        return total / (max(elapsed_ms, self._window_ms) / 1000)

    def span_ms(self, now_ms: int) -> int:
        """The time covered, in ms: at least that of all windows but the newest, and at least 1."""
        self._reset_old(now_ms)
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        full_windows = elapsed_ms // self._window_ms
        missing = max(0, self._num_samples - 1 - full_windows)
        return max(1, elapsed_ms + missing * self._window_ms)

    def average(self, now_ms: int) -> float:
        """NaN without a sample, as in Kafka."""
        self._reset_old(now_ms)
        count = sum(sample.count for sample in self._samples)
        return sum(sample.total for sample in self._samples) / count if count else float("nan")

    def maximum(self, now_ms: int) -> float:
        """NaN without a sample, as in Kafka."""
        self._reset_old(now_ms)
        return max((sample.most for sample in self._samples if sample.count), default=float("nan"))

    def _next_sample(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (self._num_samples + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def _reset_old(self, now_ms: int) -> None:
        latest_old_ms = now_ms - self._num_samples * self._window_ms
        for sample in self._samples:
            if sample.last_ms <= latest_old_ms:
                sample.reset(now_ms)


class RateOfTotal:
    """The growth per second of a total that is counted elsewhere; read once a second."""

    __slots__ = ("_now_ms", "_seen", "_stat", "total")

    def __init__(self, total: Callable[[], int], stat: SampledStat) -> None:
        self.total = total
        self._seen = total()
        self._stat = stat
        self._now_ms = 0

    def sample(self, now_ms: int) -> bool:
        """Fold in what was counted since the last call. Returns False, as a folder with nothing left."""
        total = self.total()
        self._stat.record(total - self._seen, now_ms)
        self._seen, self._now_ms = total, now_ms
        return False

    def rate(self) -> float:
        """Per second."""
        return self._stat.rate(self._now_ms)
