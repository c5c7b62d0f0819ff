"""Yields to other greenlets after each millisecond of work on large requests.

Role        Called between the elements of large requests and responses, wherever they are decoded, handled or encoded.
            Only greenlets that opted in are switched; callbacks in others, simulations and tools never are.
Invariants  One greenlet works at a time, and notes when it went on: so one note does for all. Between two calls nobody
            else runs; across one, everything may have changed.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import getrefcount
from typing import Any, Final, TypeVar

from gevent import get_hub, getcurrent

from kafka_zk import garbage_collection

T = TypeVar("T")

TURN_NS: Final = 1_000_000
"""How long somebody works before everybody else has a turn."""

MOST_UNSEEN: Final = 20_000
"""So many objects more than before may be there that the collector has not seen: a look at them takes 1.5 ms."""

AT_ONCE: Final = 256
"""So many elements are freed before somebody else may have a turn."""

_now: Final = time.monotonic_ns


class _Turn:
    """When the greenlet that works now went on (or earlier), and the greenlets that work in turns."""

    __slots__ = ("began_ns", "large_count", "pause", "taking")

    def __init__(self) -> None:
        self.began_ns = 0
        self.large_count = 0
        self.taking: set[Any] = set()
        self.pause: Callable[[], object] = let_others_in


def let_others_in() -> None:
    """Blocks. Until every socket that is ready now was looked at: a callback of the loop would come before them."""
    look_at_what_came()
    hub: Any = get_hub()
    with hub.loop.timer(0.0) as timer:
        hub.loop.update_now()
        hub.wait(timer)


_turn: Final = _Turn()


def give_way() -> None:
    """Blocks in a greenlet that is `InTurns`. Let everybody else have a turn, if ours has lasted long enough."""
    if _now() - _turn.began_ns >= TURN_NS and getcurrent() in _turn.taking:
        _turn.pause()
        _turn.began_ns = _now()


class InTurns:
    """While it is entered the greenlet at hand works in turns. May be entered again inside.

    `large`: what it works on is many objects, and the work may last: a request that creates thousands of topics waits
    for each. Python's garbage collector would walk all of them in one go, so it waits, and looks a little at a time at
    what came meanwhile.
    """

    __slots__ = ("_greenlet", "_inside", "_large")

    def __init__(self, *, large: bool) -> None:
        self._greenlet: Any = getcurrent()
        self._large = large and (_turn.large_count > 0 or gc.isenabled())

    def __enter__(self) -> None:
        self._inside = self._greenlet in _turn.taking
        if not self._inside:
            # Else its turn goes on: it may enter again for each of thousands of elements.
            _turn.taking.add(self._greenlet)
            _turn.began_ns = _now()
        if self._large:
            look_at_what_came()
            _turn.large_count += 1
            gc.disable()

    def __exit__(self, *_: object) -> None:
        if not self._inside:
            _turn.taking.discard(self._greenlet)
        if self._large:
            _turn.large_count -= 1
            if not _turn.large_count:
                gc.enable()


def look_at_what_came() -> None:
    """Free cycles in place of the collector, which waits while a large request is under way. For who makes much then.

    What stays is not looked at again, see garbage_collection.py.
    """
    if _turn.large_count and gc.get_count()[0] > MOST_UNSEEN:
        gc.collect(garbage_collection.generation_due())


def in_turns(items: Iterable[T]) -> Iterator[T]:
    """Blocks. The same items, giving way before each one."""
    for item in items:
        give_way()
        yield item


def in_rounds(items: Iterable[T], count: int) -> Iterator[T]:
    """Blocks. The same items; after each `count` of them everybody else has a turn, in whatever greenlet this is."""
    for number, item in enumerate(items, 1):
        yield item
        if number % count == 0:
            _turn.pause()


SLICE_S = 0.01
"""How long a loop over thousands of things that is no request keeps the others waiting. Not Final: simulations have no
turns by time, so that a history repeats."""


def in_slices(items: Iterable[T]) -> Iterator[T]:
    """Blocks. The same items; after each slice of time everybody else has a turn, in whatever greenlet this is.

    For loops whose data nobody else changes meanwhile.
    """
    until_s = time.monotonic() + SLICE_S
    for item in items:
        yield item
        if time.monotonic() > until_s:
            _turn.pause()
            until_s = time.monotonic() + SLICE_S


def let_go(*collections: list[Any] | set[Any] | dict[Any, Any]) -> None:
    """Blocks. Empty each, some elements at a time: what nobody else keeps is freed in turns."""
    for collection in collections:
        while collection:
            if isinstance(collection, list):
                del collection[-AT_ONCE:]
            else:
                take = collection.popitem if isinstance(collection, dict) else collection.pop
                for _ in range(min(len(collection), AT_ONCE)):
                    take()
            give_way()


def take_apart(value: Any, lists_of: Callable[[type], Sequence[str]]) -> None:
    """Blocks. Free the lists inside a message object that nobody else refers to, some elements at a time.

    `lists_of` names the fields of a class that may hold lists. What others keep stays as it is.
    """
    for name in lists_of(type(value)):
        items = getattr(value, name)
        # Referred to by `value`, by `items` and by the call.
        if type(items) is not list or getrefcount(items) > 3:
            continue
        inner = bool(items) and bool(lists_of(type(items[-1])))
        while items:
            if inner:
                element = items.pop()
                if element is not None and getrefcount(element) <= 2:
                    take_apart(element, lists_of)
                del element
            else:
                del items[-AT_ONCE:]
            give_way()
