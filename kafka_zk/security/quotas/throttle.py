"""The throttle time of a client that exceeded its quota.

Role        Pure.
Source      QuotaUtils.throttleTime, ControllerMutationQuotaManager.throttleTimeMs; Math.round and narrowing of Java.
"""

from __future__ import annotations

import math

_LONG_MAX = 2**63 - 1


def rate_throttle_ms(rate: float, bound: float, span_ms: int, *, at_most_ms: int | None = None) -> int:
    """How long nothing may follow until a `rate` over `span_ms` has come down to `bound`.

    A bound of 0 gives no wait without a cap, as in Kafka, where an infinite one becomes -1.
    """
    over = rate - bound
    wait_ms = _rounded(over / bound * span_ms if bound else math.inf)
    if at_most_ms is not None:
        wait_ms = min(wait_ms, at_most_ms)
    return _narrowed(wait_ms)


def token_throttle_ms(tokens: float, tokens_per_second: float) -> int:
    """How long until a bucket with less than no tokens is at zero again."""
    return _narrowed(_rounded(-tokens / tokens_per_second * 1000 if tokens_per_second else math.inf))


def _rounded(value: float) -> int:
    if not abs(value) < _LONG_MAX:
        # Also what is infinite: a bound may be as small as 1e-320, or below 0.
        return -_LONG_MAX - 1 if value < 0 else _LONG_MAX
    return math.floor(value + 0.5)


def _narrowed(value: int) -> int:
    """As a long becomes an int in Java; what is negative then is no wait."""
    value &= 0xFFFF_FFFF
    return max(0, value - (1 << 32) if value >= 1 << 31 else value)
