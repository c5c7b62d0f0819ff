"""LogLoader: opens one partition's directory, recovering it after a crash.

Role        Plain and synchronous; run at start-up and when a partition is created.
Invariants  After a clean stop nothing is scanned and nothing is opened: names, sizes and the recovery point are enough.
            After a crash every segment from the recovery point on is checked; the first that loses bytes is the last
            that stays. What is below the recovery point was synced and is trusted.
            A segment to be checked whose offsets are out of reach of its base is split, and the step begun again.
Source      LogLoader.load, loadSegmentFiles, recoverLog, retryOnOffsetOverflow.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names, producer_snapshot
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.names import OffsetFile
from kafka_zk.log.files.transaction_index import CorruptIndex
from kafka_zk.log.loading.epoch_mending import bring_back_first_epochs, forget_torn_epochs, make_again
from kafka_zk.log.loading.gaps import Gaps
from kafka_zk.log.loading.leftovers import Leftovers
from kafka_zk.log.loading.rebuild import rebuild_producers, recover_segment
from kafka_zk.log.loading.splitting import split_in_place
from kafka_zk.log.segments.roll import drawn_jitter_ms
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.segments.splitting import OverflowedSegment
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.protocol.errors import CorruptMessage

log = logging.getLogger("kafka.log.LogLoader")


@dataclass(slots=True)
class LoadedLog:
    """What a log starts with."""

    segments: Segments
    log_start_offset: int
    log_end_offset: int
    recovery_point: int


@dataclass(slots=True)
class LogLoader:
    """One load of one directory. The checkpoints' values are 0 when they do not name the partition."""

    directory: Path
    topic_partition: str
    config: LogConfig
    producers: ProducerJournal
    epochs: EpochJournal
    disk: Disk
    clean_stop: bool
    recovery_point: int
    log_start_offset: int
    now_ms: int
    jitter_below: Callable[[int], int] = lambda bound: 0
    """`jitter_below(n)` draws a number below n for each segment of a topic with segment.jitter.ms."""
    first_dirty_offset: int = 0
    """Where the next cleaning begins: what lies below was cleaned, and synced."""
    knows_recovery_point: bool = True
    breathe: Callable[[], None] = lambda: None
    sync_later: Callable[[Path], None] = lambda path: None
    """Called with truncated segments: after a clean stop the data after the cut would never be checked again."""
    segments: Segments = field(default_factory=Segments)
    on_progress: Callable[[int], None] = lambda remaining: None
    """Told how many segments are still to be recovered."""
    _recovered: tuple[LogSegment, int] | None = None
    """The segment recovered last and where it ends."""
    _split_bases: set[int] = field(default_factory=set)
    """Of the parts of segments that this load has split."""
    _had_snapshots: bool = False
    """Whether producer snapshots were there, readable or not."""

    def load(self) -> LoadedLog:
        """Raises OSError, CorruptMessage (a directory that contradicts itself)."""
        if not self.clean_stop:
            forget_torn_epochs(self.epochs, self._prefix)
        files = self._scan()
        if Leftovers(self.directory, self.config, self.disk, self._prefix).clear(files):
            files = self._scan()
        self.producers.begin_load(file.offset for file in files if file.kind == names.PRODUCER_SNAPSHOT)
        try:
            return self._load(files)
        finally:
            self.producers.end_load()

    def _load(self, files: dict[OffsetFile, os.DirEntry[str]]) -> LoadedLog:
        while not self._splitting(partial(self._open_segments, files)):
            files = self._scan()
            self.segments.clear()
        loaded = self._resume(files) if self.clean_stop else None
        if loaded is not None:
            return loaded
        if not self.clean_stop:
            with self.epochs.written_once():
                self._mend_epochs()
                while not self._splitting(self._recover_unflushed):
                    self._recovered = None
        end_offset = self._end_offset()
        recovery_point = end_offset if self.clean_stop else min(self.recovery_point, end_offset)
        self.epochs.truncate_from_end(end_offset)
        self.epochs.truncate_from_start(self.log_start_offset)
        start_offset = max(self.log_start_offset, self.segments.first.base_offset)
        if not self.clean_stop:
            bring_back_first_epochs(self.epochs, list(self.segments), start_offset)
            # A killed process may have synced nothing: what it cut off could come back below what is appended now.
            self.epochs.is_synced = False
            self.sync_later(self.segments.active.file.path)
        self.producers.remove_above(end_offset)
        self.producers.remove_stray(segment.base_offset for segment in self.segments)
        if self.clean_stop or self.producers.state.map_end_offset != end_offset:
            self.producers.state.clear(start_offset)
            self.producers.last_snapshot_offset = start_offset
        else:
            # Recovery has just walked the end of the log, and knows more than the snapshot it took there.
            self.producers.state.remove_expired(self.now_ms, self.producers.expiration_ms)
        rebuild_producers(
            self.producers,
            self.segments,
            log_start_offset=start_offset,
            end_offset=end_offset,
            now_ms=self.now_ms,
            after_clean_stop=self.clean_stop and not self._had_snapshots,
        )
        return LoadedLog(self.segments, start_offset, end_offset, recovery_point)

    # Files

    def _scan(self) -> dict[OffsetFile, os.DirEntry[str]]:
        found: dict[OffsetFile, os.DirEntry[str]] = {}
        has_epochs = False
        with os.scandir(self.directory) as entries:
            for entry in entries:
                file = names.parse_offset_file(entry.name) if entry.name[0].isdigit() else None
                if file is not None:
                    found[file] = entry
                elif entry.name == names.LEADER_EPOCHS:
                    has_epochs = True
        if not has_epochs:
            self.epochs.create()
        return found

    def _open_segments(self, files: dict[OffsetFile, os.DirEntry[str]]) -> None:
        for file in sorted(files):
            if file.kind in names.INDEXES and OffsetFile(file.offset, names.LOG, "") not in files:
                path = self.directory / names.offset_file_name(*file)
                log.warning("%s Found an orphaned index file %s, with no corresponding log file.", self._prefix, path)
                self.disk.remove_if_exists(path)
        for file in sorted(file for file in files if file.kind == names.LOG):
            self.segments.add(self._segment(file.offset, files[file].stat().st_size))
        # What recovery will look at anyway is not rebuilt first: what lies before it may not be whole yet.
        unflushed = [] if self.clean_stop else self._unflushed()
        for segment in self.segments:
            if segment not in unflushed:
                self._check_indexes(segment, files)

    def _check_indexes(self, segment: LogSegment, files: dict[OffsetFile, os.DirEntry[str]]) -> None:
        """A missing offset index, or a transaction index that contradicts itself: rebuild all of the segment's."""
        if OffsetFile(segment.base_offset, names.OFFSET_INDEX, "") not in files:
            if self.clean_stop or segment.base_offset < self.recovery_point:
                log.error(
                    "%s Could not find offset index file corresponding to log file %s, "
                    "recovering segment and rebuilding index files...",
                    self._prefix,
                    segment.file.path,
                )
            self._recover(segment)
        elif segment.base_offset in self._split_bases:
            self._recover(segment)  # Its transaction index cannot be made from the one that was there.
        elif OffsetFile(segment.base_offset, names.TRANSACTION_INDEX, "") in files:
            try:
                segment.indexes.transaction.sanity_check()
            except CorruptIndex as error:
                log.warning(
                    "%s Found a corrupted index file corresponding to log file %s due to %s, "
                    "recovering segment and rebuilding index files...",
                    self._prefix,
                    segment.file.path,
                    error,
                )
                self._recover(segment)

    # Clean

    def _resume(self, files: dict[OffsetFile, os.DirEntry[str]]) -> LoadedLog | None:
        """The log as a clean stop left it, from names and sizes alone; None when they do not fit together."""
        if not len(self.segments):
            return None
        active, end_offset = self.segments.active, self.recovery_point
        if end_offset < max(active.base_offset, self.log_start_offset):
            return None
        if (active.size_bytes == 0) != (end_offset == active.base_offset):
            return None
        start_offset = max(self.log_start_offset, self.segments.first.base_offset)
        self.producers.remove_stray(segment.base_offset for segment in self.segments)
        snapshots = self.producers.snapshot_offsets()
        self._had_snapshots = bool(snapshots)
        if snapshots and not start_offset < snapshots[0] <= snapshots[-1] <= end_offset:
            return None
        if end_offset > start_offset:
            snapshot = files.get(OffsetFile(end_offset, names.PRODUCER_SNAPSHOT, ""))
            if snapshot is None:
                return None
            if snapshot.stat().st_size != producer_snapshot.EMPTY_SIZE_BYTES:
                self.producers.reload(start_offset, end_offset, self.now_ms)
                if self.producers.state.map_end_offset != end_offset:
                    return None
        self.producers.state.map_end_offset = end_offset
        self.producers.last_snapshot_offset = end_offset
        return LoadedLog(self.segments, start_offset, end_offset, end_offset)

    # Unclean

    def _mend_epochs(self) -> None:
        has_none = not self.epochs.cache.entries
        self._mend_last_flushed()
        if not has_none:
            return
        unflushed = self._unflushed()
        trusted = [segment for segment in self.segments if segment not in unflushed and segment.size_bytes]
        make_again(self.epochs, trusted, self.directory)

    def _unflushed(self) -> list[LogSegment]:
        # The parts of a split segment have no transaction index yet, whatever was synced.
        start = min(self.recovery_point, *self._split_bases) if self._split_bases else self.recovery_point
        return self.segments.from_offset(start) if len(self.segments) else []

    def _recover_unflushed(self) -> None:
        unflushed = self._unflushed()
        if unflushed:
            # Here the batches tell the epochs: of a truncation the disk may have kept one and lost the other.
            self.epochs.truncate_from_end(unflushed[0].base_offset)
        gaps = Gaps(
            is_compacted=self.config.compact,
            synced_offset=max(self.recovery_point, self.first_dirty_offset),
            knows_recovery_point=self.knows_recovery_point,
        )
        self.on_progress(len(unflushed))
        for done, segment in enumerate(unflushed, 1):
            log.info(
                "%s Recovering unflushed segment %d. %d/%d recovered for %s.",
                self._prefix,
                segment.base_offset,
                done - 1,
                len(unflushed),
                self.topic_partition,
            )
            if self._recover(segment) > 0:
                log.warning(
                    "%s Corruption found in segment %d, truncating to offset %d",
                    self._prefix,
                    segment.base_offset,
                    self.producers.state.map_end_offset,
                )
            elif done < len(unflushed) and gaps.is_loss(unflushed, done, self.producers.state.map_end_offset):
                log.warning(
                    "%s Records are missing between offset %d and segment %d, truncating to offset %d",
                    self._prefix,
                    self.producers.state.map_end_offset,
                    unflushed[done].base_offset,
                    self.producers.state.map_end_offset,
                )
            else:
                self.on_progress(len(unflushed) - done)
                continue
            self._drop_from(unflushed, done)
            self.on_progress(0)
            return

    def _mend_last_flushed(self) -> None:
        """The segment that ends at the recovery point: all its records were synced, perhaps before the roll that
        trimmed its files and completed its indexes was."""
        slot = len(self.segments) - len(self._unflushed()) - 1
        if slot < 0:
            return
        last = list(self.segments)[slot]
        if not last.is_complete():
            log.warning("%s Segment %d is not complete, rebuilding its indexes", self._prefix, last.base_offset)
            self._recover(last)
        # Complete it may be in memory only: the process died between the roll and its sync, the machine did not yet.
        for path in last.paths():
            self.sync_later(path)

    def _drop_from(self, segments: list[LogSegment], first: int) -> None:
        """Newest first, so that no power cut leaves a hole; durably, so that none reappears."""
        for segment in segments[: first - 1 : -1]:
            self._drop(segment)
        self.disk.sync_path(self.directory)

    def _recover(self, segment: LogSegment) -> int:
        """Check and rebuild one segment, and remember the producers at its end; the bytes that went."""
        self._remember_producers_before(segment)
        lost_bytes = recover_segment(segment, self.producers, self.epochs, self.breathe)
        if lost_bytes:
            self.sync_later(segment.file.path)
        self.producers.take_snapshot()
        self._recovered = segment, self.producers.state.map_end_offset
        # There may be thousands to recover, and few descriptors.
        segment.close_if_idle()
        return lost_bytes

    def _remember_producers_before(self, segment: LogSegment) -> None:
        """Bring the producers to its start. After the segment just recovered they are already there.

        A full disk takes no snapshots: for each segment all earlier ones would be read again.
        """
        state, start = self.producers.state, segment.base_offset
        is_behind_last = self._recovered is not None and self._recovered[1] == state.map_end_offset == start
        if is_behind_last and start > self.log_start_offset:
            # As a snapshot at `start` would have them.
            state.on_high_watermark(start)
            state.remove_expired(self.now_ms, self.producers.expiration_ms)
            return
        state.clear(-1)
        rebuild_producers(
            self.producers,
            self.segments,
            log_start_offset=self.log_start_offset,
            end_offset=start,
            now_ms=self.now_ms,
            after_clean_stop=False,
        )

    def _splitting(self, step: Callable[[], None]) -> bool:
        """Whether `step` came to its end; else a segment was split, and it is to be taken again. Raises OSError."""
        try:
            step()
        except OverflowedSegment as overflow:
            log.info("%s Caught segment overflow error: %s. Split segment and retry.", self._prefix, overflow)
            bases = split_in_place(
                overflow.segment, self.producers, self.config, now_ms=self.now_ms, disk=self.disk, prefix=self._prefix
            )
            self._split_bases.update(bases)
            for segment in self.segments:
                if segment is overflow.segment or segment.base_offset in bases:
                    self.segments.remove(segment)
            for base in bases:
                path = self.directory / names.offset_file_name(base, names.LOG)
                self.segments.add(self._segment(base, os.stat(path).st_size))
            return False
        return True

    def _segment(self, base_offset: int, size_bytes: int) -> LogSegment:
        config = self.config
        return LogSegment(
            self.directory,
            base_offset,
            config,
            size_bytes=size_bytes,
            created_ms=self.now_ms,
            jitter_ms=drawn_jitter_ms(
                jitter_ms=config.segment_jitter_ms, segment_ms=config.segment_ms, draw_below=self.jitter_below
            ),
            disk=self.disk,
        )

    def _end_offset(self) -> int:
        """The log end; makes the log empty at its start when it ends below that, and gives it a segment."""
        if len(self.segments):
            end_offset = self._next_offset(self.segments.active)
            if end_offset >= self.log_start_offset:
                return end_offset
            log.warning(
                "%s Deleting all segments because logEndOffset (%d) is smaller than logStartOffset %d. "
                "This could happen if segment files were deleted from the file system.",
                self._prefix,
                end_offset,
                self.log_start_offset,
            )
            for segment in self.segments:
                self._drop(segment)
            self.epochs.clear()
            self.producers.restart_at(self.log_start_offset)
        first = self._segment(self.log_start_offset, 0)
        first.create_files(preallocate_bytes=self.config.segment_bytes if self.config.preallocate else 0)
        self.segments.add(first)
        return self.log_start_offset

    def _next_offset(self, segment: LogSegment) -> int:
        if self._recovered is not None and self._recovered[0] is segment:
            return self._recovered[1]
        try:
            return segment.next_offset()
        except CorruptMessage as error:
            raise OSError(f"{segment.file.path}: {error}") from error

    def _drop(self, segment: LogSegment) -> None:
        self.segments.remove(segment)
        segment.close_files()
        for path in segment.paths():
            self.disk.remove_if_exists(path)

    @property
    def _prefix(self) -> str:
        return f"[LogLoader partition={self.topic_partition}, dir={self.directory.parent}]"
