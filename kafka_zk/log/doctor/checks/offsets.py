"""Checks that the checkpoints of a log directory match the log."""

from __future__ import annotations

from typing import NamedTuple

from kafka_zk.log.doctor.findings import (
    CLEANER_OFFSET_INVALID,
    COMMITTED_MISSING,
    END_DISAGREES,
    FLUSHED_MISSING,
    LOG_START_BEYOND_END,
    Notes,
)


class Checkpointed(NamedTuple):
    """What the checkpoints of the directory say of a partition; None where one does not name it."""

    recovery_point: int | None
    high_watermark: int | None
    log_start_offset: int | None
    first_dirty_offset: int | None


def check_offsets(
    notes: Notes, said: Checkpointed, *, log_start_offset: int, end_offset: int, end_after_start: int, clean_stop: bool
) -> None:
    """`end_offset` is behind the last batch that can be read, `end_after_start` what a start takes for the end."""
    start, recovery_point, high_watermark = said.log_start_offset, said.recovery_point, said.high_watermark
    if start is not None and start > end_offset:
        notes.add(LOG_START_BEYOND_END, "", f"log start offset {start}, but the log ends at {end_offset}")
        return
    # After a clean stop the end is trusted, not searched; after a crash data after damage is removed.
    reached = end_offset if clean_stop else min(end_offset, end_after_start)
    if recovery_point is not None and recovery_point > reached:
        notes.add(FLUSHED_MISSING, "", _missing("recovery point", recovery_point, reached, "synced"))
    elif clean_stop and end_after_start != end_offset:
        notes.add(
            END_DISAGREES,
            "",
            f"the clean shutdown recorded the end {end_after_start}, but the log continues to {end_offset}",
        )
    if high_watermark is not None and high_watermark > reached:
        notes.add(COMMITTED_MISSING, "", _missing("high watermark", high_watermark, reached, "committed"))
    dirty = said.first_dirty_offset
    if dirty is not None and not log_start_offset <= dirty <= end_offset:
        notes.add(
            CLEANER_OFFSET_INVALID,
            "",
            f"first dirty offset {dirty}, but the log has offsets {log_start_offset} to {end_offset}",
        )


def _missing(name: str, offset: int, end_offset: int, what: str) -> str:
    return f"{name} {offset}, but the log ends at {end_offset}: {offset - end_offset} {what} offsets are missing"
