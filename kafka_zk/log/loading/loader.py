"""Opening one partition's directory: finish what a crash interrupted, then say what the log is.

Role        Plain and synchronous; run at start-up and when a partition is created.
Invariants  After a clean stop nothing is scanned and nothing is opened: names, sizes and the recovery point are enough.
            After a crash every segment from the recovery point on is checked; the first that loses bytes is the last
            that stays. What is below the recovery point was synced and is trusted.
Source      LogLoader.load, removeTempFilesAndCollectSwapFiles, loadSegmentFiles, recoverLog.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names, producer_snapshot
from kafka_zk.log.files.checkpoint import MalformedCheckpoint
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.names import OffsetFile
from kafka_zk.log.files.transaction_index import CorruptIndex
from kafka_zk.log.loading.rebuild import epochs_of, rebuild_producers, recover_segment
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.leader_epoch_cache import LeaderEpochCache
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
    jitter_ms: int = 0
    knows_recovery_point: bool = True
    breathe: Callable[[], None] = lambda: None
    sync_later: Callable[[Path], None] = lambda path: None
    """Told of segments that were cut: after a clean stop nobody would look behind the cut again."""
    segments: Segments = field(default_factory=Segments)
    _recovered: tuple[LogSegment, int] | None = None
    """The segment recovered last and where it ends."""

    def load(self) -> LoadedLog:
        """Raises OSError, CorruptMessage (a directory that contradicts itself)."""
        if not self.clean_stop:
            self._forget_torn_epochs()
        files = self._finish_swaps(self._scan())
        self.producers.begin_load(file.offset for file in files if file.kind == names.PRODUCER_SNAPSHOT)
        try:
            return self._load(files)
        finally:
            self.producers.end_load()

    def _load(self, files: dict[OffsetFile, os.DirEntry[str]]) -> LoadedLog:
        self._open_segments(files)
        loaded = self._resume(files) if self.clean_stop else None
        if loaded is not None:
            return loaded
        if not self.clean_stop:
            with self.epochs.written_once():
                self._mend_epochs()
                self._recover_unflushed()
        end_offset = self._end_offset()
        recovery_point = end_offset if self.clean_stop else min(self.recovery_point, end_offset)
        self.epochs.truncate_from_end(end_offset)
        self.epochs.truncate_from_start(self.log_start_offset)
        start_offset = max(self.log_start_offset, self.segments.first.base_offset)
        if not self.clean_stop:
            self._mend_first_epochs(start_offset)
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
            after_clean_stop=self.clean_stop,
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

    def _finish_swaps(self, files: dict[OffsetFile, os.DirEntry[str]]) -> dict[OffsetFile, os.DirEntry[str]]:
        """Undo an unfinished cleaning or split, complete a finished one; what is left has no suffix.

        .deleted: nobody needs it. .cleaned: not finished, so the swaps at or above the smallest are of an unfinished
        split. Other .swap files are finished and replace everything in their range of offsets.
        """
        if not any(file.state for file in files):
            return files
        for file in self._having(files, names.DELETED):
            self._unlink(file)
        cleaned = self._having(files, names.CLEANED)
        smallest_cleaned = min((file.offset for file in cleaned), default=1 << 63)
        swaps = []
        for file in self._having(files, names.SWAP):
            if file.offset >= smallest_cleaned:
                log.info("%s Deleting invalid swap file %s", self._prefix, self._name(file))
                self._unlink(file)
            else:
                swaps.append(file)
        for file in cleaned:
            self._unlink(file)
        self._replace_range(swaps, [file for file in files if not file.state])
        for file in swaps:
            self.disk.rename(self.directory / self._name(file), self.directory / self._name(file._replace(state="")))
        self.disk.sync_path(self.directory)
        return self._scan()

    def _replace_range(self, swaps: list[OffsetFile], live: list[OffsetFile]) -> None:
        logs = [file for file in swaps if file.kind == names.LOG]
        if not logs:
            return
        first = min(file.offset for file in logs)
        end = max(self._swap_end(file) for file in logs)
        for file in live:
            if file.kind != names.PRODUCER_SNAPSHOT and first <= file.offset < end:
                log.info("%s Deleting %s, which swap files replace", self._prefix, self._name(file))
                self._unlink(file)

    def _swap_end(self, file: OffsetFile) -> int:
        path = self.directory / self._name(file)
        segment = LogSegment(
            self.directory,
            file.offset,
            self.config,
            size_bytes=path.stat().st_size,
            created_ms=self.now_ms,
            disk=self.disk,
            state=names.SWAP,
        )
        try:
            return segment.next_offset()
        finally:
            segment.close_files()

    def _open_segments(self, files: dict[OffsetFile, os.DirEntry[str]]) -> None:
        for file in sorted(files):
            if file.kind in names.INDEXES and OffsetFile(file.offset, names.LOG, "") not in files:
                log.warning(
                    "%s Found an orphaned index file %s, with no corresponding log file.",
                    self._prefix,
                    self.directory / self._name(file),
                )
                self._unlink(file)
        for file in sorted(file for file in files if file.kind == names.LOG):
            segment = LogSegment(
                self.directory,
                file.offset,
                self.config,
                size_bytes=files[file].stat().st_size,
                created_ms=self.now_ms,
                jitter_ms=self.jitter_ms,
                disk=self.disk,
            )
            self.segments.add(segment)
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
        elif OffsetFile(segment.base_offset, names.TRANSACTION_INDEX, "") in files:
            try:
                segment.transaction_index.sanity_check()
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

    def _forget_torn_epochs(self) -> None:
        try:
            _ = self.epochs.cache
        except MalformedCheckpoint as error:
            log.warning("%s %s; rebuilding it from the log", self._prefix, error)
            self.epochs.replace(LeaderEpochCache())

    def _mend_epochs(self) -> None:
        """A power cut may have left the epoch file empty: make it again from the batches that are trusted."""
        has_none = not self.epochs.cache.entries
        self._mend_last_flushed()
        if not has_none:
            return
        unflushed = self._unflushed()
        trusted = [segment for segment in self.segments if segment not in unflushed and segment.size_bytes]
        try:
            if trusted:
                self.epochs.replace(epochs_of(trusted))
        except CorruptMessage as error:
            raise OSError(f"{self.directory}: {error}") from error

    def _mend_first_epochs(self, start_offset: int) -> None:
        """The log start had moved on, which no checkpoint remembers: records before the first epoch are back."""
        cache = self.epochs.cache
        first = cache.earliest_entry()
        if first is None or first.start_offset <= start_offset:
            return
        before = [segment for segment in self.segments if segment.base_offset < first.start_offset]
        found = [entry for entry in epochs_of(before).entries if entry.start_offset < first.start_offset]
        if found:
            newest = found[-1].epoch
            known = [entry for entry in cache.entries if entry.epoch > newest]
            self.epochs.replace(LeaderEpochCache([*found, *known]))
            self.epochs.truncate_from_start(start_offset)

    def _unflushed(self) -> list[LogSegment]:
        return self.segments.from_offset(self.recovery_point) if len(self.segments) else []

    def _recover_unflushed(self) -> None:
        unflushed = self._unflushed()
        if unflushed:
            # Here the batches tell the epochs: of a truncation the disk may have kept one and lost the other.
            self.epochs.truncate_from_end(unflushed[0].base_offset)
        for done, segment in enumerate(unflushed):
            log.info(
                "%s Recovering unflushed segment %d. %d/%d recovered for %s.",
                self._prefix,
                segment.base_offset,
                done,
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
                self._drop_from(unflushed, done + 1)
                return
            following = unflushed[done + 1] if done + 1 < len(unflushed) else None
            if following is not None and self._is_hole(self.producers.state.map_end_offset, following.base_offset):
                log.warning(
                    "%s Segment %d does not follow offset %d: what lay between was lost, truncating to offset %d",
                    self._prefix,
                    following.base_offset,
                    self.producers.state.map_end_offset,
                    self.producers.state.map_end_offset,
                )
                self._drop_from(unflushed, done + 1)
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

    def _is_hole(self, end_offset: int, next_base_offset: int) -> bool:
        """Whether a segment that was never synced begins where the one before it does not end.

        A power cut may keep a file and lose the one before it. Nobody would ever fill such a hole: a replica fetches
        from its end on. Cleaned logs have gaps, and when no recovery point is known nothing says what was synced.
        """
        if next_base_offset < end_offset:
            return True
        return next_base_offset > end_offset and self.knows_recovery_point and not self.config.compact

    def _drop_from(self, segments: list[LogSegment], first: int) -> None:
        """The newest first, so that no power cut makes a hole; for good, so that none of them comes back."""
        for segment in segments[: first - 1 : -1]:
            self._drop(segment)
        self.disk.sync_path(self.directory)

    def _recover(self, segment: LogSegment) -> int:
        """Check and rebuild one segment, and remember the producers at its end; the bytes that went."""
        self.producers.state.clear(-1)
        rebuild_producers(
            self.producers,
            self.segments,
            log_start_offset=self.log_start_offset,
            end_offset=segment.base_offset,
            now_ms=self.now_ms,
            after_clean_stop=False,
        )
        lost_bytes = recover_segment(segment, self.producers, self.epochs, self.breathe)
        if lost_bytes:
            self.sync_later(segment.file.path)
        self.producers.take_snapshot()
        self._recovered = segment, self.producers.state.map_end_offset
        # There may be thousands to recover, and few descriptors.
        segment.close_if_idle()
        return lost_bytes

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
        first = LogSegment(
            self.directory,
            self.log_start_offset,
            self.config,
            created_ms=self.now_ms,
            jitter_ms=self.jitter_ms,
            disk=self.disk,
        )
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

    def _having(self, files: dict[OffsetFile, os.DirEntry[str]], state: str) -> list[OffsetFile]:
        return sorted(file for file in files if file.state == state)

    def _name(self, file: OffsetFile) -> str:
        return names.offset_file_name(*file)

    def _unlink(self, file: OffsetFile) -> None:
        self.disk.remove_if_exists(self.directory / self._name(file))

    @property
    def _prefix(self) -> str:
        return f"[LogLoader partition={self.topic_partition}, dir={self.directory.parent}]"


def partition_dirs(log_dir: Path) -> Iterator[Path]:
    """The directories in a log directory that should be partitions. Raises OSError."""
    with os.scandir(log_dir) as entries:
        found = sorted(entry.name for entry in entries if entry.is_dir())
    for name in found:
        if name not in (names.REMOTE_INDEX_CACHE, names.CLUSTER_METADATA_DIR):
            yield log_dir / name
