"""UnifiedLog: one partition's log on this broker.

Role        Acts, but owns no greenlet: callers run its methods. Alone knows and moves the offsets of a log (where it
            starts and ends, high watermark, last stable offset, recovery point), its producers and leader epochs; its
            files are the LocalLog's. Decisions are in segments/roll.py, segments/retention.py, state/producer_state.py,
            state/leader_epoch_cache.py, local/truncation_plan.py and record/validation.py.
Invariants  log_start_offset <= high_watermark <= log_end_offset. The log end offset moves only after the write.
            No other module assigns these (tests/unit/log/test_offsets_have_one_owner.py).
            Validate, write, index, producer state, log end offset: one append ends before the next begins. Small
            writes happen on the loop without a switch; from 128 KiB on, and while the disk stalls, a thread writes, and
            the log's turn keeps every other append, truncation, deletion and close away meanwhile.
            The recovery point passes an offset only after everything below it was synced.
            Segments leave from the oldest on, and only what is below the high watermark.
            An OSError of its files takes the directory offline, with all its logs. Whatever else ends an append, its
            batch is taken back before the next one, which gets its offsets.
Source      UnifiedLog in Kafka 3.9: append, roll, flush, truncateTo, truncateFullyAndStartAt, deleteOldSegments,
            maybeIncrementLogStartOffset, close; KIP-101, KIP-320.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from uuid import UUID

from kafka_zk.config.topic import LogConfig
from kafka_zk.giving_way import in_slices
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.errors import UnexpectedAppendOffset
from kafka_zk.log.files import names, partition_metadata
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.loading.loader import LoadedLog
from kafka_zk.log.loading.rebuild import epochs_of, read_epochs_of, rebuild_producers
from kafka_zk.log.local.local_log import POOLED_BYTES, LocalLog
from kafka_zk.log.local.truncation_plan import Step, What, restart_plan, truncation_plan
from kafka_zk.log.produce.append_info import AppendInfo
from kafka_zk.log.produce.checking import CHECK_POOLED_BYTES, LimitedRules, validate_in_thread
from kafka_zk.log.produce.rules import validation_rules
from kafka_zk.log.segments.reading import LookAgain, ReadResult, TimestampOffset
from kafka_zk.log.segments.roll import (
    MAX_RELATIVE_OFFSET,
    has_no_room_for,
    is_too_old,
    parts_of,
    segment_life_ms,
)
from kafka_zk.log.segments.segment import UNKNOWN, LogSegment
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.leader_epoch_cache import EpochEnd, LeaderEpochCache
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.log.state.producer_state import ProducerEntry
from kafka_zk.log.state.verification import VerificationGuard
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import (
    CorruptMessage,
    InconsistentTopicId,
    KafkaStorageError,
    OffsetOutOfRange,
    RecordListTooLarge,
)
from kafka_zk.protocol.types import NULL_UUID, Buffer, TopicPartition, uuid_to_base64
from kafka_zk.record.batch import CODEC_MASK, Batch, BatchHeader
from kafka_zk.record.compression import TooMuchToDecompress
from kafka_zk.record.control import EndTransactionMarker, marker_of
from kafka_zk.record.produced import Origin, ValidatedBatch
from kafka_zk.record.record import times_of
from kafka_zk.record.validation import check_replicated, validate
from kafka_zk.record.walking import assign_offsets

log_lines = logging.getLogger("kafka.log.UnifiedLog")

__all__ = ["AppendInfo", "UnifiedLog"]


class UnifiedLog:
    """Offsets are plain attributes. `recovery_point`: everything below it is durable."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        directory: Path,
        log_dir: LogDirectory,
        config: LogConfig,
        topic_id: UUID | None,
        loaded: LoadedLog,
        producers: ProducerJournal,
        epochs: EpochJournal,
        high_watermark: int = 0,
        jitter_below: Callable[[int], int] = lambda bound: 0,
    ) -> None:
        """`jitter_below(n)` draws a number below n for each new segment of a topic with segment.jitter.ms."""
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log_dir = log_dir
        self.config = config
        self.local = LocalLog(directory, log_dir, loaded.segments, config, jitter_below)
        self.segments = loaded.segments
        self.reader = self.local.reader
        self.flusher = self.local.flusher
        self.turn = self.local.turn
        self.producers = producers
        self.epochs = epochs
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        self.high_watermark = self.last_stable_offset = loaded.log_start_offset
        self.last_flush_ms = log_dir.clock.monotonic_ms()
        self.is_closed = False
        self.is_future = False
        self.is_copied = False
        """Whether a copy of it is being made in another directory. Nothing of it is cleaned meanwhile."""
        self.successor: UnifiedLog | None = None
        """The copy that took its place. What had been checked for this log is appended there."""
        self.truncations = 0
        """How often it was cut: what was found out before may hold no more."""
        self.on_truncated: Callable[[UnifiedLog], None] | None = None
        self._state = producers.state
        self._latest_epoch: int | None = None
        """The epoch that appends carry while nothing about epochs changes; None when that is not known."""
        epochs.rebuild = self._epochs_of_batches
        for segment in loaded.segments:
            if segment.size_bytes:
                segment.mender = log_dir.index_mender
        self.apply_config(config)
        self.update_high_watermark(high_watermark)

    # Appending

    def append_as_leader(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        now_ms: int | None = None,
        origin: Origin = Origin.CLIENT,
        guard: VerificationGuard | None = None,
    ) -> AppendInfo:
        """Blocks. Check what was produced, give it its offsets (in place where possible) and append it.

        `records` holds one magic 2 batch, or what an old producer sends, and belongs to the log until this returns.
        `guard`: from `begin_verification`, for the first batch of a transaction.
        A batch that repeats one of its producer's last five is answered with the earlier offsets, not written again.
        Raises what `record.validation.validate` raises, RecordListTooLarge, OutOfOrderSequenceNumber,
        InvalidProducerEpoch, InvalidTxnState, TransactionCoordinatorFenced, KafkaStorageError.
        """
        if now_ms is None:
            now_ms = self.log_dir.clock.wall_ms()
        size = len(records)
        rules = self._rules
        if rules is None:
            rules = self._make_rules()
        if size >= CHECK_POOLED_BYTES and records[22] & CODEC_MASK:
            validated = validate_in_thread(self.log_dir.pools, records, rules, now_ms, origin)
        else:
            try:
                validated = validate(records, rules.inline, now_ms, origin)
            except TooMuchToDecompress:
                validated = validate_in_thread(self.log_dir.pools, records, rules, now_ms, origin)
        # What is written may be larger than what came: the topic's own codec is not the producer's.
        size = len(validated.records)
        active = self.local.active
        if (
            self.turn.is_taken
            or size >= POOLED_BYTES
            or self.log_dir.inline_from_ms
            or active.is_flushing
            or active.mender is not None
        ):
            with self.turn:
                info = self._append_produced(validated, leader_epoch, now_ms, origin, guard)
        else:
            info = self._append_produced(validated, leader_epoch, now_ms, origin, guard)
        if self.log_end_offset - self.recovery_point >= self._flush_messages:
            self.flush()
        return info

    def append_checked(
        self,
        validated: ValidatedBatch,
        leader_epoch: int,
        now_ms: int,
        origin: Origin,
        guard: VerificationGuard | None = None,
    ) -> AppendInfo:
        """Blocks. Append what was checked for the log whose place this one took, while it waited there.

        It is not checked again: timestamp, crc and attributes are no longer as they were produced, but as they are
        written. Raises as `append_as_leader` does behind its checks.
        """
        with self.turn:
            info = self._append_produced(validated, leader_epoch, now_ms, origin, guard)
        if self.log_end_offset - self.recovery_point >= self._flush_messages:
            self.flush()
        return info

    def append_as_follower(self, records: Buffer, up_to_epoch: int | None = None) -> AppendInfo:
        """Blocks. Append the leader's batches unchanged; see `check_replicated` for those left out.

        Where they are more than a segment may hold here, since segment.bytes was larger once, they go into several.
        Raises CorruptMessage, InvalidRecord (an unreadable marker), UnknownServerError (offsets do not increase),
        UnexpectedAppendOffset, RecordListTooLarge, KafkaStorageError.
        """
        batches = check_replicated(records, self.topic_partition, up_to_epoch)
        if not batches:
            return AppendInfo(-1, -1, -1, self.log_start_offset, -1)
        with self.turn:
            if batches[-1].end - batches[0].position <= self.segment_bytes:
                info = self._append_replicated(batches)
            else:
                info = self._append_in_parts(batches)
        if self.log_end_offset - self.recovery_point >= self._flush_messages:
            self.flush()
        return info

    def _append_in_parts(self, batches: list[Batch]) -> AppendInfo:
        """`_append_replicated` for more than a segment may hold: all of them, or none of them where one is refused.

        A follower fetches what was refused again from where it began, which must be where the log ends.
        """
        parts = list(parts_of(batches, self.segment_bytes))
        for part in parts:
            if part[-1].end - part[0].position > self.segment_bytes:
                raise self._too_large(part[-1].end - part[0].position)
        for batch in batches:
            if batch.header.is_control and batch.header.has_producer_id:
                marker_of(batch)
        info = [self._append_replicated(part) for part in parts][-1]
        info.first_offset = batches[0].header.base_offset
        return info

    def _append_produced(
        self,
        validated: ValidatedBatch,
        leader_epoch: int,
        now_ms: int,
        origin: Origin,
        guard: VerificationGuard | None,
    ) -> AppendInfo:
        if self.is_closed or self.log_dir.is_offline:
            if self.successor is None:
                self._refuse()
            return self.successor.append_checked(validated, leader_epoch, now_ms, origin, guard)
        records, header = validated.records, validated.header
        first_offset = self.log_end_offset
        has_producer = header.producer_id >= 0
        if has_producer and origin is Origin.CLIENT:
            repeated = self._state.find_duplicate(header)
            if repeated is not None:
                return self._as_appended_before(repeated.first_offset, repeated.last_offset, repeated.timestamp)
        assign_offsets(records, first_offset, leader_epoch)
        last_offset, max_timestamp, size = first_offset + header.last_offset_delta, header.max_timestamp, len(records)
        if leader_epoch != self._latest_epoch:
            self._assign_epoch(leader_epoch, first_offset)
        segment = self._room_for(size, first_offset, last_offset, max_timestamp, now_ms)
        marker = None
        if has_producer:
            if header.is_control:
                marker = marker_of(Batch(memoryview(records), 0, header))
                if marker is not None:
                    self._state.check_marker(header, marker, first_offset)
            else:
                self._state.check(header, first_offset, origin, guard)
        position = segment.file.size_bytes
        try:
            self.local.write(segment, records, size, last_offset, max_timestamp)
        except BaseException as error:
            self._take_back(segment, position, error)
            raise
        if has_producer:
            self._follow_producer(segment, header, first_offset, marker)
        self._state.map_end_offset = self.log_end_offset = last_offset + 1
        return AppendInfo(first_offset, last_offset, validated.log_append_time_ms, self.log_start_offset, max_timestamp)

    def _append_replicated(self, batches: list[Batch]) -> AppendInfo:
        if self.is_closed or self.log_dir.is_offline:
            self._refuse()
        first, last = batches[0].header, batches[-1].header
        if first.base_offset < self.log_end_offset:
            raise UnexpectedAppendOffset(
                f"Unexpected offset in append to {self.topic_partition}. First offset {first.base_offset} is less than "
                f"the next offset {self.log_end_offset}.",
                first_offset=first.base_offset,
                last_offset=last.last_offset,
            )
        # Before the write: a marker that cannot be read refuses its batch.
        of_producers = [
            (batch.header, marker_of(batch) if batch.header.is_control else None)
            for batch in batches
            if batch.header.has_producer_id
        ]
        for batch in batches:
            header = batch.header
            if header.magic < 2:
                self.forget_epochs()
            elif header.partition_leader_epoch != self._latest_epoch:
                self._assign_epoch(header.partition_leader_epoch, header.base_offset)
        headers = [batch.header for batch in batches]
        max_timestamp = max(header.max_timestamp for header in headers)
        data = batches[0].buffer[batches[0].position : batches[-1].end]
        size, last_offset = len(data), last.last_offset
        now_ms = self.log_dir.clock.wall_ms()
        segment = self._room_for(size, first.base_offset, last_offset, max_timestamp, now_ms)
        position = segment.file.size_bytes
        try:
            self.local.write(segment, data, size, last_offset, max_timestamp, headers)
        except BaseException as error:
            self._take_back(segment, position, error)
            raise
        for header, marker in of_producers:
            self._follow_producer(segment, header, header.base_offset, marker)
        self._state.map_end_offset = self.log_end_offset = last_offset + 1
        return AppendInfo(first.base_offset, last_offset, -1, self.log_start_offset, max_timestamp)

    def _as_appended_before(self, first_offset: int, last_offset: int, timestamp: int) -> AppendInfo:
        return AppendInfo(first_offset, last_offset, timestamp, self.log_start_offset, timestamp, is_duplicate=True)

    def _take_back(self, segment: LogSegment, position: int, error: BaseException) -> None:
        """After any failed append, even a kill: remove its batch, where the next one is to be written.

        Raises KafkaStorageError where the disk has failed.
        """
        try:
            if isinstance(error, OSError):
                raise error
            if segment.base_offset > self.log_end_offset:
                # It was rolled for this batch, behind a gap: what comes next may belong before it.
                raise caused_by(OSError(f"the first batch of {segment} could not be written"), error)
            segment.take_back(position, self.log_end_offset)
        except OSError as failure:
            raise self._failed_write(failure) from failure

    def _failed_write(self, error: OSError) -> KafkaStorageError:
        where = f"{self.topic_partition} in dir {self.log_dir.path}"
        return self.log_dir.fail(f"Error while appending records to {where}", error)

    def _follow_producer(
        self, segment: LogSegment, header: BatchHeader, first_offset: int, marker: EndTransactionMarker | None
    ) -> None:
        """Apply what was just written; an abort marker is also added to the segment's transaction index.

        What is known of producers cannot be taken back. Raises KafkaStorageError whatever fails.
        """
        state = self._state
        try:
            if not header.is_control:
                state.update(header, first_offset)
            elif marker is not None:
                completed = state.update_marker(header, marker, first_offset + header.last_offset_delta)
                if completed is not None:
                    if completed.is_aborted:
                        entry = AbortedTransaction(
                            completed.producer_id,
                            completed.first_offset,
                            completed.last_offset,
                            state.last_stable_offset_after(completed),
                        )
                        with self.log_dir.guard(f"Error while writing the transaction index of {self.topic_partition}"):
                            segment.indexes.transaction.append(entry)
                    state.complete(completed)
        except KafkaStorageError:
            raise
        except Exception as error:
            # The batch is in the file: only a start can derive its producer's state.
            lost = OSError(f"The state of producer {header.producer_id} is lost: {error!r}")
            raise self._failed_write(caused_by(lost, error)) from error

    # Rolling

    def _room_for(self, size: int, first_offset: int, last_offset: int, max_timestamp: int, now_ms: int) -> LogSegment:
        """The segment for the append: the active one, or a new one. Raises RecordListTooLarge."""
        segment = self.local.active
        if (
            segment.file.size_bytes + size > self.segment_bytes
            or max_timestamp > segment.roll_after_timestamp
            or segment.indexes.are_full
            or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return self._roll_if_due(size, first_offset, last_offset, max_timestamp, now_ms)
        return segment

    def _too_large(self, size: int) -> RecordListTooLarge:
        return RecordListTooLarge(
            f"Message batch size is {size} bytes in append to partition {self.topic_partition}, "
            f"which exceeds the maximum configured segment size of {self.segment_bytes}."
        )

    def _roll_if_due(
        self, size: int, first_offset: int, last_offset: int, max_timestamp: int, now_ms: int
    ) -> LogSegment:
        """As `_room_for`, which has seen that a roll may be due. Raises RecordListTooLarge, KafkaStorageError."""
        if size > self.segment_bytes:
            raise self._too_large(size)
        segment, config = self.local.active, self.config
        life_ms = segment_life_ms(
            segment_ms=config.segment_ms, max_compaction_lag_ms=config.max_compaction_lag_ms, compact=config.compact
        )
        with self.log_dir.guard(f"Error while rolling log segment for {self.topic_partition}"):
            self.log_dir.open_segments.track(segment)
            segment.load_times()
            self.refuse_if_closed()  # While this waited.
            no_room = has_no_room_for(
                size_bytes=segment.size_bytes,
                append_bytes=size,
                segment_bytes=self.segment_bytes,
                base_offset=segment.base_offset,
                last_offset=last_offset,
                indexes_full=segment.indexes.are_full,
            )
            too_old = is_too_old(
                size_bytes=segment.size_bytes,
                first_timestamp=segment.first_timestamp,
                append_timestamp=max_timestamp,
                created_ms=segment.created_ms,
                now_ms=now_ms,
                segment_ms=life_ms,
                jitter_ms=segment.jitter_ms,
            )
            if no_room or too_old:
                return self.roll(first_offset)
        if segment.size_bytes and segment.first_timestamp >= 0:
            segment.roll_after_timestamp = segment.first_timestamp + life_ms - segment.jitter_ms
        return segment

    def roll(self, expected_next_offset: int = 0) -> LogSegment:
        """Begin a new active segment at the log end offset, or behind it if the next append begins there.

        What came before is complete and trimmed, its producers are in a snapshot at the new base, and a thread syncs it
        soon. Blocks if the active segment has a mender: the caller then holds the turn. Raises OSError,
        KafkaStorageError.
        Source: LocalLog.roll, UnifiedLog.roll.
        """
        base_offset = max(expected_next_offset, self.log_end_offset)
        old = self.local.active
        if old.base_offset == base_offset:
            assert old.size_bytes == 0, f"a second segment at {base_offset} of {self.topic_partition}"
            self.local.remove([old], self.producers.path)
        else:
            old.become_inactive()
            self.refuse_if_closed()  # While this waited.
            self._state.map_end_offset = base_offset
            snapshot = self.producers.take_snapshot(durable=False)
            self.flusher.note_rolled(old)
            self.flusher.in_background(self._flush_rolled, base_offset, snapshot, not _reaches(old, base_offset))
        self.local.begin_segment(base_offset)
        log_lines.info("%s Rolled new log segment at offset %d.", self.prefix, base_offset)
        return self.local.active

    def skip_to(self, offset: int) -> None:
        """Blocks. Go on at `offset`, behind the end: in the log that this one is a copy of, what stood in between was
        cleaned away. Raises KafkaStorageError."""
        with self.turn, self.log_dir.guard(f"Error while rolling log segment for {self.topic_partition}"):
            self.refuse_if_closed()
            self.roll(offset)
            self.log_end_offset = offset

    # Reading

    def read(self, offset: int, *, max_bytes: int, up_to: int, min_one: bool) -> ReadResult:
        """Slices from the batch that holds `offset` up to that of `up_to` (exclusive), at most `max_bytes`; no copy.

        Blocks when an index that a start has found turns out to be wrong.

        With `min_one` the first batch comes whole, whatever its size. The slices end with their segment. `up_to` is the
        high watermark, the last stable offset or the log end offset.
        Raises OffsetOutOfRange, KafkaStorageError.
        """
        if offset < self.log_start_offset or offset > self.log_end_offset:
            raise OffsetOutOfRange(
                f"Received request for offset {offset} for partition {self.topic_partition}, "
                f"but we only have log segments from offset {self.log_start_offset} up to {self.log_end_offset}."
            )
        if self.is_closed or self.log_dir.is_offline:
            self._refuse()
        try:
            return self.reader.read(
                offset, max_bytes=max_bytes, up_to=up_to, log_end_offset=self.log_end_offset, min_one=min_one
            )
        except LookAgain:
            pass  # Below: what it raises has nothing to do with this.
        except OSError as error:
            raise self.log_dir.fail(
                f"Exception while reading from {self.topic_partition} in dir {self.log_dir.path}", error
            ) from error
        return self.read(offset, max_bytes=max_bytes, up_to=min(up_to, self.log_end_offset), min_one=min_one)

    def size_between(self, offset: int, up_to: int) -> int:
        """The bytes of a read from `offset` to `up_to` without a limit, and nothing is read. `offset` is in the log.

        Blocks when an index that a start has found turns out to be wrong. Raises KafkaStorageError.
        """
        with self.log_dir.guard(f"Error while reading from {self.topic_partition}"):
            while True:
                try:
                    return self.reader.size_between(offset, up_to, self.log_end_offset)
                except LookAgain:
                    self.refuse_if_closed()

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Blocks. The first record whose timestamp is at least `timestamp`. Raises KafkaStorageError."""
        return self._look_up(lambda log: log.reader.first_at_or_after(timestamp, log.log_start_offset, log._times))

    def max_timestamp_offset(self) -> TimestampOffset | None:
        """Blocks. The first record with the largest timestamp; None when there is none. Raises KafkaStorageError."""
        return self._look_up(lambda log: log.reader.with_max_timestamp(log._times))

    def _look_up(self, look: Callable[[UnifiedLog], TimestampOffset | None]) -> TimestampOffset | None:
        """Blocks. What `look` finds here, or in the log that took the place of this one. Raises KafkaStorageError."""
        with self.log_dir.guard(f"Error while looking up a time in {self.topic_partition}"):
            found = look(self)
        if found is not None or not self.is_closed:
            return found
        # In a log that was closed while it was looked into nothing is found, whatever it held.
        if self.successor is None:
            self._refuse()
        return self.successor._look_up(look)

    def _times(self, batch: Batch) -> Iterator[tuple[int, int]]:
        """Blocks when the batch is compressed: however small, it may hold very much."""
        if batch.header.is_compressed:
            pools = self.log_dir.pools
            return pools.run_to_end(pools.read, times_of, batch)
        return times_of(batch)

    # Offsets

    def update_high_watermark(self, offset: int) -> int:
        """Move the high watermark, kept inside the log; returns the new value. May go back (truncated followers)."""
        if offset > self.log_end_offset:
            offset = self.log_end_offset
        if offset < self.log_start_offset:
            offset = self.log_start_offset
        self.high_watermark = self.last_stable_offset = offset
        if self._state.has_transactions:
            self._state.on_high_watermark(offset)
            self.update_last_stable_offset()
        return offset

    def update_last_stable_offset(self) -> None:
        """Readers of committed data stop at the oldest transaction that is open or not replicated."""
        unstable = self._state.first_unstable_offset
        if unstable is None or unstable > self.high_watermark:
            self.last_stable_offset = self.high_watermark
        else:
            self.last_stable_offset = max(unstable, self.log_start_offset)

    def increment_log_start_offset(self, offset: int) -> bool:
        """Let the log begin at `offset`; whether it did not already. Raises OffsetOutOfRange, KafkaStorageError."""
        if offset > self.high_watermark:
            raise OffsetOutOfRange(
                f"Cannot increment the log start offset to {offset} of partition {self.topic_partition} "
                f"since it is larger than the high watermark {self.high_watermark}"
            )
        if offset <= self.log_start_offset:
            return False
        where = f"{self.topic_partition} to {offset} in dir {self.log_dir.path}"
        with self.log_dir.guard(f"Exception while increasing log start offset for {where}"):
            self.refuse_if_closed()
            self._start_at(offset)
        log_lines.info("%s Incremented log start offset to %d", self.prefix, offset)
        return True

    def _start_at(self, offset: int) -> None:
        """The log starts later: what stood before says nothing about epochs and producers any more. Raises OSError."""
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.forget_latest_epoch()
        self.producers.on_log_start(offset)
        self.update_last_stable_offset()

    # Leader epochs

    @property
    def leader_epochs(self) -> LeaderEpochCache:
        """Raises KafkaStorageError."""
        with self.log_dir.guard(f"Error while reading the leader epochs of {self.topic_partition}"):
            return self.epochs.cache

    @property
    def latest_epoch(self) -> int:
        """-1 when no epoch is known."""
        return self.leader_epochs.latest_epoch

    def learn_epochs(self) -> None:
        """Blocks where their file is torn: threads read all batches. Later the loop would. Raises KafkaStorageError."""
        with self.log_dir.guard(f"Error while reading the leader epochs of {self.topic_partition}"):
            if not self.epochs.is_torn():
                return
            with self.turn:
                self.refuse_if_closed()
                if not self.epochs.is_torn():
                    return
                log_lines.warning("%s %s is torn; rebuilding it from the log", self.prefix, self.epochs.path)
                cache = LeaderEpochCache()
                with self._damage_as_failure():
                    for segment in self.segments:
                        self.local.read_in_thread(segment, read_epochs_of, cache)
                self.epochs.replace(cache)

    def _epochs_of_batches(self) -> LeaderEpochCache:
        """Raises OSError."""
        with self._damage_as_failure():
            return epochs_of(list(self.segments))

    @contextmanager
    def _damage_as_failure(self) -> Iterator[None]:
        try:
            yield
        except CorruptMessage as error:
            raise caused_by(OSError(f"{self.directory}: {error}"), error) from error

    def assign_epoch_start(self, leader_epoch: int, start_offset: int) -> None:
        """Note that `leader_epoch` begins at `start_offset`. Raises KafkaStorageError."""
        self._assign_epoch(leader_epoch, start_offset)

    def end_offset_for(self, leader_epoch: int) -> EpochEnd:
        """Where `leader_epoch` ends in this log; see LeaderEpochCache.end_offset_for. Raises KafkaStorageError."""
        return self.leader_epochs.end_offset_for(leader_epoch, self.log_end_offset)

    def _assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        if leader_epoch >= 0:
            with self.log_dir.guard(f"Error while assigning a leader epoch to {self.topic_partition}"):
                self.epochs.assign(leader_epoch, start_offset)
        self._latest_epoch = leader_epoch

    def forget_latest_epoch(self) -> None:
        """The epochs changed: the next append has to look at them."""
        self._latest_epoch = None

    def forget_epochs(self) -> None:
        """Records of magic 0 and 1 carry no epoch, so what is known says nothing any more. Raises KafkaStorageError."""
        with self.log_dir.guard(f"Error while clearing the leader epochs of {self.topic_partition}"):
            self.epochs.clear()
        self._latest_epoch = None

    # Cutting

    def truncate_to(self, offset: int) -> bool:
        """Blocks. Drop everything from `offset` on, whole batches only; whether something went.

        Raises CorruptMessage, and has dropped nothing then, KafkaStorageError.
        """
        with self.turn:
            is_shorter = self._truncate_to(offset)
        if is_shorter and self.on_truncated is not None:
            self.on_truncated(self)
        return is_shorter

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Blocks. Drop everything and continue at `offset`. Raises KafkaStorageError."""
        with self.turn:
            self._restart_at(offset)
        if self.on_truncated is not None:
            self.on_truncated(self)

    def _truncate_to(self, offset: int) -> bool:
        if offset < 0:
            raise ValueError(f"Cannot truncate partition {self.topic_partition} to a negative offset ({offset}).")
        with self.log_dir.guard(f"Error while truncating log to offset {offset} for {self.topic_partition}"):
            self.refuse_if_closed()
            if offset >= self.log_end_offset:
                # The end of the log may have another epoch under a new leader: truncate the cached epochs in any case.
                self.epochs.truncate_from_end(offset)
                self.forget_latest_epoch()
                return False
            log_lines.info("%s Truncating to offset %d", self.prefix, offset)
            if offset < self.segments.first.base_offset:
                self._restart_at(offset)
            else:
                self.local.check_cut(offset)
                self.flusher.wait()
                self.refuse_if_closed()
                bases = [segment.base_offset for segment in self.segments]
                self._carry_out(truncation_plan(bases, self.producers.snapshot_offsets(), offset))
        return True

    def _restart_at(self, offset: int) -> None:
        with self.log_dir.guard(f"Error while truncating the entire log for {self.topic_partition}"):
            self.refuse_if_closed()
            self.flusher.wait()
            log_lines.info("%s Truncate and start at offset %d", self.prefix, offset)
            self._carry_out(restart_plan([segment.base_offset for segment in self.segments], offset))

    def _carry_out(self, plan: Sequence[Step]) -> None:
        """Blocks. Truncate the log as planned, while holding its turn. Raises OSError, KafkaStorageError."""
        try:
            self._carry_out_steps(plan)
        except (OSError, KafkaStorageError):
            raise
        except Exception as error:
            # No thread, no memory: a log that is cut half way must not be appended to. A start makes it whole.
            raise caused_by(OSError(f"{self.topic_partition} was only partly truncated: {error!r}"), error) from error

    def _carry_out_steps(self, plan: Sequence[Step]) -> None:
        self._forget_the_end()
        gone: list[LogSegment] = []
        snapshots: list[Path] = []
        for what, at in plan:
            if what is What.REMOVE_SEGMENT:
                segment = self.segments.at(at)
                assert segment is not None, f"no segment at {at} of {self.topic_partition}"
                gone.append(segment)
                continue
            self.local.remove(gone, self.producers.path)
            gone = []
            if what is What.REMOVE_SNAPSHOT:
                self.producers.delete(at)
            elif what is What.SYNC_NAMES:
                self.local.sync_names()
                self.refuse_if_closed()
            elif what is What.CUT_SEGMENT:
                self.local.cut_active(at)
            elif what is What.BEGIN_SEGMENT:
                self.local.begin_segment(at)
            elif what is What.CUT_EPOCHS:
                self.epochs.truncate_from_end(at)
                self.forget_latest_epoch()
            elif what is What.CLEAR_EPOCHS:
                self.epochs.clear()
                self.forget_latest_epoch()
            elif what is What.CLEAR_PRODUCERS:
                self.producers.restart_at(at)
            elif what is What.END:
                self._end_at(at, min(at, self.log_start_offset))
            elif what is What.RESTART:
                self._end_at(at, at)
                self.update_high_watermark(at)
            elif what is What.REBUILD_PRODUCERS:
                snapshots = self._rebuild_producers()
            elif what is What.SYNC_CUT:
                self._complete([self.local.active], snapshots)
            else:
                assert what is What.LOWER_CHECKPOINTS, what
                self.log_dir.lower_checkpoints(self.topic_partition, self.recovery_point, self.log_start_offset)

    def _end_at(self, offset: int, start_offset: int) -> None:
        self.log_end_offset = offset
        self.log_start_offset = start_offset
        self.recovery_point = min(offset, self.recovery_point)
        # Once more: a flush that began while files were removed would raise the recovery point again, and a read while
        # names were synced has remembered where the log ended.
        self._forget_the_end()

    def _forget_the_end(self) -> None:
        self.truncations += 1
        self.reader.forget_positions()

    def _rebuild_producers(self) -> list[Path]:
        """Blocks. The snapshots that were taken, for the caller to sync. Raises CorruptMessage, OSError."""
        with self.producers.synced_later() as snapshots:
            rebuild_producers(
                self.producers,
                self.segments,
                log_start_offset=self.log_start_offset,
                end_offset=self.log_end_offset,
                now_ms=self.log_dir.clock.wall_ms(),
                after_clean_stop=False,
                each=in_slices,
            )
        self.update_high_watermark(self.high_watermark)
        self.update_last_stable_offset()
        return snapshots

    # Retention

    def remove_oldest(self, chosen: list[LogSegment]) -> int:
        """Blocks if they are synced once more just now. Remove what is still there of `chosen`; how many went.

        They were the oldest, and not the active one; the caller has the turn. Meanwhile the cleaner may have replaced
        some, or the high watermark may have gone back: the next run handles those. Raises OSError.
        """
        if self.flusher.is_syncing(chosen):
            self.flusher.wait()
        segments, gone = list(self.segments), []
        for segment, oldest, following in zip(chosen, segments, segments[1:], strict=False):
            if segment is not oldest or following.base_offset > self.high_watermark:
                break
            gone.append(segment)
        if not gone:
            return 0
        self.local.remove(gone, self.producers.path)
        first_offset = self.segments.first.base_offset
        if first_offset > self.log_start_offset:
            self._start_at(first_offset)
        return len(gone)

    # Onto the disk

    def flush(self) -> None:
        """Blocks. Sync everything up to the log end offset, in its successor if it has one. Raises KafkaStorageError.

        A caller that appended to a log replaced since needs that batch synced, wherever it is now.
        """
        if self.successor is None:
            self.flush_up_to(self.log_end_offset)
        else:
            self.successor.flush()

    def flush_up_to(self, offset: int) -> None:
        """Blocks. Sync every segment that holds offsets from the recovery point to `offset`. KafkaStorageError."""
        with self.flusher.turn:
            if self.successor is not None:
                # All of it was synced before the successor took its place.
                return
            self.refuse_if_closed()
            # The log may be truncated while a thread syncs it: that lowers the recovery point, which then must stay.
            if offset > self.recovery_point or self.flusher.has_rolled:
                self._sync_up_to(offset, [], [])

    def complete(self) -> None:
        """Blocks. Sync all that is not on the disk yet, for a log that takes another's place. KafkaStorageError."""
        self._complete([], [])

    def _complete(self, finished: Sequence[LogSegment], snapshots: Sequence[Path]) -> None:
        """Blocks. `finished` were completed just now; `snapshots` were taken just now. Raises KafkaStorageError."""
        with self.flusher.turn:
            self._sync_up_to(self.log_end_offset, finished, snapshots)

    def _flush_rolled(self, up_to: int, snapshot: Path | None, is_gap: bool) -> None:
        """Blocks. Sync all up to `up_to`, with the snapshot that a roll took there. Raises KafkaStorageError.

        `is_gap`: there is no record before `up_to`. Then the checkpoint is written at once: recovery takes such a place
        for a loss, unless it is below the recovery point.
        """
        if snapshot is not None and snapshot.exists():
            with self.log_dir.guard(f"Error while flushing producer state snapshot {snapshot}"):
                self.flusher.sync_beside(self.log_dir.disk.sync_path, snapshot)
        self.flush_up_to(up_to)
        if is_gap:
            self.log_dir.write_recovery_points()

    def _sync_up_to(self, up_to: int, finished: Iterable[LogSegment], snapshots: Sequence[Path]) -> None:
        """Blocks. Sync, then advance the recovery point, while holding the flusher's turn. Raises KafkaStorageError."""
        # The caller may have waited while the log was truncated. A roll may have left a gap before an append that a
        # thread still writes: then the log ends behind it.
        up_to = min(up_to, max(self.log_end_offset, self.local.active.base_offset))
        before, generation = self.recovery_point, self.truncations
        begun = self.segments.from_offset(before) if up_to > before else []
        begun = [each for each in begun if each.base_offset < up_to]
        with self.log_dir.guard(f"Error while flushing log for {self.topic_partition} in dir {self.log_dir.path}"):
            self.flusher.sync([*begun, *finished])
            new_names = any(segment.base_offset >= before for segment in begun)
            for snapshot in snapshots:
                new_names = True
                self.flusher.sync_beside(self.log_dir.disk.sync_path, snapshot)
            if not self.epochs.is_synced:
                new_names = True
                self.flusher.sync_beside(self.epochs.sync)
            if new_names:
                self.local.sync_names()
        if self.truncations == generation and up_to > self.recovery_point:
            self.recovery_point = up_to
        self.last_flush_ms = self.log_dir.clock.monotonic_ms()

    # The end of its service

    def close(self) -> None:
        """Blocks. Complete and close all files; a snapshot keeps the producers. Raises KafkaStorageError.

        They are completed before they are synced: the next start believes the lengths and last entries of indexes when
        the directory is marked clean, and a zero for the largest timestamp would let retention delete the segment.
        """
        with self.turn:
            self._close(self._complete)

    def close_unsynced(self) -> None:
        """Blocks. Complete and close all files; the caller syncs them, then says so. Raises KafkaStorageError."""
        with self.turn:
            self._close(lambda finished, snapshots: None)

    def synced_at_close(self) -> None:
        """All files were synced since `close_unsynced`."""
        self.recovery_point = self.log_end_offset

    def _close(self, sync: Callable[[Sequence[LogSegment], Sequence[Path]], None]) -> None:
        if self.is_closed:
            return
        self.flusher.wait()
        self.is_closed = True
        if self.log_dir.is_offline:
            self.local.close_files()
            return
        with self.log_dir.guard(f"Error while closing {self.topic_partition} in dir {self.log_dir.path}"):
            finished = self.local.finish()
            self.log_dir.check_online()  # While this waited.
            self._state.map_end_offset = self.log_end_offset
            snapshot = self.producers.take_snapshot(durable=False)
            sync(finished, [] if snapshot is None else [snapshot])
            self.local.close()

    def close_files(self) -> None:
        """Close all files as they are: the log was deleted, or its directory has failed."""
        self.is_closed = True
        self.local.close_files()

    # What is known of it

    def apply_config(self, config: LogConfig) -> None:
        """From now on follow `config`."""
        self.config = self.local.config = config
        self._rules: LimitedRules | None = None
        self.segment_bytes = config.segment_bytes
        self._flush_messages = config.flush_messages
        for segment in self.segments:
            segment.indexes.interval_bytes = config.index_interval_bytes
            segment.roll_after_timestamp = UNKNOWN

    def _make_rules(self) -> LimitedRules:
        """Of thousands of logs few are appended to soon after a start."""
        made = LimitedRules.of(validation_rules(self.topic_partition, self.config, self.log_dir.conversion_begins))
        self._rules = made
        return made

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Write the topic id down. Raises InconsistentTopicId when there is another, KafkaStorageError."""
        if topic_id == NULL_UUID or topic_id == self.topic_id:
            return
        if self.topic_id is not None:
            raise InconsistentTopicId(
                f"Tried to assign topic ID {uuid_to_base64(topic_id)} to log for topic partition "
                f"{self.topic_partition}, but log already contained topic ID {uuid_to_base64(self.topic_id)}"
            )
        with self.log_dir.guard(f"Error while writing the topic id of {self.topic_partition}"):
            path = self.directory / names.PARTITION_METADATA
            partition_metadata.write(path, topic_id, self.log_dir.disk, durable=False)
        self.log_dir.sync_path_soon(path)
        self.topic_id = topic_id

    def active_producers(self) -> list[ProducerEntry]:
        """The producers whose sequences are known. Read it before the next switch."""
        return list(self._state.producers.values())

    def begin_verification(self, producer_id: int, *, sequence: int, producer_epoch: int) -> VerificationGuard | None:
        """The guard for the next batch of a producer's transaction, None where that has begun here already."""
        state = self._state
        entry = state.producers.get(producer_id)
        if entry is not None and entry.current_txn_first_offset >= 0:
            return None
        return state.verifications.begin(
            producer_id,
            sequence=sequence,
            producer_epoch=producer_epoch,
            coordinator_epoch=-1 if entry is None else entry.coordinator_epoch,
            now_ms=self.log_dir.clock.wall_ms(),
        )

    def take_verifications_of(self, before: UnifiedLog) -> None:
        """What was asked for with a guard of the log whose place this one takes may begin here."""
        self._state.verifications.by_producer.update(before._state.verifications.by_producer)

    def transaction_start(self, producer_id: int) -> int | None:
        """The first offset of the transaction that a producer has open here; None if it has none."""
        entry = self._state.producers.get(producer_id)
        return None if entry is None or entry.current_txn_first_offset < 0 else entry.current_txn_first_offset

    @property
    def oldest_transaction_ms(self) -> int:
        """When the producer of the oldest open transaction wrote last; -1 without any."""
        return self._state.oldest_transaction_ms

    def remove_expired_producers(self, now_ms: int) -> None:
        self._state.remove_expired(now_ms, self.producers.expiration_ms)

    def renamed_to(self, directory: Path) -> None:
        """The partition's directory now has this name."""
        self.local.renamed_to(directory)
        self.producers.directory = directory
        self.epochs.moved_to(directory)

    @property
    def directory(self) -> Path:
        """Where its files are."""
        return self.local.directory

    @property
    def active(self) -> LogSegment:
        """The segment that receives appends."""
        return self.local.active

    @property
    def producer_id_count(self) -> int:
        """How many producers' sequences are remembered."""
        return len(self._state.producers)

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    @property
    def prefix(self) -> str:
        """How this log's lines begin."""
        return f"[UnifiedLog partition={self.topic_partition}, dir={self.log_dir.path}]"

    def refuse_if_closed(self) -> None:
        """Raises KafkaStorageError."""
        if self.is_closed:
            self._refuse()

    def _refuse(self) -> NoReturn:
        self.log_dir.check_online()
        raise KafkaStorageError(f"The log of {self.topic_partition} is already closed")

    def __repr__(self) -> str:
        return (
            f"{self.topic_partition} start={self.log_start_offset} lso={self.last_stable_offset} "
            f"hw={self.high_watermark} leo={self.log_end_offset} segments={len(self.segments)}"
        )


def _reaches(old: LogSegment, base_offset: int) -> bool:
    """Whether the next segment begins where `old` ends. A leader's log was once cleaned, or a batch was cut in two."""
    try:
        return old.next_offset() == base_offset
    except CorruptMessage:
        return False
