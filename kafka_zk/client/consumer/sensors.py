"""Averages, extremes, rates and totals over recent windows, as Java's clients compute them.

Role        Pure but for the clock. The statistics are those of `kafka_zk.metrics`, the names those of all clients.
Source      org.apache.kafka.common.metrics: Sensor, SampledStat, Rate, MetricConfig.
"""

from __future__ import annotations

import math

from kafka_zk.client.client_metrics import MetricName
from kafka_zk.clock import Clock
from kafka_zk.metrics.windows import SampledStat

WINDOW_MS = 30_000
_SAMPLES = 2


class Sensor:
    """Values as they come."""

    __slots__ = ("_clock", "_events", "_negated", "_values", "count", "last", "total")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._values = SampledStat(num_samples=_SAMPLES, window_ms=WINDOW_MS)
        self._negated = SampledStat(num_samples=_SAMPLES, window_ms=WINDOW_MS)
        self._events = SampledStat(num_samples=_SAMPLES, window_ms=WINDOW_MS)
        self.count = 0
        self.total = 0.0
        self.last = math.nan

    def record(self, value: float) -> None:
        now_ms = self._clock.monotonic_ms()
        self._values.record(value, now_ms)
        self._negated.record(-value, now_ms)
        self._events.record(1, now_ms)
        self.count += 1
        self.total += value
        self.last = value

    @property
    def average(self) -> float:
        """NaN without values, as in Java; so are the extremes."""
        return self._values.average(self._clock.monotonic_ms())

    @property
    def maximum(self) -> float:
        return self._values.maximum(self._clock.monotonic_ms())

    @property
    def minimum(self) -> float:
        return -self._negated.maximum(self._clock.monotonic_ms())

    @property
    def values_a_second(self) -> float:
        return self._values.rate(self._clock.monotonic_ms())

    @property
    def events_a_second(self) -> float:
        return self._events.rate(self._clock.monotonic_ms())


class MetricNames:
    """Names of one group of metrics with one set of tags."""

    def __init__(self, group: str, tags: dict[str, str]) -> None:
        self._group = group
        self._tags = tuple(sorted(tags.items()))

    def __call__(self, name: str) -> MetricName:
        return MetricName(name, self._group, self._tags)

    def latency(self, name: str, sensor: Sensor) -> dict[MetricName, float]:
        return {self(f"{name}-avg"): sensor.average, self(f"{name}-max"): sensor.maximum}

    def rate(self, name: str, sensor: Sensor) -> dict[MetricName, float]:
        """How often."""
        return {self(f"{name}-rate"): sensor.events_a_second, self(f"{name}-total"): float(sensor.count)}

    def totals(self, name: str, sensor: Sensor) -> dict[MetricName, float]:
        """How much."""
        return {self(f"{name}-rate"): sensor.values_a_second, self(f"{name}-total"): sensor.total}
