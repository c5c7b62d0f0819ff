"""Counts values in fields of a message: the pure twin of `_codec.pyx`'s Tally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_zk.protocol.value import Value


class Tally:
    """Counts the values of the fields `counted` of an object, and what the tallies of `lists` count in its lists.

    `lists` are names of fields, each with the Tally of the objects in it; a list may be None.
    """

    __slots__ = ("_counted", "_lists")

    def __init__(
        self, value_class: type[Value], counted: tuple[str, ...], lists: tuple[tuple[str, Tally], ...]
    ) -> None:
        self._counted = counted
        self._lists = lists

    def count(self, value: Any, counts: dict[int, int]) -> None:
        """Add one to `counts[code]` for every value found."""
        for name in self._counted:
            code = getattr(value, name)
            counts[code] = counts.get(code, 0) + 1
        for name, tally in self._lists:
            for element in getattr(value, name) or ():
                tally.count(element, counts)

    def count_in_turns(self, value: Any, counts: dict[int, int], give_way: Callable[[], object]) -> None:
        """Blocks as `give_way` does, which is called between the elements of lists."""
        for name in self._counted:
            code = getattr(value, name)
            counts[code] = counts.get(code, 0) + 1
        for name, tally in self._lists:
            for element in getattr(value, name) or ():
                tally.count_in_turns(element, counts, give_way)
                give_way()
