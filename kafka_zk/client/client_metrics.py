"""A client's own metrics, under Java's names.

Role        Pure: times are given. Recorded by one thread, read by any.
Invariants  A name is group, name and tags; asking for a snapshot changes nothing.
Source      org.apache.kafka.common.metrics (Metrics, MetricName, stats), SenderMetricsRegistry.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafka_zk.metrics.windows import SampledStat

Read = Callable[[int], float]


class MetricName(NamedTuple):
    """`tags` are sorted pairs, such as (("client-id", "producer-1"),)."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...]


class Meter:
    """A total and a rate per second."""

    __slots__ = ("_stat", "total")

    def __init__(self, stat: SampledStat) -> None:
        self._stat = stat
        self.total = 0.0

    def mark(self, amount: float, now_ms: int) -> None:
        self._stat.record(amount, now_ms)
        self.total += amount


class ClientMetrics:
    """All metrics of one client."""

    def __init__(self, client_id: str, *, num_samples: int = 2, window_ms: int = 30_000) -> None:
        self._tags = (("client-id", client_id),)
        self._num_samples = num_samples
        self._window_ms = window_ms
        self._readings: dict[MetricName, Read] = {}
        self._lock = threading.Lock()

    def meter(self, group: str, name: str, tags: Mapping[str, str] | None = None) -> Meter:
        """`name`-rate and `name`-total."""
        stat = self._stat()
        meter = Meter(stat)
        self._add(group, f"{name}-rate", tags, stat.rate)
        self._add(group, f"{name}-total", tags, lambda _: meter.total)
        return meter

    def average(self, group: str, name: str, tags: Mapping[str, str] | None = None, *, maximum: bool) -> SampledStat:
        """`name`-avg, and `name`-max if wanted: NaN without a sample, as in Java."""
        stat = self._stat()
        self._add(group, f"{name}-avg", tags, stat.average)
        if maximum:
            self._add(group, f"{name}-max", tags, stat.maximum)
        return stat

    def gauge(self, group: str, name: str, read: Read, tags: Mapping[str, str] | None = None) -> None:
        """A value that is read on each snapshot; `read` is given the time."""
        self._add(group, name, tags, read)

    def snapshot(self, now_ms: int) -> dict[MetricName, float]:
        """The current values of all metrics."""
        with self._lock:
            readings = dict(self._readings)
        return {name: read(now_ms) for name, read in readings.items()}

    def _stat(self) -> SampledStat:
        return SampledStat(num_samples=self._num_samples, window_ms=self._window_ms)

    def _add(self, group: str, name: str, tags: Mapping[str, str] | None, read: Read) -> None:
        all_tags = tuple(sorted({**dict(self._tags), **(tags or {})}.items()))
        with self._lock:
            self._readings[MetricName(name, group, all_tags)] = read
