"""What is wrong with the dumped files.

Role        Collected while dumping, printed at the end. Some of it is what Apache's tool prints on stderr; whether the
            files are damaged decides the exit code, which is ours.
Invariants  Non-consecutive offsets are not damage: compaction causes them.
Source      DumpLogSegments.main, TimeIndexDumpErrors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_zk.tools.common.java_output import hash_order
from kafka_zk.tools.dump_log.java_file import JavaFile

Pairs = dict[str, list[tuple[int, int]]]
_NEWEST_FIRST = ("indexMismatch", "nonConsecutiveOffsets")


class Finding(NamedTuple):
    """One kind of problem in one file: its title, the format of its lines, and its pairs of numbers."""

    problem: str
    title: str
    line: str
    fields: tuple[str, str]
    file: str
    pairs: list[tuple[int, int]]

    def lines(self) -> Iterator[str]:
        yield self.title.format(self.file)
        for pair in self.pairs:
            yield self.line.format(*pair)


class Findings:
    """By absolute path."""

    def __init__(self) -> None:
        self.is_corrupt = False
        self._index_mismatches: Pairs = {}
        self._time_mismatches: Pairs = {}
        self._out_of_order: Pairs = {}
        self._not_found: Pairs = {}
        self._non_consecutive: Pairs = {}

    def index_mismatch(self, file: JavaFile, index_offset: int, log_offset: int) -> None:
        self._damage(self._index_mismatches, file).append((index_offset, log_offset))

    def time_mismatch(self, file: JavaFile, index_timestamp: int, log_timestamp: int) -> None:
        self._damage(self._time_mismatches, file).append((index_timestamp, log_timestamp))

    def out_of_order(self, file: JavaFile, timestamp: int, previous: int) -> None:
        self._damage(self._out_of_order, file).append((timestamp, previous))

    def offset_not_found(self, file: JavaFile, indexed: int, found: int) -> None:
        """`found` is -1 if the log ends before it."""
        self._damage(self._not_found, file).append((indexed, found))

    def non_consecutive(self, file: JavaFile, pairs: list[tuple[int, int]]) -> None:
        if pairs:
            self._non_consecutive.setdefault(file.absolute, []).extend(pairs)

    def _damage(self, pairs: Pairs, file: JavaFile) -> list[tuple[int, int]]:
        self.is_corrupt = True
        return pairs.setdefault(file.absolute, [])

    def all(self) -> Iterator[Finding]:
        """In the order that Apache prints them."""
        for problem, title, line, fields, pairs in (
            (
                "indexMismatch",
                "Mismatches in :{}",
                "  Index offset: {}, log offset: {}",
                ("indexOffset", "logOffset"),
                self._index_mismatches,
            ),
            (
                "timestampMismatch",
                "Found timestamp mismatch in :{}",
                "  Index timestamp: {}, log timestamp: {}",
                ("indexTimestamp", "logTimestamp"),
                self._time_mismatches,
            ),
            (
                "timestampOutOfOrder",
                "Found out of order timestamp in :{}",
                "  Index timestamp: {}, Previously indexed timestamp: {}",
                ("indexTimestamp", "previousTimestamp"),
                self._out_of_order,
            ),
            (
                "offsetNotFound",
                "The following indexed offsets are not found in the log.",
                "Indexed offset: {}, found log offset: {}",
                ("indexedOffset", "logOffset"),
                self._not_found,
            ),
            (
                "nonConsecutiveOffsets",
                "Non-consecutive offsets in {}",
                "  {} is followed by {}",
                ("offset", "nextOffset"),
                self._non_consecutive,
            ),
        ):
            for file in hash_order(pairs):
                found = pairs[file][::-1] if problem in _NEWEST_FIRST else pairs[file]
                yield Finding(problem, title, line, fields, file, found)
