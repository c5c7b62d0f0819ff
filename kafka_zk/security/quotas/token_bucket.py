"""A token bucket, which bounds the mutations a client may request.

Role        Pure.
Invariants  Never holds more than a burst, which is what flows in during all windows. It may be overdrawn without bound.
Source      org.apache.kafka.common.metrics.stats.TokenBucket; KIP-599.
"""

from __future__ import annotations


class TokenBucket:
    """Full at first. `rate` is tokens a second, `burst_s` for how many seconds it saves them up."""

    __slots__ = ("_burst_s", "_last_ms", "_tokens")

    def __init__(self, *, burst_s: float) -> None:
        self._burst_s = burst_s
        self._tokens = float("inf")
        self._last_ms = 0

    def tokens(self, rate: float, now_ms: int) -> float:
        """What is in it, below zero when more was taken."""
        self._refill(rate, now_ms)
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int) -> None:
        """Take tokens out, whether they are there or not."""
        self._refill(rate, now_ms)
        self._tokens = min(self._burst_s * rate, self._tokens - count)

    def _refill(self, rate: float, now_ms: int) -> None:
        self._tokens = min(self._burst_s * rate, self._tokens + rate * (now_ms - self._last_ms) / 1000)
        self._last_ms = now_ms
