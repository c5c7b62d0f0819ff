"""CleanerStates: which logs are being cleaned or uncleanable, and which is cleaned next.

Role        Acts, on the loop: examines the logs, decides with choosing.py, maintains the checkpoints.
Invariants  A log is reserved by one cleaner or by retention at a time, so that no segment is deleted while it is
            cleaned. Logs being moved, or truncated since they were chosen, are not cleaned.
            A log whose cleaning failed is skipped until the next start; the others continue. A truncation
            below the checkpoint lowers it to the base of the active segment.
Source      Kafka 3.9 LogCleanerManager; LogManager.maybeTruncateCleanerCheckpointToActiveSegmentBaseOffset.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_zk.clock import Clock
from kafka_zk.giving_way import in_rounds
from kafka_zk.log.cleaner.checkpoints import CleanerCheckpoints
from kafka_zk.log.cleaner.choosing import Dirt, OffsetsToClean, Reset, cleanable_bytes, dirt_of, filthiest
from kafka_zk.log.cleaner.choosing import offsets_to_clean as decide_offsets
from kafka_zk.log.cleaner.segment_facts import facts_of
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import CorruptMessage, KafkaStorageError
from kafka_zk.protocol.types import TopicPartition

log_lines = logging.getLogger("kafka.log.LogCleanerManager")

LOGS_PER_ROUND = 32
NAMES_PER_ROUND = 512
"""Most logs of most brokers are not compacted: for these only the config is checked."""


class LogToClean(NamedTuple):
    """A log reserved for this cleaner until `done`."""

    log: UnifiedLog
    offsets: OffsetsToClean
    truncations: int
    """Of the log when it was checked: after another truncation the offsets are invalid."""


class CannotChoose(Exception):
    """Choosing failed because of `log`."""

    def __init__(self, log: UnifiedLog) -> None:
        super().__init__(f"Failed to calculate log cleaning stats for partition {log.topic_partition}")
        self.log = log


class CleanerStates:
    """`max_dirty_ratio` and `max_compaction_delay_ms`: over all logs, at the last check."""

    def __init__(self, dirs: Sequence[DataDir], logs: Mapping[TopicPartition, UnifiedLog], clock: Clock) -> None:
        self._dirs = dirs
        self._logs = logs
        self._clock = clock
        self._in_hand: set[UnifiedLog] = set()
        self._uncleanable: set[UnifiedLog] = set()
        self.checkpoints = CleanerCheckpoints(dirs, logs.__contains__)
        self.max_dirty_ratio = 0.0
        self.max_compaction_delay_ms = 0
        self.last_run_ms = clock.wall_ms()

    def take_filthiest(self) -> LogToClean | None:
        """Blocks. Reserve the log most worth cleaning; None if there is none. Raises CannotChoose."""
        now_ms = self.last_run_ms = self._clock.wall_ms()
        found: list[tuple[LogToClean, Dirt]] = []
        for log in in_rounds(self._at_hand(), LOGS_PER_ROUND):
            if not log.is_closed:
                looked_at = self._look_at(log, now_ms)
                if looked_at is not None:
                    found.append(looked_at)
        found = [(seen, dirt) for seen, dirt in found if dirt.total_bytes and self._is_free(seen)]
        self.max_dirty_ratio = max((dirt.cleanable_ratio for _, dirt in found), default=0.0)
        self.max_compaction_delay_ms = max((dirt.compaction_delay_ms for _, dirt in found), default=0)
        chosen = filthiest(found)
        if chosen is None:
            return None
        seen, _ = chosen
        self._in_hand.add(seen.log)
        return seen

    def _is_free(self, seen: LogToClean) -> bool:
        log = seen.log
        return log not in self._in_hand and not log.is_copied and log.truncations == seen.truncations

    def pause(self, log: UnifiedLog) -> None:
        """Blocks until a running swap has ended; the cleaning is aborted."""
        log.is_copied = True
        if log in self._in_hand:
            with log.turn:
                pass

    def take_deletable(self) -> list[UnifiedLog]:
        """Blocks. Reserve unreserved compacted logs: segments below their start are deleted under any policy."""
        taken = [log for log in self._at_hand() if not log.is_closed]
        self._in_hand.update(taken)
        return taken

    def cleaned(self, log: UnifiedLog, end_offset: int) -> None:
        """Blocks. Let the next cleaning of `log` begin at `end_offset`. Raises KafkaStorageError."""
        if not log.is_closed:
            self.checkpoints.put(log.topic_partition, log.log_dir, end_offset)

    def take(self, log: UnifiedLog) -> bool:
        """Reserve `log` for a caller that deletes segments; False if the cleaner or another caller has it."""
        is_free = log not in self._in_hand
        self._in_hand.add(log)
        return is_free

    def done(self, logs: Iterable[UnifiedLog]) -> None:
        self._in_hand.difference_update(logs)

    def mark_uncleanable(self, log: UnifiedLog) -> None:
        self._uncleanable.add(log)

    def forget(self, log: UnifiedLog) -> None:
        """`log` is deleted: a later one of its name starts from scratch."""
        self._uncleanable.discard(log)
        self.checkpoints.forget(log.topic_partition, log.log_dir)

    def moved(self, before: UnifiedLog, now: UnifiedLog) -> None:
        """`now` took the place of `before`, in another directory. How far it is clean is unknown."""
        self.forget(before)
        self.forget(now)

    def truncated(self, log: UnifiedLog) -> None:
        """Blocks. The cleaned part of `log` may be gone, and replaced by other records. Raises KafkaStorageError."""
        known, limit = self.checkpoints.get(log.topic_partition, log.log_dir), log.segments.active.base_offset
        if known is not None:
            # Written in any case: a cleaner may have lowered it itself meanwhile, without having written it yet.
            self.checkpoints.put(log.topic_partition, log.log_dir, min(known, limit))

    def drop_gone(self) -> None:
        """Drop the state of logs that were deleted or whose directory failed."""
        self._uncleanable = {log for log in self._uncleanable if self._logs.get(log.topic_partition) is log}

    def uncleanable_in(self, directory: LogDirectory) -> list[UnifiedLog]:
        return [log for log in self._uncleanable if log.log_dir is directory and not log.is_closed]

    def uncleanable_bytes_in(self, directory: LogDirectory) -> int:
        """The cleanable bytes of uncleanable partitions in that directory."""
        total, now_ms = 0, self._clock.wall_ms()
        for log in self.uncleanable_in(directory):
            facts = facts_of(log)
            checkpoint = self.checkpoints.get(log.topic_partition, directory)
            try:
                offsets = decide_offsets(facts, checkpoint, now_ms)
            except CorruptMessage:
                # A damaged segment does not tell its times: none of them waits for min.compaction.lag.ms.
                offsets = decide_offsets(facts._replace(min_compaction_lag_ms=0), checkpoint, now_ms)
            total += cleanable_bytes(facts.segments, offsets)
        return total

    def _at_hand(self) -> list[UnifiedLog]:
        """Blocks. Returns logs that are not reserved."""
        logs = list(self._logs.values())
        compacted = [log for log in in_rounds(logs, NAMES_PER_ROUND) if log.config.compact]
        not_at_hand = self._in_hand | self._uncleanable
        return [log for log in compacted if log not in not_at_hand]

    def _look_at(self, log: UnifiedLog, now_ms: int) -> tuple[LogToClean, Dirt] | None:
        """Blocks. None for a log whose directory just failed. Raises CannotChoose."""
        truncations, checkpoint = log.truncations, self.checkpoints.get(log.topic_partition, log.log_dir)
        try:
            with log.log_dir.guard(f"Failed to calculate log cleaning stats for partition {log.topic_partition}"):
                facts = facts_of(log)
                dirt = dirt_of(facts, checkpoint, now_ms)
            if dirt.offsets.reset is not None:
                self._tell_of_reset(log, dirt.offsets, checkpoint, is_expected=facts.is_deleted_from)
                self.checkpoints.put(log.topic_partition, log.log_dir, dirt.offsets.first_dirty_offset)
        except KafkaStorageError:
            return None
        except Exception as error:
            raise CannotChoose(log) from error
        return LogToClean(log, dirt.offsets, truncations), dirt

    def _tell_of_reset(
        self, log: UnifiedLog, offsets: OffsetsToClean, checkpoint: int | None, *, is_expected: bool
    ) -> None:
        if offsets.reset is Reset.ABOVE_LOG_END:
            log_lines.warning(
                "The last checkpoint dirty offset for partition %s is %s, which is larger than the log end offset %d. "
                "Resetting to the log start offset %d.",
                log.topic_partition,
                checkpoint,
                log.log_end_offset,
                offsets.first_dirty_offset,
            )
        elif not is_expected:
            log_lines.warning(
                "Resetting first dirty offset of %s to log start offset %d since the checkpointed offset %s is "
                "invalid.",
                log.topic_partition,
                offsets.first_dirty_offset,
                checkpoint,
            )
