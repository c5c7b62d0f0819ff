"""Flusher: gets a log onto the disk, always in a thread, and moves the recovery point.

Invariants  The recovery point passes an offset only after everything below it was synced. One flush of a log runs at a
            time; who asks meanwhile waits for it and syncs what is left. A segment under fsync is marked: writes
            to it go to a thread, and nobody closes its files.
Source      UnifiedLog.flush, LocalLog.flush, UnifiedLog.roll's scheduled flush.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import gevent

from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.errors import KafkaStorageError

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog


class Flusher:
    __slots__ = ("_at_work", "_background", "_log", "_rolled", "_turn")

    def __init__(self, log: UnifiedLog) -> None:
        self._log = log
        self._turn = Turn()
        self._background: list[gevent.Greenlet[..., None]] = []
        self._at_work: list[LogSegment] = []
        """What the flush under way syncs, or has synced."""
        self._rolled: list[LogSegment] = []
        """Completed by a roll and not synced since, even if all their records were before."""

    def flush(self, up_to: int) -> None:
        """Blocks. Sync every segment that holds offsets from the recovery point to `up_to`. KafkaStorageError."""
        with self._turn:
            if self._log.successor is not None:
                # All of it was synced before the successor took its place.
                return
            self._log.refuse_if_closed()
            # The log may be truncated while a thread syncs it: that lowers the recovery point, which then must stay.
            if up_to > self._log.recovery_point or self._rolled:
                self._sync_up_to(up_to, [], None)

    def complete(self, finished: list[LogSegment], snapshot: Path | None) -> None:
        """Blocks. Sync all that is not on the disk yet, for a log at its end of service. Raises KafkaStorageError.

        `finished` were completed just now; `snapshot` was taken just now.
        """
        with self._turn:
            self._sync_up_to(self._log.log_end_offset, finished, snapshot)

    def flush_soon(self, rolled: LogSegment, up_to: int, snapshot: Path | None, *, is_gap: bool) -> None:
        """Sync `rolled` and all up to `up_to` in the background, with the snapshot that was taken there.

        `is_gap`: no record stands before `up_to`. Then the checkpoint is told at once: recovery takes such a place
        for a loss, unless it is below the recovery point.
        """
        self._rolled.append(rolled)
        self._background = [greenlet for greenlet in self._background if not greenlet.dead]
        self._background.append(gevent.spawn(self._flush_rolled, up_to, snapshot, is_gap))

    def wait(self) -> None:
        """Blocks. Until no flush is under way."""
        gevent.joinall(list(self._background))
        with self._turn:
            self._background = [greenlet for greenlet in self._background if not greenlet.dead]

    def is_syncing(self, segments: Sequence[LogSegment]) -> bool:
        """Whether a flush under way syncs one of these: then nobody may close or rename it."""
        return any(segment in self._at_work for segment in segments)

    def _flush_rolled(self, up_to: int, snapshot: Path | None, is_gap: bool) -> None:
        log = self._log
        try:
            if snapshot is not None and snapshot.exists():
                with log.log_dir.guard(f"Error while flushing producer state snapshot {snapshot}"):
                    self._run(log.log_dir.disk.sync_path, snapshot)
            self.flush(up_to)
            if is_gap:
                log.log_dir.write_recovery_points()
        except KafkaStorageError:
            return  # The directory is offline by now and has said so.

    def _sync_up_to(self, up_to: int, finished: list[LogSegment], snapshot: Path | None) -> None:
        log = self._log
        # Who asked may have waited while the log was truncated. A roll may have left a gap before an append that a
        # thread still writes: then the log ends behind it.
        up_to = min(up_to, max(log.log_end_offset, log.active.base_offset))
        rolled, self._rolled = self._rolled, []
        before = log.recovery_point
        begun = log.segments.from_offset(before) if up_to > before else []
        begun = [each for each in begun if each.base_offset < up_to]
        generation = log.truncations
        with log.log_dir.guard(f"Error while flushing log for {log.topic_partition} in dir {log.log_dir.path}"):
            self._at_work = [each for each in log.segments if each in begun or each in rolled or each in finished]
            try:
                for segment in self._at_work:
                    self._sync(segment)
            finally:
                self._at_work = []
            new_names = any(segment.base_offset >= before for segment in begun)
            if snapshot is not None:
                self._run(log.log_dir.disk.sync_path, snapshot)
            if not log.epochs.is_synced:
                new_names = True
                self._run(log.epochs.sync)
            if new_names or snapshot is not None:
                self._run(log.log_dir.disk.sync_path, log.directory)
        if log.truncations == generation and up_to > log.recovery_point:
            log.recovery_point = up_to
        log.last_flush_ms = log.log_dir.clock.monotonic_ms()

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

    def _run(self, function: Callable[..., None], *arguments: object) -> None:
        pools = self._log.log_dir.pools
        pools.run_to_end(pools.sync, function, *arguments)
