"""Tunes Python's garbage collector, so that it never scans all objects of a large broker at once.

Role        `begin` once the imports are done, before the broker starts; `freeze` when it has started.
Invariants  A collection looks at what came since the last one of the middle generation: some 60,000 objects, 5 to 9 ms.
            What survived that one stays, and is frozen. If it dies in a cycle later it waits for a look at everything,
            which comes once memory has grown by half: 35 us a partition, so 0.3 s where there are 8,000.
"""

from __future__ import annotations

import gc
import os
from typing import Final, Literal

NEVER: Final = 1 << 30
THRESHOLDS: Final = (10_000, 4, NEVER)
"""Requests leave no cycles, so what the collector finds is what happens to be alive: connections, partitions, topics. A
young collection takes 0.5 ms; after each fifth comes one of the middle generation.
"""
THEN_ALL: Final = (10_000, 4, 0)
"""The next collection looks at everything."""

GROWN_BYTES: Final = 48 << 20
"""A deleted partition leaves cycles (4 KB), and so does a connection that ends while its fetch waits. Memory that has
grown by less, or by less than half, is not worth the time of a look at everything.
"""

_MIDDLE: Final = 1
_OLDEST: Final = 2
_PAGE_BYTES: Final = os.sysconf("SC_PAGESIZE")


def _resident_bytes() -> int:
    """Of this process, without what it maps of files. 20 us."""
    with open("/proc/self/statm", "rb") as statm:
        _, resident, shared = map(int, statm.read().split()[:3])
    return (resident - shared) * _PAGE_BYTES


class _Memory:
    """How much there was when all was looked at."""

    __slots__ = ("size_bytes",)

    def __init__(self) -> None:
        self.size_bytes = 0

    def note(self) -> None:
        self.size_bytes = _resident_bytes()

    @property
    def has_grown(self) -> bool:
        """Beside a large request (giving_way.py) it takes twice as much: part of that goes with the request."""
        enough = max(GROWN_BYTES, self.size_bytes // 2) * (1 if gc.isenabled() else 2)
        return _resident_bytes() - self.size_bytes > enough


_memory: Final = _Memory()


def begin() -> None:
    freeze()
    gc.callbacks.append(_on_collection)
    gc.set_threshold(*THRESHOLDS)
    gc.enable()


def freeze() -> None:
    """What is there now stays: no collection needs to look at it before memory has grown by half."""
    gc.freeze()
    _memory.note()


def generation_due() -> int:
    """Which one is to be collected where the collector waits, and somebody collects in its place."""
    return _OLDEST if gc.get_threshold() == THEN_ALL else _MIDDLE


def _on_collection(phase: Literal["start", "stop"], info: dict[str, int]) -> None:
    generation = info["generation"]
    if phase == "start":
        if generation == _OLDEST:
            gc.unfreeze()
    elif generation == _OLDEST:
        freeze()
        gc.set_threshold(*THRESHOLDS)
    elif generation == _MIDDLE:
        if _memory.has_grown:
            # Nothing is frozen until then: that would have Python count again to the next collection.
            gc.set_threshold(*THEN_ALL)
        else:
            gc.freeze()
