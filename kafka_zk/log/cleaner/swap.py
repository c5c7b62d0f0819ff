"""Replaces segments with cleaned ones.

Role        Acts on files; the caller holds the log's turn.
Invariants  Replacements are synced before anything is renamed. .cleaned -> .swap, durably: from here on a start
            finishes the swap, before it a start undoes it. Then the old files become .deleted, then .swap is dropped.
            There is no switch between the first and the last change visible to readers.
            An error on the way, of whatever kind, takes the directory offline: a start finishes or undoes the swap.
            Snapshots at bases that no longer belong to a segment are deleted too.
Source      Kafka 3.9 LocalLog.replaceSegments, UnifiedLog.replaceSegments, LogSegment.changeFileSuffixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.log.directory.deletion import mark_deleted, unlink_later
from kafka_zk.log.files import names
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import KafkaStorageError

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog


def replace_segments(log: UnifiedLog, cleaned: Sequence[LogSegment], old: Sequence[LogSegment]) -> None:
    """Blocks. Replace the segments `old` of the log by `cleaned`, complete and synced. Raises KafkaStorageError."""
    log_dir = log.log_dir
    with log_dir.guard(f"Error while replacing segments of {log.topic_partition} in dir {log_dir.path}"):
        try:
            _replace(log, cleaned, old)
        except (OSError, KafkaStorageError):
            raise
        except Exception as error:
            # A log with .swap files must not be truncated, nor its start advance: the next start would undo that.
            half_way = OSError(f"segments of {log.topic_partition} were only partly replaced: {error!r}")
            raise caused_by(half_way, error) from error


def _replace(log: UnifiedLog, cleaned: Sequence[LogSegment], old: Sequence[LogSegment]) -> None:
    """Blocks. Raises OSError, KafkaStorageError."""
    log_dir = log.log_dir
    for segment in reversed(cleaned):
        _change_state(segment, names.CLEANED, names.SWAP, log)
    log_dir.pools.run_to_end(log_dir.pools.sync, log_dir.disk.sync_path, log.directory)
    # No flush may sync files that are closed here; and there is no switch from here on.
    log.flusher.wait()
    log.refuse_if_closed()
    log.reader.forget_positions()
    bases = {segment.base_offset for segment in cleaned}
    renamed: list[Path] = []
    for segment in old:
        log.segments.remove(segment)
        segment.close_files()
        paths = segment.paths()
        if segment.base_offset not in bases:
            paths.append(log.producers.path(segment.base_offset))
        renamed += mark_deleted(paths, log_dir)
    for segment in cleaned:
        _change_state(segment, names.SWAP, "", log)
        log.segments.add(segment)
        log_dir.open_segments.track(segment)
    unlink_later(renamed, log_dir, log.config.file_delete_delay_ms, lambda: log.directory)
    log_dir.pools.run_to_end(log_dir.pools.sync, log_dir.disk.sync_path, log.directory)


def _change_state(segment: LogSegment, before: str, after: str, log: UnifiedLog) -> None:
    for each in (segment.file, segment.indexes.offset.file, segment.indexes.time.file, segment.indexes.transaction):
        source = log.directory / each.path.name
        target = source.with_name(source.name.removesuffix(before) + after)
        try:
            log.log_dir.disk.rename(source, target)
        except FileNotFoundError:
            # Most segments have no aborted transaction, and no file for them.
            if each is not segment.indexes.transaction:
                raise
        each.path = target
