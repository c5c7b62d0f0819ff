"""Latencies and rates of produced records, for a window of time and for the whole run.

Role        Pure: times are given.
Invariants  At most 500,000 latencies are kept, a sample if there are more records.
Source      ProducerPerformance.Stats.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from kafka_zk.tools.common.java_format import fixed, ratio
from kafka_zk.tools.common.java_output import JavaError

SAMPLES = 500_000
MIB = 1024 * 1024
PERCENTILES = (0.5, 0.95, 0.99, 0.999)


class Statistics:
    """The results so far. Failed records do not count."""

    def __init__(self, record_count: int, *, interval_ms: int, now_ms: int, report: Callable[[str], None]) -> None:
        """`report` gets a line whenever a window of `interval_ms` is over. Raises JavaError for no records at all."""
        if record_count == 0:
            raise JavaError("/ by zero", "java.lang.ArithmeticException")
        self._sampling = record_count // min(record_count, SAMPLES)
        self._latencies = array("i")
        self._interval_ms = interval_ms
        self._report = report
        self._start_ms = now_ms
        self._count = self._bytes = self._latency_ms = self._max_latency_ms = 0
        self._begin_window(now_ms)

    def _begin_window(self, now_ms: int) -> None:
        self._window_start_ms = now_ms
        self._window_count = self._window_bytes = self._window_latency_ms = self._window_max_ms = 0

    def record(self, latency_ms: int, size_bytes: int, now_ms: int) -> None:
        """One record has arrived."""
        if self._count % self._sampling == 0:
            self._latencies.append(latency_ms)
        self._count += 1
        self._bytes += size_bytes
        self._latency_ms += latency_ms
        self._window_count += 1
        self._window_bytes += size_bytes
        self._window_latency_ms += latency_ms
        if latency_ms > self._window_max_ms:
            self._window_max_ms = latency_ms
            if latency_ms > self._max_latency_ms:
                self._max_latency_ms = latency_ms
        if now_ms - self._window_start_ms >= self._interval_ms:
            self._report(self.window_text(now_ms))
            self._begin_window(now_ms)

    def window_text(self, now_ms: int) -> str:
        """`2001 records sent, 400.2 records/sec (0.04 MB/sec), 9.1 ms avg latency, 375.0 ms max latency.`"""
        elapsed_ms = now_ms - self._window_start_ms
        return (
            f"{self._window_count} records sent, {fixed(_a_second(self._window_count, elapsed_ms), 1)} records/sec "
            f"({fixed(_a_second(self._window_bytes, elapsed_ms) / MIB, 2)} MB/sec), "
            f"{fixed(ratio(self._window_latency_ms, self._window_count), 1)} ms avg latency, "
            f"{fixed(self._window_max_ms, 1)} ms max latency."
        )

    def total_text(self, now_ms: int) -> str:
        """The last line: as above, and the percentiles."""
        elapsed_ms = now_ms - self._start_ms
        halves, p95, p99, p999 = percentiles(self._latencies, PERCENTILES)
        return (
            f"{self._count} records sent, {fixed(_a_second(self._count, elapsed_ms), 6)} records/sec "
            f"({fixed(_a_second(self._bytes, elapsed_ms) / MIB, 2)} MB/sec), "
            f"{fixed(ratio(self._latency_ms, self._count), 2)} ms avg latency, "
            f"{fixed(self._max_latency_ms, 2)} ms max latency, "
            f"{halves} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )


def _a_second(amount: int, elapsed_ms: int) -> float:
    return ratio(1000.0 * amount, elapsed_ms)


def percentiles(latencies: Sequence[int], wanted: Sequence[float]) -> list[int]:
    """The latency at each of the wanted fractions; 0 if there are none."""
    ordered = sorted(latencies)
    return [ordered[int(part * len(ordered))] if ordered else 0 for part in wanted]
