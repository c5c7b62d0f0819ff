"""Writes the checkpoint files of the log directories.

Role        Acts. One for all directories of a broker; DataDir owns the files.
Source      LogManager: checkpointLogRecoveryOffsets, checkpointLogStartOffsets;
            ReplicaManager.checkpointHighWatermarks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from kafka_zk.clock import Clock
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.files import names
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.types import TopicPartition

log = logging.getLogger("kafka.log.LogManager")

SOON_MS = 200
"""How long deletions are collected before the checkpoints of their directory are rewritten."""


class LogsIn(Protocol):
    """The logs of one directory, with or without those being moved into it."""

    def __call__(self, data_dir: DataDir, /, *, with_future: bool) -> list[UnifiedLog]: ...


def for_each_dir(dirs: Iterable[DataDir], task: Callable[[DataDir], None]) -> None:
    """Blocks if `task` does. A directory that fails does not affect the others."""
    for data_dir in dirs:
        try:
            task(data_dir)
        except KafkaStorageError as error:
            log.warning("Checkpoint of %s failed: %s", data_dir.path, error)


class Checkpoints:
    """All methods that write raise KafkaStorageError, and block."""

    def __init__(self, clock: Clock, logs_in: LogsIn) -> None:
        self._clock = clock
        self._logs_in = logs_in
        self._due_soon: set[DataDir] = set()

    def write_recovery_points(self, data_dir: DataDir) -> None:
        logs = self._logs_in(data_dir, with_future=True)
        data_dir.write_checkpoint(names.RECOVERY_POINTS, {each.topic_partition: each.recovery_point for each in logs})

    def write_log_start_offsets(self, data_dir: DataDir) -> None:
        """Only logs that start inside their first segment need an entry."""
        offsets = {
            each.topic_partition: each.log_start_offset
            for each in self._logs_in(data_dir, with_future=False)
            if each.log_start_offset > each.segments.first.base_offset
        }
        data_dir.write_checkpoint(names.LOG_START_OFFSETS, offsets)

    def write_high_watermarks(self, data_dir: DataDir) -> None:
        logs = self._logs_in(data_dir, with_future=False)
        data_dir.write_checkpoint(names.HIGH_WATERMARKS, {each.topic_partition: each.high_watermark for each in logs})

    def lower(self, data_dir: DataDir, topic_partition: TopicPartition, recovery_point: int, log_start: int) -> None:
        """A log was truncated: lower the checkpoints that exceed its new end.

        Otherwise a start after a kill would treat later appends as synced, or as deleted records.
        """
        if data_dir.may_say(names.RECOVERY_POINTS, topic_partition) > recovery_point:
            self.write_recovery_points(data_dir)
        if data_dir.may_say(names.LOG_START_OFFSETS, topic_partition) > log_start:
            self.write_log_start_offsets(data_dir)

    def soon(self, data_dir: DataDir, write: Callable[[], None]) -> None:
        """Write later: deleting a thousand partitions must not write a thousand checkpoints. Does not block."""
        if data_dir in self._due_soon:
            return
        self._due_soon.add(data_dir)

        def due() -> None:
            self._due_soon.discard(data_dir)
            write()

        self._clock.call_at(self._clock.monotonic_ms() + SOON_MS, due)
