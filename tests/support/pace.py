"""How fast this machine is, so that a bound in milliseconds of CPU means the same on every one."""

from __future__ import annotations

import time

REFERENCE_MS = 20.0
"""What `_work` takes on the machine that such bounds are made for."""
TRIES = 9


def slowness() -> float:
    """How many times longer a piece of work takes here than where the bounds were made; 1 on a faster machine."""
    return max(1.0, min(_work_ms() for _ in range(TRIES)) / REFERENCE_MS)


def _work_ms() -> float:
    """Small objects made and freed: that is what a broker does with a large request."""
    began_ns = time.thread_time_ns()
    made = {f"{number:x}": (number, str(number)) for number in range(50_000)}
    del made
    return (time.thread_time_ns() - began_ns) / 1e6
