"""The steps of a truncation, ordered so that a power failure at any point leaves a recoverable log.

Role        Pure: segments and snapshots by their offsets in, steps out. UnifiedLog carries them out one by one.
Invariants  A power cut in between leaves what was there before, or less of its end, never a hole: the newest segment
            goes first, and only when the names of all that go are gone for good the one that stays is cut.
            Nothing that remains (epochs, snapshots, recovery point) says anything about what is gone.
            The cut is on the disk before the log may be appended to, or what was cut could come back below what
            follows it; and then the recovery point there is not above the cut.
Source      UnifiedLog.truncateTo, truncateFullyAndStartAt, LocalLog.truncateTo in Kafka 3.9, which sync less.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple


class What(Enum):
    """What a step does; `at` is the offset it does it at."""

    REMOVE_SEGMENT = "the segment with this base offset goes"
    REMOVE_SNAPSHOT = "the producer snapshot at this offset goes"
    SYNC_NAMES = "which files there are is on the disk"
    CUT_SEGMENT = "the last segment is cut at this offset"
    BEGIN_SEGMENT = "an empty segment begins at this offset"
    CUT_EPOCHS = "no leader epoch begins at this offset or behind it"
    CLEAR_EPOCHS = "no leader epoch is known"
    END = "the log ends at this offset, and starts no later"
    RESTART = "the log starts and ends at this offset"
    REBUILD_PRODUCERS = "producers are what the batches up to this offset say"
    CLEAR_PRODUCERS = "no producer is known, nor any snapshot"
    SYNC_CUT = "the cut is on the disk"
    LOWER_CHECKPOINT = "the recovery point on the disk is no higher than this offset"


class Step(NamedTuple):
    what: What
    at: int


def truncation_plan(bases: Sequence[int], snapshots: Sequence[int], offset: int) -> list[Step]:
    """The steps that take everything from `offset` on off a log with these segments, in whole batches.

    `bases`: of its segments, ascending, the first one not above `offset`. `snapshots`: where they stand, ascending.
    """
    assert bases[0] <= offset, f"a log that begins at {bases[0]} cannot be cut at {offset}"
    gone = [Step(What.REMOVE_SEGMENT, base) for base in reversed(bases) if base > offset]
    # A snapshot at the base of a segment goes with it.
    removed = {step.at for step in gone}
    gone += [Step(What.REMOVE_SNAPSHOT, at) for at in snapshots if at > offset and at not in removed]
    return [
        *gone,
        *([Step(What.SYNC_NAMES, offset)] if gone else []),
        Step(What.CUT_SEGMENT, offset),
        Step(What.CUT_EPOCHS, offset),
        Step(What.END, offset),
        Step(What.REBUILD_PRODUCERS, offset),
        Step(What.SYNC_CUT, offset),
        Step(What.LOWER_CHECKPOINT, offset),
    ]


def restart_plan(bases: Sequence[int], offset: int) -> list[Step]:
    """The steps that take everything off a log with these segments and have it go on, empty, at `offset`."""
    return [
        *(Step(What.REMOVE_SEGMENT, base) for base in reversed(bases)),
        Step(What.CLEAR_EPOCHS, offset),
        Step(What.CLEAR_PRODUCERS, offset),
        # Behind all that goes: nothing of what was there may be found beside it.
        Step(What.BEGIN_SEGMENT, offset),
        Step(What.SYNC_NAMES, offset),
        Step(What.RESTART, offset),
        Step(What.LOWER_CHECKPOINT, offset),
    ]
