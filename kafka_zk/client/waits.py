"""The longest time that a thread can wait in one call.

Role        Pure.
"""

from __future__ import annotations

import threading


def waitable(timeout_s: float) -> float:
    """`timeout_s`, or the longest wait there is: the largest long in ms, in Java "for ever", is beyond it."""
    return min(timeout_s, threading.TIMEOUT_MAX)
