"""Letting segments go: retention, replaced segments, and the end of a log's service.

Role        Acts on files. Who closes holds the log's turn; retention takes it. The decision is in retention.py.
Invariants  Segments leave from the oldest on, and only what is below the high watermark. When all would go, an empty
            one is rolled first: a log is never without a segment. Snapshots go with their segments.
Source      UnifiedLog.deleteOldSegments, deleteSegments, close; LocalLog.removeAndDeleteSegments.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.log.append import rolling
from kafka_zk.log.removal.deletion import remove_segments
from kafka_zk.log.segments.retention import Limits, Reason, deletable
from kafka_zk.log.segments.segment import LogSegment

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.UnifiedLog")


def delete_old_segments(log: UnifiedLog, now_ms: int) -> int:
    """Blocks. Delete what retention does not keep; how many segments went. Raises KafkaStorageError.

    Takes the log's turn twice, to choose and to remove: nobody waits for it while what goes is still being synced.
    """
    reasons = tuple(Reason) if log.config.delete else (Reason.LOG_START,)
    return sum(_delete_for(log, reason, now_ms) for reason in reasons)


def _delete_for(log: UnifiedLog, reason: Reason, now_ms: int) -> int:
    with log.log_dir.guard(f"Error while deleting segments for {log.topic_partition} in dir {log.log_dir.path}"):
        with log.turn:
            chosen = _choose(log, reason, now_ms)
            truncations = log.truncations
        if not chosen:
            return 0
        log.flusher.wait()
        with log.turn:
            log.refuse_if_closed()
            # What was cut meanwhile is judged anew the next time.
            return _remove(log, chosen) if log.truncations == truncations else 0


def _choose(log: UnifiedLog, reason: Reason, now_ms: int) -> list[LogSegment]:
    """The segments that shall go, the oldest of the log; there is another one behind them then."""
    log.refuse_if_closed()
    limits = Limits(
        log_start_offset=log.log_start_offset,
        high_watermark=log.high_watermark,
        log_end_offset=log.log_end_offset,
        retention_bytes=log.config.retention_bytes,
        retention_ms=log.config.retention_ms,
        now_ms=now_ms,
    )
    segments = list(log.segments)
    chosen = segments[: deletable(segments, reason, limits)]
    if chosen:
        log_lines.info(
            "%s Deleting segments due to %s: %s",
            log.prefix,
            reason.value.format_map(limits._asdict()),
            ", ".join(f"baseOffset={segment.base_offset} size={segment.size_bytes}" for segment in chosen),
        )
        if len(chosen) == len(segments):
            rolling.roll(log)
    return chosen


def _remove(log: UnifiedLog, chosen: list[LogSegment]) -> int:
    """Blocks if they are synced once more just now. Remove what is still there of `chosen`; how many segments went.

    The cleaner may have replaced some meanwhile: then the next time will do for those.
    """
    if log.flusher.is_syncing(chosen):
        log.flusher.wait()
    pairs = takewhile(lambda pair: pair[0] is pair[1], zip(chosen, list(log.segments)[:-1], strict=False))
    gone = [segment for segment, _ in pairs]
    if not gone:
        return 0
    remove_segments(log, gone)
    first_offset = log.segments.first.base_offset
    if first_offset > log.log_start_offset:
        log.log_start_offset = first_offset
        log.epochs.truncate_from_start(first_offset)
        log.forget_latest_epoch()
        log.producers.on_log_start(first_offset)
        log.update_last_stable_offset()
    return len(gone)


def close(log: UnifiedLog) -> None:
    """Blocks. Complete all files, sync them and close them. Raises KafkaStorageError.

    They are completed before they are synced: the next start believes the lengths and last entries of indexes when the
    directory is marked clean, and a zero for the largest timestamp would let retention delete the segment.
    """
    _end(log, log.flusher.complete)


def close_unsynced(log: UnifiedLog) -> None:
    """Blocks. Complete all files and close them, for who syncs those of many logs at once. Raises KafkaStorageError."""
    _end(log, lambda finished, snapshot: None)


def _end(log: UnifiedLog, sync: Callable[[list[LogSegment], Path | None], None]) -> None:
    if log.is_closed:
        return
    log.flusher.wait()
    log.is_closed = True
    if log.log_dir.is_offline:
        for segment in log.segments:
            segment.close_files()
        return
    with log.log_dir.guard(f"Error while closing {log.topic_partition} in dir {log.log_dir.path}"):
        finished = [segment for segment in log.segments if segment.finish()]
        log.producers.state.map_end_offset = log.log_end_offset
        sync(finished, log.producers.take_snapshot(durable=False))
        for segment in log.segments:
            segment.close()
