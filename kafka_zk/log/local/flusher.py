"""Flusher: flushes the files of one log, always in a thread.

Invariants  One flush of a log runs at a time; other callers wait for its `turn`. A segment under fsync is marked:
            writes to it go to a thread, and its files are not closed.
            What a roll left to sync stays noted until it is synced, whatever ends a flush.
Source      LocalLog.flush, UnifiedLog.roll's scheduled flush.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import gevent

from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.supervision import caught

RETRY_MS = 5_000


class Flusher:
    """`sync`, `sync_beside` and `sync_names` may only be called while holding the turn."""

    __slots__ = ("_at_work", "_background", "_log_dir", "_rolled", "_segments", "turn")

    def __init__(self, segments: Segments, log_dir: LogDirectory) -> None:
        self._segments = segments
        self._log_dir = log_dir
        self.turn = Turn()
        self._background: list[gevent.Greenlet[..., None]] = []
        self._at_work: list[LogSegment] = []
        """What the current flush syncs, or has synced."""
        self._rolled: list[LogSegment] = []

    @property
    def has_rolled(self) -> bool:
        """Whether a segment was completed by a roll and not synced since, even if all its records were before."""
        return bool(self._rolled)

    def note_rolled(self, segment: LogSegment) -> None:
        """`segment` was completed: the next sync includes it."""
        self._rolled.append(segment)

    def sync(self, segments: Iterable[LogSegment]) -> None:
        """Blocks. Sync `segments` and those that were rolled, oldest first. Raises OSError."""
        rolled_count = len(self._rolled)
        chosen = {*segments, *self._rolled}
        self._at_work = [each for each in self._segments if each in chosen]
        try:
            for segment in self._at_work:
                self._sync(segment)
            del self._rolled[:rolled_count]
        finally:
            self._at_work = []

    def sync_beside(self, function: Callable[..., None], *arguments: object) -> None:
        """Blocks. Have a thread sync what belongs to the log beside its segments. Raises what `function` raises."""
        pools = self._log_dir.pools
        pools.run_to_end(pools.sync, function, *arguments)

    def sync_names(self, directory: Path) -> None:
        """Blocks. Sync which files are in `directory`. Raises OSError."""
        self.sync_beside(self._log_dir.disk.sync_path, directory)

    def in_background(self, task: Callable[..., None], *arguments: object) -> None:
        """Run `task` in its own greenlet, which `wait` waits for.

        It is run again later if it ends by anything but KafkaStorageError, where no flush would help.
        """
        self._background = [greenlet for greenlet in self._background if not greenlet.dead]
        self._background.append(gevent.spawn(self._run, task, *arguments))

    def wait(self) -> None:
        """Blocks until no flush is running."""
        gevent.joinall(list(self._background))
        with self.turn:
            self._background = [greenlet for greenlet in self._background if not greenlet.dead]

    def is_syncing(self, segments: Sequence[LogSegment]) -> bool:
        """Whether a running flush syncs one of these: then it must not be closed or renamed."""
        return any(segment in self._at_work for segment in segments)

    def _run(self, task: Callable[..., None], *arguments: object) -> None:
        try:
            task(*arguments)
        except KafkaStorageError:
            return  # The directory is offline and has said so, or the log was closed.
        except Exception:
            # No thread, no memory: nothing else might flush until the next roll, which may take hours.
            caught("log-flusher", self._log_dir)
            clock = self._log_dir.clock
            clock.call_at(clock.monotonic_ms() + RETRY_MS, partial(self.in_background, task, *arguments))

    def _sync(self, segment: LogSegment) -> None:
        log_dir = self._log_dir
        began_ms = log_dir.clock.monotonic_ms()
        segment.is_flushing = True
        segment.file.retain()
        try:
            self.sync_beside(segment.flush)
        finally:
            segment.file.release()
            segment.is_flushing = False
        log_dir.flushed(log_dir.clock.monotonic_ms() - began_ms)
