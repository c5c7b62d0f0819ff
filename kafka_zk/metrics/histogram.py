"""Histograms and timers, weighted towards the last five minutes.

Role        Pure. The hot path only appends to a list; `fold` does the arithmetic once a second.
Invariants  Memory is bounded: values above 1,023 share a bucket when they differ by less than 0.2 %, and values whose
            weight has decayed away are dropped.
Source      com.yammer.metrics Histogram (count, min, max, mean and deviation cover the whole life) and its
            exponentially decaying sample (alpha 0.015 a second). Differs from Kafka: every value counts, where Kafka
            keeps a random sample of 1,028; so folding counts equal values and needs no random numbers.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Callable, Iterable

from kafka_zk.metrics.meters import Meter
from kafka_zk.metrics.values import AttributeValue

QUANTILES = (
    ("50thPercentile", 0.5),
    ("75thPercentile", 0.75),
    ("95thPercentile", 0.95),
    ("98thPercentile", 0.98),
    ("99thPercentile", 0.99),
    ("999thPercentile", 0.999),
)
_ALPHA = 0.015
# Weights grow with exp(alpha t); before they overflow, everything is scaled back.
_RESCALE_MS = 3_600_000
_NEGLIGIBLE = 1e-6
_EXACT_BELOW = 1024


class Histogram:
    """The distribution of a value. `update(value)` is a bare list.append."""

    kind = "histogram"
    __slots__ = ("_landmark_ms", "_m2", "_max", "_mean", "_min", "_pending", "_weights", "count", "update")

    def __init__(self, start_ms: int) -> None:
        self._pending: list[float] = []
        self.update: Callable[[float], None] = self._pending.append
        self.count = 0
        self._min = 0.0
        self._max = 0.0
        self._mean = 0.0
        self._m2 = 0.0
        self._landmark_ms = start_ms
        self._weights: dict[float, float] = {}

    def fold(self, now_ms: int) -> None:
        """Fold in the pending values, as of `now_ms` (monotonic)."""
        if not self._pending:
            return
        tally = Tally(self._pending)
        self._pending.clear()
        self.add(tally.items(), now_ms)

    def add(self, tally: Iterable[tuple[float, int]], now_ms: int) -> None:
        """Fold in (value, count) pairs, as of `now_ms`."""
        if now_ms - self._landmark_ms >= _RESCALE_MS:
            self._rescale(now_ms)
        weight = math.exp(_ALPHA * (now_ms - self._landmark_ms) / 1000)
        weights = self._weights
        for value, times in tally:
            bucket = bucket_of(value)
            weights[bucket] = weights.get(bucket, 0.0) + times * weight
            if self.count == 0:
                self._min = self._max = value
            elif value < self._min:
                self._min = value
            elif value > self._max:
                self._max = value
            self.count += times
            # Welford's update for `times` equal values at once.
            delta = value - self._mean
            self._mean += delta * times / self.count
            self._m2 += delta * (value - self._mean) * times

    def quantiles(self) -> list[float]:
        """The values of QUANTILES, 0.0 when nothing was recorded."""
        if not self._weights:
            return [0.0] * len(QUANTILES)
        ordered = sorted(self._weights.items())
        total = sum(self._weights.values())
        result = []
        position, below = 0, ordered[0][1]
        for _, quantile in QUANTILES:
            while below < quantile * total and position < len(ordered) - 1:
                position += 1
                below += ordered[position][1]
            result.append(float(ordered[position][0]))
        return result

    def attributes(self) -> dict[str, AttributeValue]:
        deviation = math.sqrt(self._m2 / (self.count - 1)) if self.count > 1 else 0.0
        percentiles = dict(zip((name for name, _ in QUANTILES), self.quantiles(), strict=True))
        return {
            **percentiles,
            "Count": self.count,
            "Max": float(self._max),
            "Mean": self._mean,
            "Min": float(self._min),
            "StdDev": deviation,
        }

    def _rescale(self, now_ms: int) -> None:
        factor = math.exp(-_ALPHA * (now_ms - self._landmark_ms) / 1000)
        self._landmark_ms = now_ms
        self._weights = {
            value: weight * factor for value, weight in self._weights.items() if weight * factor > _NEGLIGIBLE
        }


class Timer:
    """A histogram of durations in milliseconds, and a meter of their rate. `update(ms)` is a bare list.append."""

    kind = "timer"
    __slots__ = ("_histogram", "_meter", "_pending", "update")

    def __init__(self, start_ms: int) -> None:
        self._pending: list[float] = []
        self.update: Callable[[float], None] = self._pending.append
        self._histogram = Histogram(start_ms)
        self._meter = Meter(start_ms, "calls")

    @property
    def count(self) -> int:
        return self._histogram.count + len(self._pending)

    def fold(self, now_ms: int) -> None:
        """Fold in the pending values, as of `now_ms` (monotonic)."""
        tally = Tally(self._pending)
        self._meter.add(len(self._pending))
        self._pending.clear()
        if tally:
            self._histogram.add(tally.items(), now_ms)
        self._meter.fold(now_ms)

    def quantiles(self) -> list[float]:
        return self._histogram.quantiles()

    def attributes(self) -> dict[str, AttributeValue]:
        return {**self._meter.attributes(), **self._histogram.attributes(), "LatencyUnit": "MILLISECONDS"}


def bucket_of(value: float) -> float:
    """The bucket of `value`: the value itself if it is a small whole number, else its ten leading bits."""
    if value == 0 or (value == int(value) and abs(value) < _EXACT_BELOW):
        return value
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * _EXACT_BELOW), exponent - 10)
