"""A copy of a log, made in another directory, takes the log's place.

Role        Acts on names only. Has the turns of both logs, so that nothing else is appended, cut or deleted meanwhile.
Invariants  The copy ends where the log ends, with the same epochs and high watermark, or nothing happens.
            The new name is on the disk before the old one goes: a power cut never leaves a partition without a log.
            One between the two leaves two logs of the partition with the same records.
Source      LogManager.replaceCurrentWithFutureLog, Partition.maybeReplaceCurrentWithFutureReplica.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_zk.log.retired import RetiredLogs
from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.LogManager")


CatchUp = Callable[[UnifiedLog, UnifiedLog], bool]
"""Blocks. Append to a copy, the second, what it lacks of a log that stands still; False where their histories part."""


def replace(
    before: UnifiedLog,
    now: UnifiedLog,
    retired: RetiredLogs,
    catch_up: CatchUp,
    is_wanted: Callable[[], bool],
    tell: Callable[[], None],
) -> bool:
    """Blocks. Whether `now` stands in the place of `before`. It is synced, and lacks next to nothing.

    `tell` makes it known and does not switch: who waits for the turn of `before` comes after that. Not told when it
    `is_wanted` no more, since the partition was deleted meanwhile: whoever did that removes both.
    Raises KafkaStorageError.
    """
    with before.turn:
        before.refuse_if_closed()
        if not catch_up(before, now):
            return False
        with now.turn:
            _know_the_same(before, now)
            # With what was copied in the turn: the log that goes may have had it on the disk for good.
            now.complete()
            now.flusher.wait()
            now.refuse_if_closed()
            before.refuse_if_closed()
            _rename(now)
            # Last the one that others may flush: from here on nothing switches.
            before.flusher.wait()
            before.refuse_if_closed()
            if not is_wanted():
                return False
            _know_the_same(before, now)
            retired.retire_in_turn(before)
            before.successor = now
            tell()
    log_lines.info("Moved %s from %s to %s", now.topic_partition, before.log_dir.path, now.log_dir.path)
    return True


def _rename(now: UnifiedLog) -> None:
    """Blocks. Give the copy its name, for good."""
    directory = now.log_dir
    target = directory.path / str(now.topic_partition)
    with directory.guard(f"Error while renaming {now.directory} to {target}"):
        directory.disk.rename(now.directory, target)
        now.renamed_to(target)
        directory.pools.run_to_end(directory.pools.sync, directory.disk.sync_path, directory.path)
    now.is_future = False


def _know_the_same(before: UnifiedLog, now: UnifiedLog) -> None:
    """What no batch tells: an epoch that has none yet, what is committed, a start inside a segment."""
    for entry in before.leader_epochs.entries:
        if entry.epoch > now.latest_epoch:
            now.assign_epoch_start(entry.epoch, entry.start_offset)
    now.update_high_watermark(before.high_watermark)
    if before.log_start_offset > now.log_start_offset:
        now.increment_log_start_offset(before.log_start_offset)
