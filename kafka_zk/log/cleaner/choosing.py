"""Which log is cleaned next, and which of its offsets.

Role        Pure: decides from the facts of a log. Maximum timestamps may have to be read from a file, so they are
            only requested where they matter.
Invariants  Nothing at or behind the last stable offset is cleaned, nothing in the active segment, and nothing behind
            the first segment that min.compaction.lag.ms protects.
            A log is worth cleaning when its dirty share is above (not at) min.cleanable.dirty.ratio, or when its oldest
            dirty record is older than max.compaction.lag.ms.
Source      Kafka 3.9 LogCleanerManager: cleanableOffsets, calculateCleanableBytes, maxCompactionDelay,
            grabFilthiestCompactedLog; LogToClean.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

MAX_INT64 = (1 << 63) - 1


class Based(Protocol):
    @property
    def base_offset(self) -> int: ...


class SegmentFacts(Protocol):
    """The facts of a segment that choosing needs; timestamps are looked up on demand."""

    @property
    def base_offset(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def largest_timestamp(self) -> int: ...
    @property
    def first_batch_timestamp(self) -> int:
        """-1 or 0 when there is none."""
        ...


S = TypeVar("S", bound=Based)
L = TypeVar("L")


class LogFacts(NamedTuple):
    """A log at one moment. `segments`: all of it, oldest first, the active one last."""

    segments: Sequence[SegmentFacts]
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    is_deleted_from: bool
    """Whether its policy is compact and delete: then its start normally passes the checkpoint."""


class Reset(Enum):
    """Why the checkpointed offset was rejected."""

    BELOW_LOG_START = "below the log start"
    ABOVE_LOG_END = "above the log end"


class OffsetsToClean(NamedTuple):
    """From the first dirty up to the first uncleanable offset (exclusive); in a `Dirt` that is a segment's base.

    With `reset` the checkpoint is rewritten.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    reset: Reset | None


class Dirt(NamedTuple):
    """How much there is to clean. `compaction_delay_ms`: by how much the oldest dirty record is overdue; 0 for not."""

    offsets: OffsetsToClean
    clean_bytes: int
    cleanable_bytes: int
    compaction_delay_ms: int
    min_cleanable_dirty_ratio: float

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_worth_cleaning(self) -> bool:
        if self.compaction_delay_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.cleanable_ratio > self.min_cleanable_dirty_ratio


def dirt_of(log: LogFacts, checkpoint: int | None, now_ms: int) -> Dirt:
    """What a cleaning of `log` would start with. `checkpoint`: where the last one ended, None if there was none."""
    offsets = offsets_to_clean(log, checkpoint, now_ms)
    # A segment that is protected in part is excluded as a whole: no undecided record enters the key table.
    offsets = offsets._replace(first_uncleanable_offset=_base_of_uncleanable(log.segments, offsets))
    return Dirt(
        offsets,
        sum(each.size_bytes for each in below(log.segments, offsets.first_dirty_offset)),
        cleanable_bytes(log.segments, offsets),
        compaction_delay_ms(log, offsets.first_dirty_offset, now_ms),
        log.min_cleanable_dirty_ratio,
    )


def offsets_to_clean(log: LogFacts, checkpoint: int | None, now_ms: int) -> OffsetsToClean:
    first_dirty, reset = log.log_start_offset if checkpoint is None else checkpoint, None
    if first_dirty < log.log_start_offset:
        first_dirty, reset = log.log_start_offset, Reset.BELOW_LOG_START
    elif first_dirty > log.log_end_offset:
        first_dirty, reset = log.log_start_offset, Reset.ABOVE_LOG_END
    uncleanable = min(log.last_stable_offset, log.segments[-1].base_offset)
    if log.min_compaction_lag_ms > 0:
        newest_allowed = now_ms - log.min_compaction_lag_ms
        for segment in _inactive_from(log.segments, first_dirty):
            if segment.base_offset >= uncleanable:
                break
            if segment.largest_timestamp > newest_allowed:
                uncleanable = segment.base_offset
    return OffsetsToClean(first_dirty, max(first_dirty, uncleanable), reset)


def cleanable_bytes(segments: Sequence[SegmentFacts], offsets: OffsetsToClean) -> int:
    """The bytes of whole segments, up to the one that holds the first uncleanable offset."""
    end = _base_of_uncleanable(segments, offsets)
    return sum(each.size_bytes for each in between(segments, min(offsets.first_dirty_offset, end), end))


def compaction_delay_ms(log: LogFacts, first_dirty_offset: int, now_ms: int) -> int:
    """By how much max.compaction.lag.ms is exceeded; 0 when it is not."""
    clean_until = now_ms - log.max_compaction_lag_ms
    if clean_until <= 0:
        return 0
    stamps = (segment.first_batch_timestamp for segment in _inactive_from(log.segments, first_dirty_offset))
    earliest = min((stamp for stamp in stamps if stamp > 0), default=MAX_INT64)
    return max(0, clean_until - earliest)


def filthiest(candidates: Iterable[tuple[L, Dirt]]) -> tuple[L, Dirt] | None:
    """The log to clean next; None if none needs it."""
    worth = [each for each in candidates if each[1].total_bytes and each[1].is_worth_cleaning]
    return max(worth, key=lambda each: each[1].cleanable_ratio, default=None)


def below(segments: Sequence[S], offset: int) -> Sequence[S]:
    """The segments that begin below `offset`."""
    return segments[: bisect_left(segments, offset, key=_base)]


def between(segments: Sequence[S], start: int, end: int) -> Sequence[S]:
    """The segment that `start` falls into and those behind it that begin below `end`."""
    if start >= end:
        return segments[:0]
    first = max(0, bisect_right(segments, start, key=_base) - 1)
    return segments[first : bisect_left(segments, end, key=_base)]


def _inactive_from(segments: Sequence[S], offset: int) -> Sequence[S]:
    return between(segments, offset, segments[-1].base_offset)


def _base_of_uncleanable(segments: Sequence[SegmentFacts], offsets: OffsetsToClean) -> int:
    behind = _inactive_from(segments, offsets.first_uncleanable_offset)
    return (behind[0] if behind else segments[-1]).base_offset


def _base(segment: Based) -> int:
    return segment.base_offset
