"""Sets of source offsets as runs: sorted, disjoint pairs (first offset, count).

Role        Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Run = tuple[int, int]
Runs = tuple[Run, ...]


def runs_of(offsets: Iterable[int]) -> Runs:
    """Of offsets in order; one that is there twice counts once."""
    found: list[Run] = []
    for offset in offsets:
        if found and offset < sum(found[-1]):
            continue
        _add(found, offset, 1)
    return tuple(found)


def joined(first: Runs, second: Runs) -> Runs:
    """What is in one or the other."""
    found: list[Run] = []
    for offset, count in sorted((*first, *second)):
        end = sum(found[-1]) if found else offset
        fresh = max(offset, end)
        if offset + count > fresh:
            _add(found, fresh, offset + count - fresh)
    return tuple(found)


def without(first: Runs, second: Runs) -> Runs:
    """What is in `first` and not in `second`."""
    found: list[Run] = []
    taken = iter(second)
    hole = next(taken, None)
    for offset, count in first:
        at, end = offset, offset + count
        while hole is not None and sum(hole) <= at:
            hole = next(taken, None)
        while hole is not None and hole[0] < end:
            if hole[0] > at:
                _add(found, at, hole[0] - at)
            at = max(at, sum(hole))
            if sum(hole) > end:
                break
            hole = next(taken, None)
        if at < end:
            _add(found, at, end - at)
    return tuple(found)


def part(runs: Runs, start: int, count: int) -> Runs:
    """Of all offsets in order the `count` from number `start` on."""
    found: list[Run] = []
    for offset, length in runs:
        skipped = min(start, length)
        taken = min(count, length - skipped)
        if taken > 0:
            _add(found, offset + skipped, taken)
        start, count = start - skipped, count - max(taken, 0)
    return tuple(found)


def size(runs: Runs) -> int:
    return sum(count for _, count in runs)


def each_offset(runs: Runs) -> Iterator[int]:
    for offset, count in runs:
        yield from range(offset, offset + count)


def _add(found: list[Run], offset: int, count: int) -> None:
    if found and sum(found[-1]) == offset:
        found[-1] = (found[-1][0], found[-1][1] + count)
    else:
        found.append((offset, count))
