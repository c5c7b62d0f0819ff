"""Cleans one log: builds the offset map of its dirty section, then rewrites the segments.

Role        Acts, in the greenlet of a cleaner. The CPU-heavy passes run a chunk at a time (chunks.py) in a helper
            process; between them the cleaner throttles itself, and checks whether the log was changed meanwhile.
Invariants  Until a group's swap the log is untouched; before the first, all mapped records are synced, and the recovery
            point on the disk is behind it. A cleaning that ends early leaves no file; leftovers of a crash are
            removed or completed by the next start. Records at or behind the first uncleanable offset stay as they are.
Source      Kafka 3.9 Cleaner: doClean, cleanSegments, buildOffsetMap; LocalLog.createNewCleanedSegment.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_zk.log.cleaner.batch_filter import LastRecord
from kafka_zk.log.cleaner.choosing import OffsetsToClean, below, between
from kafka_zk.log.cleaner.chunks import (
    FilterState,
    MapState,
    PassRules,
    Source,
    TableRules,
    filter_chunk,
    map_chunk,
)
from kafka_zk.log.cleaner.errors import CleaningAborted, SegmentOverflow
from kafka_zk.log.cleaner.grouping import group_segments
from kafka_zk.log.cleaner.key_table import KeyTable
from kafka_zk.log.cleaner.segment_facts import SegmentView, describe
from kafka_zk.log.cleaner.settings import CleanerSettings
from kafka_zk.log.cleaner.stats import CleanerStats
from kafka_zk.log.cleaner.swap import replace_segments
from kafka_zk.log.cleaner.transactions import CleanedTransactions
from kafka_zk.log.files import names
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.helper.process import Helper
from kafka_zk.log.helper.wire import Descriptor
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.types import uuid_to_base64
from kafka_zk.record.batch import HEADER_SIZE, MAGIC_AT, read_header
from kafka_zk.record.runs import IndexEntry

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

log_lines = logging.getLogger("kafka.log.LogCleaner")

T = TypeVar("T")


class Cleaning:
    """`truncations`: those of the log when `offsets` were chosen.

    `rest_after(bytes)` is called after each chunk; it blocks if the cleaner must pause.
    """

    def __init__(
        self,
        log: UnifiedLog,
        offsets: OffsetsToClean,
        truncations: int,
        *,
        cleaner_id: int,
        settings: CleanerSettings,
        helper: Helper,
        chunk_bytes: int,
        rest_after: Callable[[int], None],
    ) -> None:
        self._log = log
        self._offsets = offsets
        self._settings = settings
        self._helper = helper
        self._chunk_bytes = chunk_bytes
        self._rest_after = rest_after
        self._prefix = f"Cleaner {cleaner_id}:"
        self._name = str(log.topic_partition)
        self._began_ms = log.log_dir.clock.monotonic_ms()
        self._now_ms = log.log_dir.clock.wall_ms()
        self._truncations = truncations
        self.stats = CleanerStats()

    def run(self) -> int:
        """Blocks. Returns where the next cleaning begins.

        Raises CleaningAborted, SegmentOverflow (nothing changed since the last swap), KafkaStorageError, OSError, and
        for bad bytes CorruptMessage, InvalidRecord, UnknownServerError.
        """
        self._check()  # It may have been deleted, or truncated, since it was chosen.
        log, clock = self._log, self._log.log_dir.clock
        log_lines.info("%s Beginning cleaning of log %s", self._prefix, self._name)
        segments = list(log.segments)
        start, uncleanable = self._offsets.first_dirty_offset, self._offsets.first_uncleanable_offset
        clean = below(segments, start)
        legacy_horizon_ms = _modified_ms(clean[-1]) - log.config.delete_retention_ms if clean else 0
        table = KeyTable(
            slots=self._settings.table_slots,
            limit=self._settings.table_keys,
            record_count=segments[-1].base_offset - start,
        )
        try:
            mapped = self._fill(table, between(segments, start, uncleanable))
            self.stats.map_ms = clock.monotonic_ms() - self._began_ms
            end_offset = mapped.latest_offset + 1
            # Records are removed because of later ones, which a power cut must not lose while it keeps the swaps.
            # Sync to the end: markers of mapped records may be anywhere after them, and so may the last batches of
            # producers, because of which earlier ones are removed. Later ones than this flush do not count.
            last_records = self._last_records()
            log.flush()
            # Nor may a start check cleaned segments for losses: it would find gaps, and epochs without a batch.
            log.log_dir.write_recovery_points()
            self._check()
            cleanable = below(segments, uncleanable)
            log_lines.info(
                "%s Cleaning log %s (cleaning prior to %s, discarding tombstones prior to upper bound deletion "
                "horizon %s)...",
                self._prefix,
                self._name,
                _date(_modified_ms(cleanable[-1]) if cleanable else 0),
                _date(legacy_horizon_ms),
            )
            groups = group_segments(
                [SegmentView(each) for each in below(segments, end_offset)],
                segment_bytes=log.config.segment_bytes,
                index_bytes=log.config.segment_index_bytes,
                first_uncleanable_offset=uncleanable,
            )
            transactions = CleanedTransactions()
            for group in groups:
                sources = [each.segment for each in group]
                transactions = self._clean(sources, table, mapped, last_records, transactions, legacy_horizon_ms)
            self.stats.buffer_utilization = mapped.key_count / table.slots if table.slots else 0.0
        finally:
            table.close()
        self.stats.elapsed_ms = clock.monotonic_ms() - self._began_ms
        return end_offset

    # The key table

    def _fill(self, table: KeyTable, dirty: Sequence[LogSegment]) -> MapState:
        start, end = self._offsets.first_dirty_offset, self._offsets.first_uncleanable_offset
        log_dir = self._log.log_dir
        log_lines.info("%s Building offset map for %s...", self._prefix, self._name)
        log_lines.info(
            "%s Building offset map for log %s for %d segments in offset range [%d, %d).",
            self._prefix,
            self._name,
            len(dirty),
            start,
            end,
        )
        state = MapState(self._settings.buffer_bytes)
        state.transactions.expect(self._aborted(start, end))
        rules = TableRules(table.size_bytes, table.seed, table.limit, start)
        for slot, segment in enumerate(dirty):
            self._check()
            log_dir.open_segments.track(segment)
            state.buffer_bytes = self._settings.buffer_bytes
            state.position = self._position_of(start, segment)
            while state.position < segment.size_bytes and not state.is_full:
                read_bytes, buffer_bytes = state.read_bytes, state.buffer_bytes
                state = self._run_chunk(
                    segment, map_chunk, table.descriptor, rules, _opened(segment), self._source(segment), state
                )
                _tell_of_growth(buffer_bytes, state.buffer_bytes)
                self._rest(state.read_bytes - read_bytes)
            if state.is_full:
                log_lines.debug(
                    "%s Offset map is full, %d segments fully mapped, segment with base offset %d is partially mapped",
                    self._prefix,
                    slot,
                    segment.base_offset,
                )
                break
            # The end of a segment may be a gap: no record is left there.
            following = dirty[slot + 1].base_offset if slot + 1 < len(dirty) else end
            state.latest_offset = following - 1
        log_lines.info("%s Offset map for log %s complete.", self._prefix, self._name)
        self.stats.mapped_bytes, self.stats.mapped_count = state.read_bytes, state.record_count
        return state

    def _position_of(self, offset: int, segment: LogSegment) -> int:
        """Where to start looking for `offset`: at an index entry if its batch exists, else at the beginning.

        A wrong index entry would skip keys, and so keep their older values.
        """
        entry = segment.indexes.offset.lookup(offset)
        if not 0 < entry.position <= segment.size_bytes - HEADER_SIZE:
            return 0
        head = os.pread(segment.file.fileno(), HEADER_SIZE, entry.position)
        if len(head) < HEADER_SIZE or head[MAGIC_AT] != 2:
            return 0
        header = read_header(head, 0)
        is_there = header.base_offset <= entry.offset <= min(header.last_offset, offset)
        return entry.position if is_there and header.size_bytes <= segment.size_bytes - entry.position else 0

    # Rewriting

    def _clean(
        self,
        group: list[LogSegment],
        table: KeyTable,
        mapped: MapState,
        last_records: dict[int, LastRecord],
        transactions: CleanedTransactions,
        legacy_horizon_ms: int,
    ) -> CleanedTransactions:
        """Blocks. Clean one group into one segment, which replaces it; returns the state of transactions after it."""
        log = self._log
        self._check()
        with log.log_dir.guard(f"Failed to clean up log for {self._name} in dir {log.log_dir.path}"):
            cleaned = self._new_segment(group[0].base_offset)
        try:
            state = FilterState(self._settings.buffer_bytes, transactions)
            for segment in group:
                rules = PassRules(
                    table.size_bytes,
                    table.seed,
                    mapped.latest_offset,
                    self._now_ms,
                    log.config.delete_retention_ms,
                    _modified_ms(segment) > legacy_horizon_ms,
                    last_records,
                    cleaned.indexes.interval_bytes,
                )
                self._announce(segment, cleaned, legacy_horizon_ms, is_retaining=rules.keep_legacy_tombstones)
                state = self._clean_into(cleaned, segment, table, rules, state)
            self._complete(cleaned, modified_ns=_modified_ns(group[-1]))
            log_lines.info(
                "%s Swapping in cleaned segment %s for segment(s) List(%s) in log %s",
                self._prefix,
                describe(cleaned),
                ", ".join(map(describe, group)),
                self._describe_log(),
            )
            with log.turn:
                self._check()
                replace_segments(log, [cleaned], group)
        except BaseException:
            self._discard(cleaned)
            raise
        return state.transactions

    def _clean_into(
        self, cleaned: LogSegment, segment: LogSegment, table: KeyTable, rules: PassRules, state: FilterState
    ) -> FilterState:
        """Blocks. Append the retained records of `segment` to `cleaned`."""
        state.position, state.buffer_bytes = 0, self._settings.buffer_bytes
        following = self._log.segments.after(segment)
        assert following is not None, "the active segment is never cleaned"
        state.transactions.expect(self._aborted(segment.base_offset, following.base_offset))
        stats = self.stats
        while state.position < segment.size_bytes:
            buffer_bytes = state.buffer_bytes
            state, entries, aborted, counts = self._run_chunk(
                segment,
                filter_chunk,
                table.descriptor,
                rules,
                _opened(segment),
                self._source(segment),
                _opened(cleaned),
                state,
            )
            _tell_of_growth(buffer_bytes, state.buffer_bytes)
            self._take_in(cleaned, state, entries)
            for entry in aborted:
                cleaned.indexes.transaction.append(entry)
            stats.read_bytes += counts.read_bytes
            stats.read_count += counts.read_count
            stats.written_bytes += counts.written_bytes
            stats.written_count += counts.kept_count
            stats.keyless_count += counts.keyless_count
            self._rest(counts.read_bytes + counts.written_bytes)
        return state

    def _take_in(self, cleaned: LogSegment, state: FilterState, entries: list[IndexEntry]) -> None:
        """Note what was written to `cleaned`. Raises SegmentOverflow."""
        indexed = state.indexed
        if indexed.last_offset - cleaned.base_offset > MAX_RELATIVE_OFFSET:
            raise SegmentOverflow(f"Detected offset overflow at offset {indexed.last_offset} in segment {cleaned}")
        cleaned.file.size_bytes = state.written_bytes
        cleaned.first_timestamp = indexed.first_timestamp
        cleaned.take_in(entries, indexed.indexing)

    def _new_segment(self, base_offset: int) -> LogSegment:
        log, config = self._log, self._log.config
        for kind in names.SEGMENT_FILES:
            path = log.directory / names.offset_file_name(base_offset, kind, names.CLEANED)
            log.log_dir.disk.remove_if_exists(path)
        cleaned = LogSegment(
            log.directory,
            base_offset,
            config,
            created_ms=self._now_ms,
            disk=log.log_dir.disk,
            suffix=names.CLEANED,
        )
        cleaned.create_files(preallocate_bytes=config.segment_bytes if config.preallocate else 0)
        return cleaned

    def _complete(self, cleaned: LogSegment, *, modified_ns: int) -> None:
        """Blocks. Make the new segment durable, as old as the last one it is made of."""
        log_dir = self._log.log_dir
        cleaned.become_inactive()
        try:
            log_dir.pools.run_to_end(log_dir.pools.sync, cleaned.flush)
        except OSError:
            # The directory of a log deleted meanwhile was renamed: not a disk error.
            self._check()
            raise
        self._check()
        for path in (cleaned.file.path, cleaned.indexes.offset.file.path, cleaned.indexes.time.file.path):
            os.utime(path, ns=(modified_ns, modified_ns))

    def _discard(self, cleaned: LogSegment) -> None:
        """Delete its files. After a failed swap they may have other names: a start handles those."""
        cleaned.close_files()
        if self._log.log_dir.is_offline:
            return
        for path in cleaned.paths():
            if path.name.endswith(names.CLEANED):
                with suppress(OSError):
                    self._log.log_dir.disk.remove_if_exists(self._log.directory / path.name)

    # What both passes need

    def _run_chunk(self, segment: LogSegment, task: Callable[..., T], *arguments: Any) -> T:
        """Blocks. Run one task of the helper that reads `segment`, which stays open meanwhile."""
        segment.file.retain()
        try:
            result = self._helper.call(task, *arguments)
        except Exception:
            # A file truncated meanwhile looks corrupt.
            self._check()
            raise
        finally:
            segment.file.release()
        self._check()
        return result

    def _rest(self, size_bytes: int) -> None:
        """Blocks while the cleaners exceed their rate. Files deleted meanwhile are not a disk error."""
        self._rest_after(size_bytes)
        self._check()

    def _source(self, segment: LogSegment) -> Source:
        self._log.log_dir.open_segments.track(segment)
        return Source(segment.size_bytes, self._log.config.max_message_bytes, self._chunk_bytes)

    def _aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """The index entries of transactions that may have records in [start, end)."""
        log, found = self._log, []
        for segment in log.segments.from_offset(start):
            for entry in segment.aborted_transactions():
                if entry.last_offset >= log.log_start_offset and entry.first_offset < end:
                    found.append(entry)
                if entry.last_stable_offset >= end:
                    return found
        return found

    def _last_records(self) -> dict[int, LastRecord]:
        return {
            producer_id: LastRecord(entry.batches[-1].last_offset if entry.batches else -1, entry.producer_epoch)
            for producer_id, entry in self._log.producers.state.producers.items()
        }

    def _check(self) -> None:
        """Raises CleaningAborted if the log was changed."""
        log = self._log
        if log.is_closed or log.is_copied or log.truncations != self._truncations or not log.config.compact:
            raise CleaningAborted(f"The cleaning for partition {self._name} is aborted")

    def _announce(self, segment: LogSegment, cleaned: LogSegment, horizon_ms: int, *, is_retaining: bool) -> None:
        log_lines.info(
            "%s Cleaning %s in log %s into %d with an upper bound deletion horizon %d computed from the segment last "
            "modified time of %d,%s deletes.",
            self._prefix,
            describe(segment),
            self._name,
            cleaned.base_offset,
            horizon_ms,
            _modified_ms(segment),
            "retaining" if is_retaining else "discarding",
        )

    def _describe_log(self) -> str:
        log = self._log
        topic_id = "None" if log.topic_id is None else uuid_to_base64(log.topic_id)
        return (
            f"Log(dir={log.directory}, topicId={topic_id}, topic={log.topic_partition.topic}, "
            f"partition={log.topic_partition.partition}, highWatermark={log.high_watermark}, "
            f"lastStableOffset={log.last_stable_offset}, logStartOffset={log.log_start_offset}, "
            f"logEndOffset={log.log_end_offset})"
        )


def _tell_of_growth(before_bytes: int, now_bytes: int) -> None:
    """The helper doubled its buffer until a batch fitted: log a line for each time, as Kafka does."""
    while before_bytes < now_bytes:
        grown_bytes = min(2 * before_bytes, now_bytes)
        log_lines.info("Growing cleaner I/O buffers from %d bytes to %d bytes.", before_bytes, grown_bytes)
        before_bytes = grown_bytes


def _opened(segment: LogSegment) -> Descriptor:
    return Descriptor(segment.file.fileno())


def _modified_ns(segment: LogSegment) -> int:
    return os.stat(segment.file.path).st_mtime_ns


def _modified_ms(segment: LogSegment) -> int:
    return _modified_ns(segment) // 1_000_000


def _date(timestamp_ms: int) -> str:
    """As Java prints a date."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
