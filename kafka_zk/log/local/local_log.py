"""LocalLog: the files of one log. Segments are written, rolled, truncated, removed and closed here.

Role        Acts on files, and raises OSError only. Knows nothing of producers, leader epochs or the high watermark, nor
            where the log starts or ends: UnifiedLog does, and decides.
Invariants  A write is whole or the file is cut back. A pooled write holds the segment's descriptor and ends before
            anything else is done, even if its greenlet is killed meanwhile.
            The last segment is active; a log is never without one, but between `remove` of all and `begin_segment`.
Source      LocalLog in Kafka 3.9: append, roll, truncateTo, removeAndDeleteSegments; LogSegment.append.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.directory.deletion import mark_deleted, unlink_later
from kafka_zk.log.directory.log_directory import SLOW_WRITE_MS, LogDirectory
from kafka_zk.log.files import names
from kafka_zk.log.local.flusher import Flusher
from kafka_zk.log.segments.reading import LogReader
from kafka_zk.log.segments.roll import drawn_jitter_ms
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import BatchHeader

T = TypeVar("T")

POOLED_BYTES: Final = 128 * 1024
"""From here on a thread writes: the hand-off costs 20 to 43 us and four context switches, as much as the loop spends
on copying this into the page cache. Where the disk keeps a write waiting, threads take all of them (LogDirectory)."""


class LocalLog:
    """`active` receives appends. `turn`: held by a caller that changes the log and may switch meanwhile.
    `jitter_below(n)` draws a number below n for each new segment."""

    def __init__(
        self,
        directory: Path,
        log_dir: LogDirectory,
        segments: Segments,
        config: LogConfig,
        jitter_below: Callable[[int], int],
    ) -> None:
        self.directory = directory
        self.log_dir = log_dir
        self.segments = segments
        self.config = config
        self.active = segments.active
        self.reader = LogReader(segments, log_dir.open_segments.track, log_dir.index_mender)
        self.flusher = Flusher(segments, log_dir)
        self.turn = Turn()
        self._jitter_below = jitter_below

    def write(
        self,
        segment: LogSegment,
        data: Buffer,
        size: int,
        last_offset: int,
        max_timestamp: int,
        headers: list[BatchHeader] | None = None,
    ) -> None:
        """Write one batch and index it; of several that follow one another, each by its header. Raises OSError.

        Blocks where a thread writes: the caller has the turn then.
        """
        log_dir = self.log_dir
        if not segment.is_tracked:
            log_dir.open_segments.track(segment)
        if size < POOLED_BYTES and not segment.is_flushing and not (log_dir.inline_from_ms and log_dir.must_pool()):
            started_ms = log_dir.now_ms()
            segment.file.write(data)
            if log_dir.now_ms() - started_ms > SLOW_WRITE_MS:
                log_dir.stalled()
        else:
            self._write_pooled(segment, data)
        if headers is None:
            segment.appended(size, last_offset, max_timestamp)
        else:
            segment.appended_batches(headers)

    def _write_pooled(self, segment: LogSegment, data: Buffer) -> None:
        assert self.turn.is_taken, "a pooled write without the log's turn"
        file, pools = segment.file, self.log_dir.pools
        file.retain()
        try:
            pools.run_to_end(pools.append, file.write, data)
        except OSError:
            raise
        except BaseException:
            # The greenlet was killed: what the thread has written meanwhile belongs to no append.
            file.cut_back()
            raise
        finally:
            file.release()

    def begin_segment(self, base_offset: int) -> None:
        """Make an empty active segment, whatever was left under its names. Does not switch. Raises OSError."""
        config, log_dir = self.config, self.log_dir
        for kind in names.SEGMENT_FILES:
            log_dir.disk.remove_if_exists(self.directory / names.offset_file_name(base_offset, kind))
        segment = LogSegment(
            self.directory,
            base_offset,
            config,
            created_ms=log_dir.clock.wall_ms(),
            jitter_ms=drawn_jitter_ms(
                jitter_ms=config.segment_jitter_ms, segment_ms=config.segment_ms, draw_below=self._jitter_below
            ),
            disk=log_dir.disk,
        )
        log_dir.open_segments.track(segment)
        segment.create_files(preallocate_bytes=config.segment_bytes if config.preallocate else 0)
        self.segments.add(segment)
        self.active = segment

    def remove(self, segments: Sequence[LogSegment], beside: Callable[[int], Path]) -> None:
        """Take segments out of the log, in this order: out of sight at once, off the disk later. Raises OSError.

        `beside(base offset)`: a file that belongs to a segment. The caller has waited for flushes: none syncs the
        files that are closed here. Does not switch.
        """
        if not segments:
            return
        self.reader.forget_positions()
        renamed: list[Path] = []
        for segment in segments:
            self.segments.remove(segment)
            segment.close_files()
            renamed += mark_deleted([*segment.paths(), beside(segment.base_offset)], self.log_dir)
        unlink_later(renamed, self.log_dir, self.config.file_delete_delay_ms, lambda: self.directory)

    def check_cut(self, offset: int) -> None:
        """Blocks if an index is wrong. Find where the log would be truncated for `offset`, before anything is removed.

        Raises CorruptMessage, OSError.
        """
        segment = self.segments.holding(offset)
        assert segment is not None, f"{self.directory} begins behind {offset}"
        self.log_dir.open_segments.track(segment)
        segment.position_of(offset)

    def cut_active(self, offset: int) -> None:
        """Make the last segment active and cut it at the first batch that reaches `offset`. Raises OSError."""
        self.active = self.segments.active
        self.log_dir.open_segments.track(self.active)
        self.active.truncate_to(offset)

    def read_in_thread(self, segment: LogSegment, read: Callable[..., T], *arguments: object) -> T:
        """Blocks. A thread does `read(segment, *arguments)`; the file is held open for it. Raises what that raises."""
        self.log_dir.open_segments.track(segment)
        segment.file.fileno()
        segment.file.retain()
        try:
            return self.log_dir.pools.run_to_end(self.log_dir.pools.maintenance, read, segment, *arguments)
        finally:
            segment.file.release()

    def sync_names(self) -> None:
        """Blocks. Sync which files the log has. Raises OSError."""
        self.flusher.sync_names(self.directory)

    def finish(self) -> list[LogSegment]:
        """Complete every segment; those that must be synced since. Raises OSError."""
        return [segment for segment in self.segments if segment.finish()]

    def close(self) -> None:
        """Complete and close all files. Raises OSError."""
        for segment in self.segments:
            segment.close()

    def close_files(self) -> None:
        """Close all files unchanged, for a failed directory or a removed log."""
        for segment in self.segments:
            segment.close_files()

    def renamed_to(self, directory: Path) -> None:
        """The partition's directory now has this name."""
        self.directory = directory
        for segment in self.segments:
            segment.moved_to(directory)
