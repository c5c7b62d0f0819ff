"""UnifiedLog: one partition's log on this broker.

Role        Acts, but owns no greenlet: whoever comes calls it. Decisions are in roll.py, retention.py,
            producer_state.py, leader_epoch_cache.py and record/validation.py; look-ups in reading.py.
Invariants  log_start_offset <= high_watermark <= log_end_offset. The log end offset moves only after the write.
            Validate, write, index, producer state, log end offset: one append ends before the next begins. Small
            writes go out on the loop without a switch; from 128 KiB on, and while the disk stalls, a thread writes, and
            the log's turn keeps every other append, truncation, deletion and close away meanwhile.
            A write that fails is cut back, and its directory goes offline with all its logs.
Source      UnifiedLog.append, LocalLog, ReplicaManager's use of them; KIP-101, KIP-320.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn
from uuid import UUID

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.append import rolling
from kafka_zk.log.append.append_info import AppendInfo
from kafka_zk.log.append.checking import CHECK_POOLED_BYTES, LimitedRules, validate_in_thread
from kafka_zk.log.append.flusher import Flusher
from kafka_zk.log.append.rules import validation_rules
from kafka_zk.log.append.writing import POOLED_BYTES, follow_producer, write
from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.errors import UnexpectedAppendOffset
from kafka_zk.log.files import names, partition_metadata
from kafka_zk.log.loading.loader import LoadedLog
from kafka_zk.log.loading.rebuild import epochs_of
from kafka_zk.log.removal import expiry, truncation
from kafka_zk.log.segments.reading import LogReader, ReadResult, TimestampOffset
from kafka_zk.log.segments.roll import MAX_RELATIVE_OFFSET
from kafka_zk.log.segments.segment import UNKNOWN, LogSegment
from kafka_zk.log.state.epoch_journal import EpochJournal
from kafka_zk.log.state.leader_epoch_cache import EpochEnd, LeaderEpochCache
from kafka_zk.log.state.producer_journal import ProducerJournal
from kafka_zk.log.state.producer_state import ProducerEntry
from kafka_zk.log.turn import Turn
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import CorruptMessage, InconsistentTopicId, KafkaStorageError, OffsetOutOfRange
from kafka_zk.protocol.types import NULL_UUID, Buffer, TopicPartition, uuid_to_base64
from kafka_zk.record.batch import CODEC_MASK, Batch
from kafka_zk.record.compression import TooMuchToDecompress
from kafka_zk.record.control import marker_of
from kafka_zk.record.produced import Origin, ValidatedBatch
from kafka_zk.record.record import times_of
from kafka_zk.record.validation import check_replicated, validate
from kafka_zk.record.walking import assign_offsets

__all__ = ["AppendInfo", "UnifiedLog"]


class UnifiedLog:
    """Offsets are plain attributes. `recovery_point`: everything below it is on the disk for good."""

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
        self.directory = directory
        self.log_dir = log_dir
        self.config = config
        self.segments = loaded.segments
        self.producers = producers
        self.epochs = epochs
        self.reader = LogReader(loaded.segments, log_dir.open_segments.track)
        self.turn = Turn()
        self.flusher = Flusher(self)
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
        self.on_truncated: Callable[[UnifiedLog], None] | None = None
        self.jitter_below = jitter_below
        self.active = loaded.segments.active
        self._state = producers.state
        self._latest_epoch: int | None = None
        """The epoch that appends carry while nothing about epochs changes; None when that is not known."""
        epochs.rebuild = self._epochs_of_batches
        for segment in loaded.segments:
            if segment.size_bytes:
                segment.mend = log_dir.index_mender.mend
        self.apply_config(config)
        self.update_high_watermark(high_watermark)

    # Appending

    def append_as_leader(
        self, records: Buffer, *, leader_epoch: int, now_ms: int | None = None, origin: Origin = Origin.CLIENT
    ) -> AppendInfo:
        """Blocks. Check what was produced, give it its offsets (in place where possible) and append it.

        `records` holds one magic 2 batch, or what an old producer sends, and belongs to the log until this returns.
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
        active = self.active
        if (
            self.turn.is_taken
            or size >= POOLED_BYTES
            or self.log_dir.inline_from_ms
            or active.is_flushing
            or active.mend is not None
        ):
            with self.turn:
                info = self._append_produced(validated, leader_epoch, now_ms, origin)
        else:
            info = self._append_produced(validated, leader_epoch, now_ms, origin)
        if self.log_end_offset - self.recovery_point >= self._flush_messages:
            self.flush()
        return info

    def append_checked(self, validated: ValidatedBatch, leader_epoch: int, now_ms: int, origin: Origin) -> AppendInfo:
        """Blocks. Append what was checked for the log whose place this one took, while it waited there.

        It is not checked again: timestamp, crc and attributes are no longer as they were produced, but as they are
        written. Raises as `append_as_leader` does behind its checks.
        """
        with self.turn:
            info = self._append_produced(validated, leader_epoch, now_ms, origin)
        if self.log_end_offset - self.recovery_point >= self._flush_messages:
            self.flush()
        return info

    def append_as_follower(self, records: Buffer, up_to_epoch: int | None = None) -> AppendInfo:
        """Blocks. Append what the leader sent, as it is; see `check_replicated` for what is left out.

        Raises CorruptMessage, UnknownServerError (offsets do not increase), UnexpectedAppendOffset,
        RecordListTooLarge, KafkaStorageError.
        """
        batches = check_replicated(records, self.topic_partition, up_to_epoch)
        if not batches:
            return AppendInfo(-1, -1, -1, self.log_start_offset, -1)
        with self.turn:
            info = self._append_replicated(batches)
        if self.log_end_offset - self.recovery_point >= self._flush_messages:
            self.flush()
        return info

    def _append_produced(self, validated: ValidatedBatch, leader_epoch: int, now_ms: int, origin: Origin) -> AppendInfo:
        if self.is_closed or self.log_dir.is_offline:
            if self.successor is None:
                self._refuse()
            return self.successor.append_checked(validated, leader_epoch, now_ms, origin)
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
                self._state.check(header, first_offset, origin)
        write(self, segment, records, size, last_offset, max_timestamp)
        if has_producer:
            follow_producer(self, segment, header, first_offset, marker)
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
        write(self, segment, data, size, last_offset, max_timestamp, headers)
        for batch in batches:
            if batch.header.has_producer_id:
                marker = marker_of(batch) if batch.header.is_control else None
                follow_producer(self, segment, batch.header, batch.header.base_offset, marker)
        self._state.map_end_offset = self.log_end_offset = last_offset + 1
        return AppendInfo(first.base_offset, last_offset, -1, self.log_start_offset, max_timestamp)

    def _as_appended_before(self, first_offset: int, last_offset: int, timestamp: int) -> AppendInfo:
        return AppendInfo(first_offset, last_offset, timestamp, self.log_start_offset, timestamp, is_duplicate=True)

    # Rolling

    def _room_for(self, size: int, first_offset: int, last_offset: int, max_timestamp: int, now_ms: int) -> LogSegment:
        """The segment that the append goes to: the active one, or a new one. Raises RecordListTooLarge."""
        segment = self.active
        if (
            segment.file.size_bytes + size > self.segment_bytes
            or max_timestamp > segment.roll_after_timestamp
            or segment.indexes_full
            or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return rolling.roll_if_due(self, size, first_offset, last_offset, max_timestamp, now_ms)
        return segment

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
        mender = self.log_dir.index_mender
        mended_count = mender.mended_count
        try:
            result = self.reader.read(
                offset, max_bytes=max_bytes, up_to=up_to, log_end_offset=self.log_end_offset, min_one=min_one
            )
        except OSError as error:
            raise self.log_dir.fail(
                f"Exception while reading from {self.topic_partition} in dir {self.log_dir.path}", error
            ) from error
        if mender.mended_count == mended_count:
            return result
        for piece in result.slices:
            piece.release()
        return self.read(offset, max_bytes=max_bytes, up_to=min(up_to, self.log_end_offset), min_one=min_one)

    def size_between(self, offset: int, up_to: int) -> int:
        """The bytes of a read from `offset` to `up_to` without a limit, and nothing is read. `offset` is in the log.

        Blocks when an index that a start has found turns out to be wrong. Raises KafkaStorageError.
        """
        with self.log_dir.guard(f"Error while reading from {self.topic_partition}"):
            return self.reader.size_between(offset, up_to, self.log_end_offset)

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
        """Move the high watermark, kept inside the log; what it is now. May go back (a follower that truncated)."""
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
        return truncation.increment_log_start_offset(self, offset)

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

    def _epochs_of_batches(self) -> LeaderEpochCache:
        """Raises OSError."""
        try:
            return epochs_of(list(self.segments))
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

    # Changing

    def truncate_to(self, offset: int) -> bool:
        """Blocks. Drop everything from `offset` on, whole batches only; whether something went. KafkaStorageError."""
        with self.turn:
            is_shorter = truncation.truncate_to(self, offset)
        if is_shorter and self.on_truncated is not None:
            self.on_truncated(self)
        return is_shorter

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Blocks. Drop everything and go on at `offset`. Raises KafkaStorageError."""
        with self.turn:
            truncation.truncate_fully_and_start_at(self, offset)
        if self.on_truncated is not None:
            self.on_truncated(self)

    def delete_old_segments(self, now_ms: int) -> int:
        """Blocks. Let go what retention does not keep; how many segments went. Raises KafkaStorageError."""
        return expiry.delete_old_segments(self, now_ms)

    def flush(self) -> None:
        """Blocks. Sync everything up to the log end offset, in its successor if it has one. Raises KafkaStorageError.

        Who has just appended to a log that was replaced since wants that batch on the disk, wherever it is now.
        """
        if self.successor is None:
            self.flusher.flush(self.log_end_offset)
        else:
            self.successor.flush()

    def apply_config(self, config: LogConfig) -> None:
        """From now on follow `config`."""
        self.config = config
        self._rules: LimitedRules | None = None
        self.segment_bytes = config.segment_bytes
        self._flush_messages = config.flush_messages
        for segment in self.segments:
            segment.index_interval_bytes = config.index_interval_bytes
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
        self.log_dir.pools.sync_soon(path, self.log_dir.disk.sync_path)
        self.topic_id = topic_id

    def active_producers(self) -> list[ProducerEntry]:
        """The producers whose sequences are remembered. For reading, before the loop goes on."""
        return list(self._state.producers.values())

    def remove_expired_producers(self, now_ms: int) -> None:
        self._state.remove_expired(now_ms, self.producers.expiration_ms)

    def close(self) -> None:
        """Blocks. Complete and close all files; a snapshot keeps the producers. Raises KafkaStorageError."""
        with self.turn:
            expiry.close(self)

    def close_unsynced(self) -> None:
        """Blocks. Complete and close all files; the caller syncs them. Raises KafkaStorageError."""
        with self.turn:
            expiry.close_unsynced(self)

    def renamed_to(self, directory: Path) -> None:
        """The partition's directory now has this name."""
        self.directory = directory
        self.producers.directory = directory
        self.epochs.moved_to(directory)
        for segment in self.segments:
            segment.moved_to(directory)

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
