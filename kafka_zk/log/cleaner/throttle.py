"""Throttle: limits the I/O of all cleaners together (log.cleaner.io.max.bytes.per.second).

Role        Pure: the time is given.
Invariants  Checked every 300 ms at most: a cleaner over the limit then pauses until the rate is within it.
Source      Kafka 3.9 org.apache.kafka.storage.internals.utils.Throttler.
"""

from __future__ import annotations

from collections.abc import Callable

INTERVAL_MS = 300
BYTES_AT_ONCE = 8 * 1024 * 1024


class Throttle:
    """`note_bytes` is called with all bytes, for the metric."""

    def __init__(self, bytes_per_second: float, *, now_ms: int, note_bytes: Callable[[int], None]) -> None:
        self._bytes_per_ms = bytes_per_second / 1000
        self._note_bytes = note_bytes
        self._began_ms = now_ms
        self._seen_bytes = 0

    def allow(self, bytes_per_second: float) -> None:
        """Set the limit in bytes per second."""
        self._bytes_per_ms = bytes_per_second / 1000

    def rest_after(self, size_bytes: int, now_ms: int) -> int:
        """Milliseconds to pause after so many bytes were read or written; 0 for none."""
        self._note_bytes(size_bytes)
        self._seen_bytes += size_bytes
        elapsed_ms = now_ms - self._began_ms
        if elapsed_ms <= INTERVAL_MS or not self._seen_bytes:
            return 0
        rest_ms = max(0, round(self._seen_bytes / self._bytes_per_ms - elapsed_ms))
        self._began_ms = now_ms + rest_ms
        self._seen_bytes = 0
        return rest_ms

    def bytes_at_once(self, least_bytes: int) -> int:
        """How much to do before `rest_after` is asked again, so that rests stay short."""
        return int(max(least_bytes, min(BYTES_AT_ONCE, self._bytes_per_ms * INTERVAL_MS)))
