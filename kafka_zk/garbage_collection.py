"""When Python's garbage collector looks for cycles, and at how much: never at all that a large broker holds in one go.

Role        `begin` once the imports are done, before the broker starts; `freeze` when it has started.
Invariants  A collection looks at what came since the last full one (some 60,000 objects, 5 to 9 ms), not at what stays:
            what survived a full collection is frozen. What dies in cycles after that waits for every fiftieth full
            collection, which looks at everything: 35 us a partition, so 0.3 s where there are 8,000 of them.
"""

from __future__ import annotations

import gc
import itertools
from typing import Final, Literal

THRESHOLDS: Final = (10_000, 4, 0)
"""Requests leave no cycles, so what the collector finds is what happens to be alive: connections, partitions, topics. A
young collection takes 0.5 ms; the fifth is one of the middle generation, and the next one after that is a full one.
"""

OF_EVERYTHING: Final = 50
"""A deleted partition leaves cycles, 4 KB of them, and so does a connection that ends while its fetch waits. These must
not become a gigabyte: after three million objects that came to stay, all is looked at once.
"""

freeze = gc.freeze
"""What is there now stays for good: no collection needs to look at it."""

_oldest: Final = len(THRESHOLDS) - 1
_full_collections = itertools.count(1)


def begin() -> None:
    gc.freeze()
    gc.callbacks.append(_freeze_survivors)
    gc.set_threshold(*THRESHOLDS)
    gc.enable()


def _freeze_survivors(phase: Literal["start", "stop"], info: dict[str, int]) -> None:
    if info["generation"] != _oldest:
        return
    if phase == "stop":
        gc.freeze()
    elif next(_full_collections) % OF_EVERYTHING == 0:
        gc.unfreeze()
