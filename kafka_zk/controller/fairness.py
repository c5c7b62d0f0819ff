"""Letting others run while the controller goes through thousands of partitions.

Role        Acts: switches. For loops of the controller's greenlet whose data nobody else changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from kafka_zk.giving_way import let_others_in

T = TypeVar("T")

SLICE_S = 0.01
"""How long a loop may keep the others waiting."""


def in_turns(items: Iterable[T]) -> Iterator[T]:
    """Blocks now and then. `items`, one after the other."""
    until = time.monotonic() + SLICE_S
    for item in items:
        yield item
        if time.monotonic() > until:
            let_others_in()
            until = time.monotonic() + SLICE_S
