"""The longest time that a thread can wait in one call.

Role        Pure.
"""

from __future__ import annotations

import threading


def waitable(timeout_s: float) -> float:
    """`timeout_s`, or the longest possible wait: Java's "for ever", the largest long in ms, exceeds it."""
    return min(timeout_s, threading.TIMEOUT_MAX)
