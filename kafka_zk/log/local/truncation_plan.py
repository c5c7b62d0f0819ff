"""The steps of a truncation, ordered so that a power failure at any point leaves a recoverable log.

Role        Pure: segments and snapshots by their offsets in, steps out. UnifiedLog carries them out one by one.
Invariants  A power failure between two steps leaves a prefix of the old log, never a hole: segments are removed newest
            first, and the last one is truncated only once the removals are synced.
            Nothing that remains (epochs, snapshots, recovery point) refers to offsets that were removed.
            The truncation is synced before the next append, or the old bytes could reappear below the new ones; the
            recovery point and the log start on disk are not above it either.
Source      UnifiedLog.truncateTo, truncateFullyAndStartAt, LocalLog.truncateTo in Kafka 3.9, which sync less.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple


class What(Enum):
    """What a step does; `at` is the offset it does it at."""

    REMOVE_SEGMENT = "remove the segment with this base offset"
    REMOVE_SNAPSHOT = "remove the producer snapshot at this offset"
    SYNC_NAMES = "sync the directory"
    CUT_SEGMENT = "truncate the last segment to this offset"
    BEGIN_SEGMENT = "create an empty segment at this offset"
    CUT_EPOCHS = "drop leader epochs that start at or after this offset"
    CLEAR_EPOCHS = "drop all leader epochs"
    END = "the log ends at this offset, and starts no later"
    RESTART = "the log starts and ends at this offset"
    REBUILD_PRODUCERS = "rebuild producer state from the batches up to this offset"
    CLEAR_PRODUCERS = "drop producer state and all snapshots"
    SYNC_CUT = "sync the truncated segment and the snapshots that were taken"
    LOWER_CHECKPOINTS = "have recovery point and log start on disk not above this offset"


class Step(NamedTuple):
    what: What
    at: int


def truncation_plan(bases: Sequence[int], snapshots: Sequence[int], offset: int) -> list[Step]:
    """The steps that remove all records from `offset` on.

    `bases`: the base offsets of its segments, ascending, the first one not above `offset`. `snapshots`: the offsets of
    its producer snapshots, ascending.
    """
    assert bases[0] <= offset, f"a log that begins at {bases[0]} cannot be cut at {offset}"
    gone = [Step(What.REMOVE_SEGMENT, base) for base in reversed(bases) if base > offset]
    # A snapshot at the base of a segment is removed with it.
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
        Step(What.LOWER_CHECKPOINTS, offset),
    ]


def restart_plan(bases: Sequence[int], offset: int) -> list[Step]:
    """The steps that remove all records; the log continues empty at `offset`. `bases`: as above."""
    return [
        *(Step(What.REMOVE_SEGMENT, base) for base in reversed(bases)),
        Step(What.CLEAR_EPOCHS, offset),
        Step(What.CLEAR_PRODUCERS, offset),
        # Only now: no old file may be found beside the new segment.
        Step(What.BEGIN_SEGMENT, offset),
        Step(What.SYNC_NAMES, offset),
        Step(What.RESTART, offset),
        Step(What.LOWER_CHECKPOINTS, offset),
    ]
