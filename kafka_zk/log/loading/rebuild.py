"""Rebuilds indexes, epochs and producer state from batches.

Role        Plain and synchronous. Used at load after a crash, after a truncation, and for a segment without its index.
Invariants  The log is the source of truth; everything else can be rebuilt from it. Recovery of a segment keeps every
            batch up to the first that is torn, corrupt or out of range, and nothing after it. Of two batches whose
            offsets do not follow one another neither is kept.
Source      LogSegment.recover, UnifiedLog.rebuildProducerState.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.segments.segment_list import Segments
from kafka_zk.log.segments.splitting import OverflowedSegment, overflowing_offset
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.leader_epoch_cache import LeaderEpochCache
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.log.state.producer_state import KeptBatch
from kafka_zk.protocol.errors import BrokerError, CorruptMessage
from kafka_zk.record.batch import Batch, BatchHeader, batch_size, computed_crc, read_header
from kafka_zk.record.control import marker_of
from kafka_zk.record.runs import PlainRun, compiled_run

Found = tuple[int, BatchHeader]
"""Where a batch lies in its segment."""

segment_log = logging.getLogger("org.apache.kafka.storage.internals.log.LogSegment")
log = logging.getLogger("kafka.log.UnifiedLog")


def recover_segment(
    segment: LogSegment, producers: ProducerJournal, epochs: EpochJournal, breathe: Callable[[], None]
) -> int:
    """Check every batch, rebuild the indexes, cut what is invalid; the bytes that went. Raises OSError.

    The producer state must be at the segment's base offset. `breathe` is called every megabyte.
    Raises OverflowedSegment: the segment, which is unchanged except for its indexes, must be split first.
    """
    file_size = segment.file.size_bytes
    segment.restart()
    segment.indexes.transaction.reset()
    recovery = _Recovery(segment, producers, epochs)
    try:
        while (window := segment.file.window(recovery.read_bytes, file_size)) is not None:
            breathe()
            recovery.walk(window)
    except OutOfReach as error:
        offset = overflowing_offset(segment)
        if offset is not None:
            raise OverflowedSegment(segment, offset) from error
        _warn(segment, recovery.read_bytes, error)
    except DisorderedOffsets as error:
        recovery.pending = None
        _warn(segment, recovery.valid_bytes, error)
    except CorruptMessage as error:
        _warn(segment, recovery.read_bytes, error)
    recovery.take_in_pending()
    if recovery.valid_bytes < file_size:
        segment.file.truncate(recovery.valid_bytes)
    segment.become_inactive()
    # As Kafka's, which counts again: leader and follower must not index differently because one of them crashed.
    segment.indexes.bytes_since_last_entry = 0
    return file_size - recovery.valid_bytes


class _Recovery:
    """Walks one segment from its start. A batch is taken in once the next one is known to follow it.

    `valid_bytes` are taken in; `pending` is the batch behind them, that ends at `read_bytes`.
    """

    def __init__(self, segment: LogSegment, producers: ProducerJournal, epochs: EpochJournal) -> None:
        self.valid_bytes = 0
        self.read_bytes = 0
        self.pending: Batch | None = None
        self._segment = segment
        self._producers = producers
        self._epochs = epochs
        self._plain_run = compiled_run()

    def walk(self, window: memoryview) -> None:
        """Take in the whole batches of `window`, which starts at `read_bytes`. Raises CorruptMessage, OSError."""
        at = 0
        while (size := batch_size(window, at)) is not None and at + size <= len(window):
            batch = Batch(window, at, read_header(window, at))
            _check(batch, self._segment)
            if self.pending is not None:
                _check_order(self.pending, batch)
            self._follow_with(batch)
            at += size
            # The first batch of a segment carries more than the others.
            if self._plain_run is not None and self.valid_bytes and at < len(window):
                at = self._run_on(self._plain_run, batch, at)

    def take_in_pending(self) -> None:
        """Raises OSError."""
        if self.pending is not None:
            self._segment.recovered(self.pending.header, self.valid_bytes)
            _follow(self.pending, self._segment, self._producers, self._epochs)
            self.valid_bytes += self.pending.size_bytes
            self.pending = None

    def _follow_with(self, batch: Batch) -> None:
        self.take_in_pending()
        self.pending = batch
        self.read_bytes += batch.size_bytes

    def _run_on(self, plain_run: PlainRun, pending: Batch, at: int) -> int:
        """Take in the plain batches from the pending one on, all but the last, which is then pending; where they end.

        `at` is where the pending one ends.
        """
        segment, window, begin = self._segment, pending.buffer, pending.position
        run = plain_run(
            window,
            begin,
            pending.header.base_offset,
            segment.base_offset,
            self._epochs.cache.latest_epoch,
            self.valid_bytes - begin,
            segment.indexes.interval_bytes,
            segment.indexing,
        )
        if run.last == begin:
            return at
        segment.take_in(run.entries, run.indexing)
        state = self._producers.state
        for producer_id, producer_epoch, *kept in run.producers:
            state.note(producer_id, producer_epoch, KeptBatch(*kept))
        state.map_end_offset = run.next_offset
        self.pending = Batch(window, run.last, read_header(window, run.last))
        self.valid_bytes += run.last - begin
        self.read_bytes += run.end - at
        return run.end


class OutOfReach(CorruptMessage):
    """An offset that no index entry relative to the segment's base can say."""


class DisorderedOffsets(CorruptMessage):
    """Two batches that cannot both be right: offsets are not under the crc, so either may be the damaged one."""


def _warn(segment: LogSegment, position: int, error: CorruptMessage) -> None:
    segment_log.warning(
        "Found invalid messages in log segment %s at byte offset %d. %s", segment.file.path, position, error
    )


def _check_order(before: Batch, batch: Batch) -> None:
    """Raises DisorderedOffsets."""
    first = batch.header.base_offset if batch.header.magic >= 2 else batch.header.last_offset
    if first < before.header.next_offset:
        raise DisorderedOffsets(f"Offset {first} follows a batch that ends with offset {before.header.last_offset}")


def _check(batch: Batch, segment: LogSegment) -> None:
    """Raises CorruptMessage."""
    header = batch.header
    computed = computed_crc(batch.buffer, batch.position, header)
    if computed != header.crc:
        raise CorruptMessage(f"Record is corrupt (stored crc = {header.crc}, computed crc = {computed})")
    relative = header.last_offset - segment.base_offset
    if not 0 <= relative <= MAX_RELATIVE_OFFSET:
        kind = OutOfReach if relative > 0 else CorruptMessage
        raise kind(f"Detected offset overflow at offset {header.last_offset} in segment {segment}")
    if header.is_control and header.has_producer_id:
        try:
            marker_of(batch)
        except BrokerError as error:
            raise CorruptMessage(f"Record is corrupt: {error}") from error


def _follow(batch: Batch, segment: LogSegment, producers: ProducerJournal, epochs: EpochJournal) -> None:
    header = batch.header
    if header.magic < 2:
        producers.state.map_end_offset = header.next_offset
        return
    if header.partition_leader_epoch > epochs.cache.latest_epoch:
        epochs.assign(header.partition_leader_epoch, header.base_offset)
    if header.is_control and header.has_producer_id:
        marker = marker_of(batch)
        if marker is not None:
            completed = producers.state.update_marker(header, marker, header.last_offset)
            if completed is not None:
                stable = producers.state.last_stable_offset_after(completed)
                if completed.is_aborted:
                    segment.indexes.transaction.append(
                        AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)
                    )
                producers.state.complete(completed)
        producers.state.map_end_offset = header.next_offset
    else:
        producers.follow(header, None)


def rebuild_producers(
    producers: ProducerJournal,
    segments: Segments,
    *,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    after_clean_stop: bool,
    each: Callable[[Iterable[Found]], Iterable[Found]] = iter,
) -> None:
    """Bring the producer state to `end_offset`: newest snapshot, then the batches behind it. Raises OSError.

    `each` iterates over the batches; on the loop it yields to other greenlets now and then.
    Snapshots are taken at the bases of the last two segments and at the end. After a clean stop without any snapshot
    there was no state, so nothing is read.
    """
    bases = [segment.base_offset for segment in segments]
    snapshots_at = [offset for offset in (*bases[-2:], end_offset) if offset <= end_offset]
    state = producers.state
    if after_clean_stop and not producers.snapshot_offsets():
        for offset in snapshots_at:
            state.map_end_offset = max(state.map_end_offset, offset)
            producers.take_snapshot()
        return
    knew_nobody = not state.producers and state.map_end_offset >= end_offset
    producers.reload(log_start_offset, end_offset, now_ms)
    if end_offset > state.map_end_offset and not knew_nobody:
        for segment in segments.from_offset(state.map_end_offset):
            if segment.base_offset >= end_offset:
                break
            start = max(segment.base_offset, state.map_end_offset, log_start_offset)
            state.map_end_offset = start
            if segment.base_offset in snapshots_at:
                producers.take_snapshot()
            read_producers(producers, segment, start, end_offset, each)
    state.map_end_offset = end_offset
    producers.take_snapshot()


def read_producers(
    producers: ProducerJournal,
    segment: LogSegment,
    start_offset: int,
    end_offset: int,
    each: Callable[[Iterable[Found]], Iterable[Found]] = iter,
) -> None:
    """Follow the batches of one segment from `start_offset` up to `end_offset`. Raises OSError."""
    found = segment.position_of(start_offset)
    if found is None:
        return
    for position, header in each(segment.file.headers(found.position)):
        if header.base_offset >= end_offset:
            break
        control = header.has_producer_id and header.is_control
        marker = marker_of(segment.file.read_batch(position, header.size_bytes)) if control else None
        producers.follow(header, marker)


def epochs_of(segments: list[LogSegment]) -> LeaderEpochCache:
    """The leader epochs that the batches themselves tell. Raises CorruptMessage, OSError."""
    cache = LeaderEpochCache()
    for segment in segments:
        read_epochs_of(segment, cache)
    return cache


def read_epochs_of(segment: LogSegment, cache: LeaderEpochCache) -> None:
    """Take in the leader epochs of one segment, which follows those before. Raises CorruptMessage, OSError."""
    for _, header in segment.file.headers(0):
        if header.magic >= 2 and header.partition_leader_epoch > cache.latest_epoch:
            cache.assign(header.partition_leader_epoch, header.base_offset)
