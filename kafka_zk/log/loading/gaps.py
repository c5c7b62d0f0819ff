"""Gaps: whether the records before a segment were lost, or cleaned away.

Role        Decides for the loader, at a start after a crash. Reads the beginnings of segments, and changes nothing.
Invariants  Up to the recovery point and up to the cleaner's checkpoint everything was synced: a gap there is no loss.
            Above both, a log with gaps is cut where only a loss can have left one: nobody would ever fill it, for a
            replica fetches from its end on.
Source      Kafka 3.9 LocalLog.replaceSegments and LogCleaner: cleaned segments are synced before they are swapped in,
            and the checkpoint is written after the last of them. Differs from Kafka, which keeps all segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kafka_zk.log.files import names
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import computed_crc


@dataclass(slots=True)
class Gaps:
    """Those of one log, looked at from its beginning on. `synced_offset`: up to here all that it has is on the disk,
    and gaps are normal.

    `knows_recovery_point`: whether anything says what was synced; otherwise every gap is normal.
    """

    is_compacted: bool
    synced_offset: int
    knows_recovery_point: bool
    _kept_at: int = field(default=-1, init=False)
    """The last answer of `_is_kept_behind` was about this segment, and is that of all emptied ones before it."""
    _is_kept: bool = field(default=False, init=False)

    def is_loss(self, segments: Sequence[LogSegment], at: int, end_offset: int) -> bool:
        """Whether `segments[at]` does not begin at `end_offset`, where the one before it ends, because of a loss.

        A compacted log has gaps above its recovery point, too: it was copied from a cleaned one, or the process died
        soon after a cleaning. There it is a loss if no batch is left behind the gap, or first a segment without one
        that no cleaning emptied.
        Where a segment is out of reach of the index before it, it had to begin: segments were split there.
        Raises OSError.
        """
        before, following = segments[at - 1], segments[at]
        if following.base_offset <= end_offset:
            return following.base_offset < end_offset
        if not self.knows_recovery_point or following.base_offset <= self.synced_offset:
            return False
        if self.is_compacted:
            return not self._is_kept_behind(segments, at)
        reached = following.base_offset
        with suppress(CorruptMessage):  # Told when its turn comes.
            reached = next((header.last_offset for _, header in following.file.headers(0)), reached)
        return reached - before.base_offset <= MAX_RELATIVE_OFFSET

    def _is_kept_behind(self, segments: Sequence[LogSegment], at: int) -> bool:
        """Whether the first segment from `at` on that no cleaning emptied begins with a batch. Each is looked at once:
        thousands that are empty have a gap before every one of them. Raises OSError.
        """
        if self._kept_at < at:
            kept_at = at
            while kept_at < len(segments) and is_emptied(_sizes_of(segments[kept_at])):
                kept_at += 1
            self._is_kept = kept_at < len(segments) and _begins_with_a_batch(segments[kept_at])
            self._kept_at = kept_at
        return self._is_kept


def is_emptied(size_of: Callable[[str], int | None]) -> bool:
    """Whether a segment that is not the last looks as if a cleaning had kept no record of it: all its files are empty.

    `size_of` takes a kind of file, and answers None if there is none. A segment that had records got an entry in its
    time index before the next one began. File systems with a journal (ext4, XFS) keep changes of sizes and names in
    order: where the next segment is there after a power cut, that index is not empty.
    """
    return all(size_of(kind) == 0 for kind in (names.LOG, names.OFFSET_INDEX, names.TIME_INDEX))


def _sizes_of(segment: LogSegment) -> Callable[[str], int | None]:
    def size_of(kind: str) -> int | None:
        path = segment.file.path.with_suffix(kind)
        return path.stat().st_size if path.exists() else None

    return size_of


def _begins_with_a_batch(segment: LogSegment) -> bool:
    """Whether a whole and sound batch is at its start. Raises OSError."""
    try:
        first = next(segment.file.batches(), None)
        return first is not None and computed_crc(first.buffer, first.position, first.header) == first.header.crc
    except CorruptMessage:
        return False
