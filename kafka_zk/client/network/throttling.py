"""Which responses ask the client to pause.

Role        Pure.
Source      AbstractResponse.shouldClientThrottle of each response; KIP-219.
"""

from __future__ import annotations

from typing import Final

# Before these versions the broker itself waits before it answers.
_FIRST_VERSIONS: Final = {
    0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2,
    21: 1, 22: 1, 23: 2, 24: 1, 25: 1, 26: 1, 28: 1,
}  # fmt: skip


def pause_ms(api_key: int, version: int, answer: object) -> int:
    """How long no request may be sent to the broker that answered so."""
    throttle_ms = getattr(answer, "throttle_time_ms", 0)
    return throttle_ms if throttle_ms > 0 and version >= _FIRST_VERSIONS.get(api_key, 0) else 0
