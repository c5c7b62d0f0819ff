"""Segments: the segments of one log in the order of their base offsets.

Role        Plain. Knows the order, nothing about files.
Invariants  Base offsets strictly increase. The last one is active: it receives appends.
Source      LogSegments.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from kafka_zk.log.segments.segment import LogSegment


class Segments:
    """Never empty once its log is loaded."""

    __slots__ = ("_all", "_bases")

    def __init__(self) -> None:
        self._all: list[LogSegment] = []
        self._bases: list[int] = []

    @property
    def active(self) -> LogSegment:
        return self._all[-1]

    @property
    def first(self) -> LogSegment:
        return self._all[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._all)

    def add(self, segment: LogSegment) -> None:
        slot = bisect_left(self._bases, segment.base_offset)
        assert slot == len(self._bases) or self._bases[slot] != segment.base_offset, f"two segments at {segment}"
        self._bases.insert(slot, segment.base_offset)
        self._all.insert(slot, segment)

    def remove(self, segment: LogSegment) -> None:
        slot = self._all.index(segment)
        del self._all[slot], self._bases[slot]

    def clear(self) -> None:
        self._all.clear()
        self._bases.clear()

    def at(self, base_offset: int) -> LogSegment | None:
        slot = bisect_left(self._bases, base_offset)
        return self._all[slot] if slot < len(self._bases) and self._bases[slot] == base_offset else None

    def holding(self, offset: int) -> LogSegment | None:
        """The segment that `offset` falls into: the last with a base offset <= it."""
        slot = bisect_right(self._bases, offset)
        return self._all[slot - 1] if slot else None

    def after(self, segment: LogSegment) -> LogSegment | None:
        """The next segment."""
        slot = bisect_right(self._bases, segment.base_offset)
        return self._all[slot] if slot < len(self._all) else None

    def from_offset(self, offset: int) -> list[LogSegment]:
        """The segment that `offset` falls into and all behind it."""
        return self._all[max(0, bisect_right(self._bases, offset) - 1) :]

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(list(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"segments {self._bases}"
