"""Throttle: limits the I/O of all cleaners together (log.cleaner.io.max.bytes.per.second).

Role        Pure: the time is given.
Invariants  Checked every 300 ms at most: a cleaner over the limit then pauses until the rate is within it, and so does
            each other one that asks meanwhile.
Source      Kafka 3.9 org.apache.kafka.storage.internals.utils.Throttler.
"""

from __future__ import annotations

from collections.abc import Callable

INTERVAL_MS = 300
BYTES_AT_ONCE = 8 * 1024 * 1024

LONGEST_REST_MS = 2**31 - 1
"""Under a limit of 0: until the limit changes, which starts the cleaners again, or the broker stops."""


class Throttle:
    """`note_bytes` is called with all bytes, for the metric."""

    def __init__(self, bytes_per_second: float, *, now_ms: int, note_bytes: Callable[[int], None]) -> None:
        self._bytes_per_ms = bytes_per_second / 1000
        self._note_bytes = note_bytes
        self._began_ms = now_ms
        self._seen_bytes = 0

    def allow(self, bytes_per_second: float, now_ms: int) -> None:
        """Set the limit in bytes per second. A rest under the last one is over."""
        self._bytes_per_ms = bytes_per_second / 1000
        self._began_ms = min(self._began_ms, now_ms)

    def rest_after(self, size_bytes: int, now_ms: int) -> int:
        """Milliseconds to pause after so many bytes were read or written; 0 for none."""
        self._note_bytes(size_bytes)
        self._seen_bytes += size_bytes
        elapsed_ms = now_ms - self._began_ms
        if elapsed_ms < 0:
            # Another cleaner rests until then for all of them; what this one did counts from there on.
            return -elapsed_ms
        if elapsed_ms <= INTERVAL_MS or not self._seen_bytes:
            return 0
        allowed_in_ms = self._seen_bytes / self._bytes_per_ms if self._bytes_per_ms else LONGEST_REST_MS
        rest_ms = max(0, round(min(allowed_in_ms - elapsed_ms, LONGEST_REST_MS)))
        self._began_ms = now_ms + rest_ms
        self._seen_bytes = 0
        return rest_ms

    def bytes_at_once(self, least_bytes: int) -> int:
        """How much to do before `rest_after` is asked again, so that rests stay short."""
        return int(max(least_bytes, min(BYTES_AT_ONCE, self._bytes_per_ms * INTERVAL_MS)))
