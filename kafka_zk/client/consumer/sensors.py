"""Averages, extremes and rates over the last minute, and totals, as Java's clients compute them.

Role        Pure but for the clock.
Invariants  A sample lasts metrics.sample.window.ms; two of them count, the current one and the one before.
Source      org.apache.kafka.common.metrics: SampledStat, Rate, MetricConfig.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from kafka_zk.clock import Clock

WINDOW_MS = 30_000
_SAMPLES = 2


class MetricKey(NamedTuple):
    """A metric's name as in Java: name, group and tags, the tags in order."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Sample:
    start_ms: int
    count: int = 0
    total: float = 0.0
    largest: float = -math.inf
    smallest: float = math.inf


class Sensor:
    """Values as they come."""

    __slots__ = ("_clock", "_samples", "count", "last", "total")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._samples = [_Sample(clock.monotonic_ms())]
        self.count = 0
        self.total = 0.0
        self.last = math.nan

    def record(self, value: float) -> None:
        now_ms = self._clock.monotonic_ms()
        sample = self._samples[-1]
        if now_ms - sample.start_ms >= WINDOW_MS:
            sample = _Sample(now_ms)
            self._samples = [*self._samples[1 - _SAMPLES :], sample]
        sample.count += 1
        sample.total += value
        sample.largest = max(sample.largest, value)
        sample.smallest = min(sample.smallest, value)
        self.count += 1
        self.total += value
        self.last = value

    @property
    def _recent(self) -> list[_Sample]:
        oldest_ms = self._clock.monotonic_ms() - _SAMPLES * WINDOW_MS
        return [sample for sample in self._samples if sample.start_ms > oldest_ms and sample.count]

    @property
    def average(self) -> float:
        """NaN without values, as in Java."""
        recent = self._recent
        count = sum(sample.count for sample in recent)
        return sum(sample.total for sample in recent) / count if count else math.nan

    @property
    def maximum(self) -> float:
        return max((sample.largest for sample in self._recent), default=math.nan)

    @property
    def minimum(self) -> float:
        return min((sample.smallest for sample in self._recent), default=math.nan)

    def per_second(self, *, events: bool) -> float:
        """Events, or their values, a second."""
        recent = self._recent
        if not recent:
            return 0.0
        # A window that has only begun counts as a whole one, so that the first events do not look like a storm.
        spent_ms = max(self._clock.monotonic_ms() - recent[0].start_ms, WINDOW_MS)
        return sum(sample.count if events else sample.total for sample in recent) * 1000 / spent_ms


class MetricName:
    """Names of one group of metrics with one set of tags."""

    def __init__(self, group: str, tags: dict[str, str]) -> None:
        self._group = group
        self._tags = tuple(tags.items())

    def __call__(self, name: str) -> MetricKey:
        return MetricKey(name, self._group, self._tags)

    def latency(self, name: str, sensor: Sensor) -> dict[MetricKey, float]:
        return {self(f"{name}-avg"): sensor.average, self(f"{name}-max"): sensor.maximum}

    def rate(self, name: str, sensor: Sensor) -> dict[MetricKey, float]:
        """How often."""
        return {self(f"{name}-rate"): sensor.per_second(events=True), self(f"{name}-total"): float(sensor.count)}

    def totals(self, name: str, sensor: Sensor) -> dict[MetricKey, float]:
        """How much."""
        return {self(f"{name}-rate"): sensor.per_second(events=False), self(f"{name}-total"): sensor.total}
