"""What Python's collector looks at in a broker that grows: what is new, and now and then all of it."""

from __future__ import annotations

import subprocess
import sys

BEGIN = """
import gc, weakref
from kafka_zk import garbage_collection

class Cycle:
    def __init__(self):
        self.itself = self

def count():
    return sum(len(gc.get_objects(generation)) for generation in range(3))

garbage_collection.begin()
"""


def in_a_broker(script: str) -> str:
    """What `script` prints in a process of its own: what a collector does is the whole process's."""
    command = [sys.executable, "-c", BEGIN + script]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_no_collection_looks_at_all_that_came_to_stay() -> None:
    most_seen = in_a_broker(
        """
seen = []
gc.callbacks.append(lambda phase, info: seen.append(count()) if phase == "start" else None)
stays = [[] for _ in range(1_000_000)]
print(max(seen))
"""
    )
    assert int(most_seen) < 100_000


def test_what_dies_in_a_cycle_is_freed_though_it_was_there_for_long() -> None:
    alive = in_a_broker(
        """
there_for_long = Cycle()
seen = weakref.ref(there_for_long)
stays = [[] for _ in range(200_000)]
del there_for_long
print(seen() is not None)
stays += [[] for _ in range(70_000 * garbage_collection.OF_EVERYTHING)]
print(seen() is not None)
"""
    )
    assert alive.split() == ["True", "False"]
