"""Reads from a partition: fetches, offset look-ups, epochs, and advancing the log start offset.

Role        Functions over a Partition that serve Fetch, ListOffsets, OffsetForLeaderEpoch and DeleteRecords.
Invariants  Leader epochs are compared before roles are (rule 41). A fetch whose history diverges gets no records, and
            does not count as progress of the follower (rule 36).
Source      Kafka 3.9 Partition.fetchRecords, readRecords, fetchOffsetForTimestamp, lastOffsetForLeaderEpoch,
            deleteRecordsOnLeader.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import os
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from kafka_zk.protocol.errors import (
    NotLeaderOrFollower,
    OffsetNotAvailable,
    OffsetOutOfRange,
    PolicyViolation,
    UnsupportedVersion,
)
from kafka_zk.record.batch import HEADER_SIZE_UP_TO_MAGIC, batch_size
from kafka_zk.replication.leading.isr_proposals import follower_fetched
from kafka_zk.replication.partition import NO_EPOCH, Partition
from kafka_zk.replication.serving.delayed_fetch import ANSWER_NOW
from kafka_zk.replication.serving.records_view import (
    DivergingEpoch,
    FetchParams,
    PartitionFetch,
    PartitionRead,
    ReadUpTo,
)

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

ROLLED = -2
"""Instead of a size: there are records, but in an older segment than the end. Waiting brings no more into this read."""

NO_OFFSET = -1
NO_TIMESTAMP = -1
HIGH_WATERMARK_OFFSET = -1
"""In DeleteRecords: everything that is committed."""


class SpecialTimestamp(IntEnum):
    """The special timestamps of a ListOffsets request."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


class FoundOffset(NamedTuple):
    """An answer to ListOffsets; all -1 when nothing was found."""

    timestamp: int
    offset: int
    leader_epoch: int


NOTHING_FOUND = FoundOffset(NO_TIMESTAMP, NO_OFFSET, NO_EPOCH)


def end_offset(log: UnifiedLog, up_to: ReadUpTo) -> int:
    """Where a reader's view of `log` ends, exclusive."""
    if up_to is ReadUpTo.HIGH_WATERMARK:
        return log.high_watermark
    if up_to is ReadUpTo.LAST_STABLE_OFFSET:
        return log.last_stable_offset
    return log.log_end_offset


def read(
    partition: Partition, wanted: PartitionFetch, params: FetchParams, *, max_bytes: int, min_one: bool
) -> PartitionRead:
    """Slices of at most `max_bytes` from `wanted.fetch_offset` on; with `min_one` the first batch always, and whole.

    Blocks when an index that a start has found turns out to be wrong; what is read is of one leader epoch all the same.
    Raises FencedLeaderEpoch, UnknownLeaderEpoch, NotLeaderOrFollower, OffsetOutOfRange, KafkaStorageError.
    """
    log = partition.log_for(wanted.current_leader_epoch, leader_only=params.leader_only)
    leader_epoch = partition.leader_epoch
    if params.is_follower:
        partition.follower(params.replica_id, wanted.current_leader_epoch)
    # Taken before the read, so that an append in between cannot keep a follower from counting as caught up.
    answer = PartitionRead(None, log.high_watermark, log.last_stable_offset, log.log_start_offset, log.log_end_offset)
    if wanted.last_fetched_epoch >= 0:
        answer.diverging_epoch = _divergence(log, wanted)
        if answer.diverging_epoch is not None:
            return answer
    offset = wanted.fetch_offset
    if not answer.log_start_offset <= offset <= answer.leader_end_offset:
        raise OffsetOutOfRange(
            f"Received request for offset {offset} for partition {partition.topic_partition}, "
            f"but we only have log segments from offset {answer.log_start_offset} up to {answer.leader_end_offset}."
        )
    committed_only = params.up_to is ReadUpTo.LAST_STABLE_OFFSET
    up_to = end_offset(log, params.up_to)
    if offset >= up_to:
        answer.hold((), 0, () if committed_only else None)
        return answer
    result = log.read(offset, max_bytes=max_bytes, up_to=up_to, min_one=min_one)
    if partition.leader_epoch != leader_epoch:
        # It blocked, and what is there now may be of another history than the reader's.
        for piece in result.slices:
            piece.release()
        return read(partition, wanted, params, max_bytes=max_bytes, min_one=min_one)
    aborted = None
    if committed_only:
        try:
            # Now, not when the answer is made: the segment may be gone by then, and with it what is known of it.
            aborted = result.aborted_transactions()
        except BaseException:
            for piece in result.slices:
                piece.release()
            raise
    answer.hold(result.slices, result.size_bytes, aborted)
    answer.is_on_older_segment = offset < log.active.base_offset <= up_to
    if not min_one and not params.allows_partial_batch and 0 < result.size_bytes == max_bytes:
        _drop_if_partial(log, answer)
    return answer


def size_to_read(log: UnifiedLog, wanted: PartitionFetch, up_to: ReadUpTo) -> int:
    """How many bytes `read` would find, at most `wanted.max_bytes`; ROLLED where it would end with its segment, and
    ANSWER_NOW where it would find something else.

    Blocks when an index that a start has found turns out to be wrong. Raises OffsetOutOfRange, KafkaStorageError.
    """
    offset, end = wanted.fetch_offset, end_offset(log, up_to)
    if offset == end:
        return 0
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return ANSWER_NOW
    if wanted.last_fetched_epoch >= 0 and _divergence(log, wanted) is not None:
        return ANSWER_NOW
    if offset > end:
        return 0
    if offset < log.active.base_offset <= end:
        return ROLLED
    return min(log.size_between(offset, end), wanted.max_bytes)


def _drop_if_partial(log: UnifiedLog, answer: PartitionRead) -> None:
    """Take back a read that the limit cut inside its first batch: clients take that for a record too large for them."""
    piece = answer.slices[0]
    if piece.size_bytes >= HEADER_SIZE_UP_TO_MAGIC:
        with log.log_dir.guard(f"Error while reading from {log.topic_partition}"):
            head = os.pread(piece.fileno, HEADER_SIZE_UP_TO_MAGIC, piece.position)
        size_bytes = batch_size(head)
        if size_bytes is not None and size_bytes <= answer.size_bytes:
            return
    answer.release()


def note_follower_fetch(
    partition: Partition, wanted: PartitionFetch, params: FetchParams, answer: PartitionRead
) -> None:
    """Let a follower's fetch count as progress, unless its history diverges."""
    if answer.diverging_epoch is None:
        follower_fetched(
            partition,
            partition.follower(params.replica_id, wanted.current_leader_epoch),
            fetch_offset=wanted.fetch_offset,
            log_start_offset=wanted.log_start_offset,
            leader_end_offset=answer.leader_end_offset,
        )


def _divergence(log: UnifiedLog, wanted: PartitionFetch) -> DivergingEpoch | None:
    """Where the reader's history leaves ours; None when it does not. Raises OffsetOutOfRange when we cannot know."""
    end = log.end_offset_for(wanted.last_fetched_epoch)
    if end.leader_epoch == NO_EPOCH or end.end_offset == NO_OFFSET:
        raise OffsetOutOfRange(
            f"Could not determine the end offset of the last fetched epoch {wanted.last_fetched_epoch} "
            f"from the request of partition {log.topic_partition}."
        )
    if wanted.fetch_offset < log.log_start_offset:
        # Truncating would not help a reader that is behind our start (rule 36).
        raise OffsetOutOfRange(
            f"Received request for offset {wanted.fetch_offset} for partition {log.topic_partition}, "
            f"but we only have log segments from offset {log.log_start_offset}."
        )
    if end.leader_epoch < wanted.last_fetched_epoch or end.end_offset < wanted.fetch_offset:
        return DivergingEpoch(end.leader_epoch, end.end_offset)
    return None


def find_offset(
    partition: Partition, timestamp: int, *, up_to: ReadUpTo, current_leader_epoch: int, leader_only: bool
) -> FoundOffset:
    """Blocks. The offset for a time, or for a SpecialTimestamp; NOTHING_FOUND when there is none in the reader's view.

    Raises OffsetNotAvailable to a client while a new leader does not know yet what is committed, and what `log_for`
    raises.
    """
    log = partition.log_for(current_leader_epoch, leader_only=leader_only)
    if timestamp == SpecialTimestamp.LATEST:
        _check_committed_known(partition, log, up_to)
        return FoundOffset(NO_TIMESTAMP, end_offset(log, up_to), partition.leader_epoch)
    if timestamp in (SpecialTimestamp.EARLIEST, SpecialTimestamp.EARLIEST_LOCAL):
        return FoundOffset(NO_TIMESTAMP, log.log_start_offset, _epoch_at_start(log))
    if timestamp == SpecialTimestamp.LATEST_TIERED:
        return NOTHING_FOUND
    leader_epoch = partition.leader_epoch
    if timestamp == SpecialTimestamp.MAX_TIMESTAMP:
        found = log.max_timestamp_offset()
    elif timestamp < 0:
        raise UnsupportedVersion
    else:
        found = log.offset_for_timestamp(timestamp)
    if partition.log is not log or partition.leader_epoch != leader_epoch:
        # The log was deleted, moved or cut during the search: clients would believe that there is nothing.
        raise NotLeaderOrFollower
    if found is None or found.offset >= end_offset(log, up_to):
        _check_committed_known(partition, log, up_to)
        return NOTHING_FOUND
    return FoundOffset(found.timestamp, found.offset, found.leader_epoch)


def _check_committed_known(partition: Partition, log: UnifiedLog, up_to: ReadUpTo) -> None:
    """After an election the high watermark may lag behind records that are committed; say so instead of going back.

    To clients only: a follower is told where the log ends. It may be what the high watermark waits for, and could not
    begin without that. What is committed is known in spite of an open transaction, too.
    """
    if up_to is ReadUpTo.LOG_END:
        return
    start = partition.epoch_start_offset
    if start is not None and start > log.high_watermark:
        raise OffsetNotAvailable(
            f"Failed to fetch offsets for {partition.topic_partition} with leader epoch {partition.leader_epoch} as "
            f"this partition's high watermark ({log.high_watermark}) is lagging behind the start offset from "
            f"the beginning of this epoch ({start})."
        )


def _epoch_at_start(log: UnifiedLog) -> int:
    """The epoch of the first record that may be read; -1 when the epoch file does not say."""
    first = log.leader_epochs.earliest_entry()
    return first.epoch if first is not None and first.start_offset <= log.log_start_offset else NO_EPOCH


def end_offset_for_epoch(
    partition: Partition, leader_epoch: int, *, current_leader_epoch: int, leader_only: bool = True
) -> DivergingEpoch:
    """The largest known epoch up to `leader_epoch` and its end offset; both -1 when unknown."""
    end = partition.log_for(current_leader_epoch, leader_only=leader_only).end_offset_for(leader_epoch)
    return DivergingEpoch(end.leader_epoch, end.end_offset)


def delete_before(partition: Partition, offset: int) -> int:
    """Raise the log start to `offset` (-1: the high watermark); the offset that the low watermark has to reach.

    Raises PolicyViolation on topics that are only compacted, OffsetOutOfRange above the high watermark.
    """
    log = partition.leader_log()
    if not log.config.delete:
        raise PolicyViolation(
            f"Records of partition {partition.topic_partition} can not be deleted due to the configured policy"
        )
    target = log.high_watermark if offset == HIGH_WATERMARK_OFFSET else offset
    if target < 0 or target > log.high_watermark:
        raise OffsetOutOfRange(
            f"The offset {target} for partition {partition.topic_partition} is not valid: "
            f"the high watermark is {log.high_watermark}"
        )
    log.increment_log_start_offset(target)
    return target


def offsets_before(
    partition: Partition, timestamp: int, *, limit: int, committed_only: bool, leader_only: bool, now_ms: int
) -> list[int]:
    """Blocks. At most `limit` starts of segments last written before a time, newest first; version 0 of ListOffsets.

    The log end offset counts as written now. `committed_only`: the high watermark replaces what lies above.
    Source: UnifiedLog.legacyFetchOffsetsBefore, Partition.legacyFetchOffsetsForTimestamp.
    """
    log = partition.log_for(NO_EPOCH, leader_only=leader_only)
    with log.log_dir.guard(f"Error while looking up a time in {partition.topic_partition}"):
        starts = [
            (max(segment.base_offset, log.log_start_offset), int(os.stat(segment.file.path).st_mtime * 1000))
            for segment in log.segments
        ]
    if log.active.size_bytes:
        starts.append((log.log_end_offset, now_ms))
    if timestamp == SpecialTimestamp.EARLIEST:
        starts = starts[:1]
    elif timestamp != SpecialTimestamp.LATEST:
        while starts and starts[-1][1] > timestamp:
            starts.pop()
    offsets = sorted((offset for offset, _ in starts[-limit:] if limit > 0), reverse=True)
    if committed_only and offsets and offsets[0] > log.high_watermark:
        return [log.high_watermark, *(offset for offset in offsets if offset <= log.high_watermark)]
    return offsets
