"""A token bucket: holds a rate, and lets through at once what was saved up.

Role        Pure: the time is given.
Invariants  Never holds more tokens than a burst. It may be overdrawn without bound: then it is empty until the debt has
            flowed in.
Source      org.apache.kafka.common.metrics.stats.TokenBucket; KIP-599.
"""

from __future__ import annotations


class TokenBucket:
    """Full at first. It fills at `rate` tokens a second and saves at most `burst_s` seconds of them."""

    __slots__ = ("_burst_s", "_last_ms", "_tokens")

    def __init__(self, *, burst_s: float) -> None:
        self._burst_s = burst_s
        self._tokens = float("inf")
        self._last_ms = 0

    def tokens(self, rate: float, now_ms: int) -> float:
        """The tokens in the bucket; below zero when more were taken than it held."""
        self._refill(rate, now_ms)
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int) -> None:
        """Take tokens out, whether the bucket holds that many or not."""
        self._refill(rate, now_ms)
        self._tokens = min(self._burst_s * rate, self._tokens - count)

    def _refill(self, rate: float, now_ms: int) -> None:
        self._tokens = min(self._burst_s * rate, self._tokens + rate * (now_ms - self._last_ms) / 1000)
        self._last_ms = now_ms
