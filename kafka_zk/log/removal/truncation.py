"""Taking records back: a follower that leaves its leader's history, and a log start that moves up.

Role        Acts on files; the caller holds the log's turn. Switches to wait for the disk, as the order below asks.
Invariants  Whole batches only. Epochs, producer state and snapshots never say anything about what is gone.
            The high watermark never lies behind the log end.
            A power cut in between leaves what was there before, or less of its end, never a hole: the newest segment
            goes first, and only when all that go are gone for good the one that stays is cut. Before the next append
            the cut itself is on the disk, or what was cut could come back below what follows it; and the recovery
            point there is not above the cut: what is appended behind it is not to be trusted unseen.
Source      UnifiedLog.truncateTo, truncateFullyAndStartAt, maybeIncrementLogStartOffset; LocalLog.truncateTo.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka_zk.log.append import rolling
from kafka_zk.log.loading.rebuild import rebuild_producers
from kafka_zk.log.removal.deletion import remove_segments
from kafka_zk.protocol.errors import OffsetOutOfRange

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.UnifiedLog")


def truncate_to(log: UnifiedLog, offset: int) -> bool:
    """Blocks. Drop everything from `offset` on; whether something went. Raises KafkaStorageError."""
    if offset < 0:
        raise ValueError(f"Cannot truncate partition {log.topic_partition} to a negative offset ({offset}).")
    with log.log_dir.guard(f"Error while truncating log to offset {offset} for {log.topic_partition}"):
        log.refuse_if_closed()
        if offset >= log.log_end_offset:
            # A leader may have won the end of the log with another epoch: what we know of that goes in any case.
            log.epochs.truncate_from_end(offset)
            log.forget_latest_epoch()
            return False
        log.flusher.wait()
        log_lines.info("%s Truncating to offset %d", log.prefix, offset)
        if offset < log.segments.first.base_offset:
            truncate_fully_and_start_at(log, offset)
            return True
        log.truncations += 1
        log.reader.forget_positions()
        gone = [each for each in log.segments if each.base_offset > offset]
        remove_segments(log, gone[::-1])
        if log.producers.remove_above(offset) or gone:
            _sync_names(log)
        log.active = log.segments.active
        log.log_dir.open_segments.track(log.active)
        log.active.truncate_to(offset)
        log.epochs.truncate_from_end(offset)
        log.forget_latest_epoch()
        log.log_end_offset = offset
        # Who read while names were synced has remembered where the log ended.
        log.reader.forget_positions()
        log.log_start_offset = min(offset, log.log_start_offset)
        log.recovery_point = min(offset, log.recovery_point)
        # Once more: a flush that began while the files went would take the recovery point back up.
        log.truncations += 1
        _rebuild(log)
        log.flusher.complete([log.active], None)
    log.log_dir.recovery_point_lowered(log.topic_partition, log.recovery_point)
    return True


def truncate_fully_and_start_at(log: UnifiedLog, offset: int) -> None:
    """Blocks. Drop everything and go on at `offset`. Raises KafkaStorageError."""
    with log.log_dir.guard(f"Error while truncating the entire log for {log.topic_partition}"):
        log.refuse_if_closed()
        log.flusher.wait()
        log_lines.info("%s Truncate and start at offset %d", log.prefix, offset)
        log.truncations += 1
        log.reader.forget_positions()
        remove_segments(log, list(log.segments)[::-1])
        log.epochs.clear()
        log.forget_latest_epoch()
        log.producers.restart_at(offset)
        # Last: nothing of what was there may be found beside it.
        rolling.add_segment(log, offset)
        _sync_names(log)
        log.log_start_offset = log.log_end_offset = offset
        log.reader.forget_positions()
        log.recovery_point = min(offset, log.recovery_point)
        log.truncations += 1
        log.update_high_watermark(offset)
    log.log_dir.recovery_point_lowered(log.topic_partition, log.recovery_point)


def increment_log_start_offset(log: UnifiedLog, offset: int) -> bool:
    """Let the log begin at `offset`; whether it did not already. Raises OffsetOutOfRange, KafkaStorageError."""
    if offset > log.high_watermark:
        raise OffsetOutOfRange(
            f"Cannot increment the log start offset to {offset} of partition {log.topic_partition} "
            f"since it is larger than the high watermark {log.high_watermark}"
        )
    if offset <= log.log_start_offset:
        return False
    with log.log_dir.guard(
        f"Exception while increasing log start offset for {log.topic_partition} to {offset} in dir {log.log_dir.path}"
    ):
        log.refuse_if_closed()
        log.log_start_offset = offset
        log.epochs.truncate_from_start(offset)
        log.forget_latest_epoch()
        log.producers.on_log_start(offset)
        log.update_last_stable_offset()
    log_lines.info("%s Incremented log start offset to %d", log.prefix, offset)
    return True


def _sync_names(log: UnifiedLog) -> None:
    pools = log.log_dir.pools
    pools.run_to_end(pools.sync, log.log_dir.disk.sync_path, log.directory)
    log.refuse_if_closed()


def _rebuild(log: UnifiedLog) -> None:
    rebuild_producers(
        log.producers,
        log.segments,
        log_start_offset=log.log_start_offset,
        end_offset=log.log_end_offset,
        now_ms=log.log_dir.clock.wall_ms(),
        after_clean_stop=False,
    )
    log.update_high_watermark(log.high_watermark)
    log.update_last_stable_offset()
