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
        self.large = bytes(2000)

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
stays = [[] for _ in range(2_000_000)]
garbage_collection.freeze()
seen = []
gc.callbacks.append(lambda phase, info: seen.append(count()) if phase == "start" else None)
stays += [[] for _ in range(600_000)]
print(max(seen))
"""
    )
    assert int(most_seen) < 100_000


def test_memory_that_has_grown_by_half_is_looked_at_once() -> None:
    most_seen = in_a_broker(
        """
looks = []
gc.callbacks.append(lambda phase, info: looks.append(info["generation"]) if phase == "start" else None)
stays = [[] for _ in range(900_000)]
print(looks.count(2), gc.get_threshold() == garbage_collection.THRESHOLDS)
stays += [[] for _ in range(100_000)]
print(looks.count(2))
"""
    )
    assert most_seen.split() == ["1", "True", "1"]


def test_what_dies_in_a_cycle_is_freed_though_it_was_there_for_long() -> None:
    alive = in_a_broker(
        """
there_for_long = Cycle()
seen = weakref.ref(there_for_long)
stays = [[] for _ in range(200_000)]
del there_for_long
print(seen() is not None)
stays += [[] for _ in range(900_000)]
print(seen() is not None)
"""
    )
    assert alive.split() == ["True", "False"]


def test_memory_stays_bounded_where_what_came_to_stay_goes_in_cycles() -> None:
    """Topics that come and go, say: each lives for so long that collections have seen it alive."""
    most_alive = in_a_broker(
        """
alive, most = [], 0
for _ in range(60):
    there = [Cycle() for _ in range(20_000)]
    alive += map(weakref.ref, there)
    del there
    alive = [each for each in alive if each() is not None]
    most = max(most, len(alive))
print(most)
"""
    )
    assert int(most_alive) < 200_000


def test_nor_where_large_requests_follow_on_each_other_without_a_gap() -> None:
    most_alive = in_a_broker(
        """
from kafka_zk.giving_way import InTurns
alive, most = [], 0
with InTurns(large=True):
    for _ in range(80):
        with InTurns(large=True):
            there = [Cycle() for _ in range(20_000)]
            alive += map(weakref.ref, there)
        with InTurns(large=True):
            pass
        del there
        alive = [each for each in alive if each() is not None]
        most = max(most, len(alive))
print(most)
"""
    )
    assert int(most_alive) < 1_000_000
