"""Flusher: gets a log onto the disk, always in a thread, and moves the recovery point.

Invariants  The recovery point passes an offset only after everything below it was synced. One flush of a log runs at a
            time; who asks meanwhile waits for it and syncs what is left. A segment under fsync is marked: writes
            to it go to a thread, and nobody closes its files.
Source      UnifiedLog.flush, LocalLog.flush, UnifiedLog.roll's scheduled flush.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import gevent

from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.errors import KafkaStorageError

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog


class Flusher:
    __slots__ = ("_background", "_log", "_rolled", "_turn")

    def __init__(self, log: UnifiedLog) -> None:
        self._log = log
        self._turn = Turn()
        self._background: list[gevent.Greenlet[..., None]] = []
        self._rolled: list[LogSegment] = []
        """Completed by a roll and not synced since, even if all their records were before."""

    def flush(self, up_to: int) -> None:
        """Blocks. Sync every segment that holds offsets from the recovery point to `up_to`. KafkaStorageError."""
        with self._turn:
            log = self._log
            # The log may be truncated while a thread syncs it: that lowers the recovery point, which then must stay.
            if up_to <= log.recovery_point and not self._rolled:
                return
            rolled, self._rolled = self._rolled, []
            begun = log.segments.from_offset(log.recovery_point) if up_to > log.recovery_point else []
            segments = [each for each in log.segments if each in rolled or (each in begun and each.base_offset < up_to)]
            generation = log.truncations
            with log.log_dir.guard(f"Error while flushing log for {log.topic_partition} in dir {log.log_dir.path}"):
                for segment in segments:
                    self._sync(segment)
                # The names of segments that are new since the last flush.
                if any(segment.base_offset >= log.recovery_point for segment in segments):
                    self._run(log.log_dir.disk.sync_path, log.directory)
                self._sync_epochs()
            if log.truncations == generation and up_to > log.recovery_point:
                log.recovery_point = up_to
            log.last_flush_ms = log.log_dir.clock.monotonic_ms()

    def sync(self, segments: Iterable[LogSegment]) -> None:
        """Blocks. Sync these segments, which nobody appends to; the recovery point stays. Raises OSError."""
        with self._turn:
            for segment in segments:
                self._sync(segment)
            self._sync_epochs()

    def flush_soon(self, rolled: LogSegment, up_to: int, snapshot: Path | None) -> None:
        """Sync `rolled` and all up to its end in the background, with the snapshot that was taken there."""
        self._rolled.append(rolled)
        self._background = [greenlet for greenlet in self._background if not greenlet.dead]
        self._background.append(gevent.spawn(self._flush_rolled, up_to, snapshot))

    def wait(self) -> None:
        """Blocks. Until no flush is under way."""
        gevent.joinall(self._background)
        with self._turn:
            self._background.clear()

    def _flush_rolled(self, up_to: int, snapshot: Path | None) -> None:
        log = self._log
        try:
            if snapshot is not None and snapshot.exists():
                with log.log_dir.guard(f"Error while flushing producer state snapshot {snapshot}"):
                    self._run(log.log_dir.disk.sync_path, snapshot)
            self.flush(up_to)
        except KafkaStorageError:
            return  # The directory is offline by now and has said so.

    def _sync(self, segment: LogSegment) -> None:
        log_dir = self._log.log_dir
        began_ms = log_dir.clock.monotonic_ms()
        segment.is_flushing = True
        segment.file.retain()
        try:
            self._run(segment.flush)
        finally:
            segment.file.release()
            segment.is_flushing = False
        log_dir.flushed(log_dir.clock.monotonic_ms() - began_ms)

    def _sync_epochs(self) -> None:
        epochs = self._log.epochs
        if not epochs.is_synced:
            self._run(epochs.sync)

    def _run(self, function: Callable[..., None], *arguments: object) -> None:
        pools = self._log.log_dir.pools
        pools.run_to_end(pools.sync, function, *arguments)
