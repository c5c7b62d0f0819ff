"""Copies bytes from one log to another.

Role        Acts, through threads. Used where batches are looked into or copied; fetches send slices, never bytes.
Source      LocalLog.read; Partition.appendRecordsToFollowerOrFutureReplica.
"""

from __future__ import annotations

from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.batch import batches


def read_bytes(log: UnifiedLog, offset: int, max_bytes: int) -> bytes:
    """Blocks. Whole batches from the one that holds `offset` up to the log end, at least one where there is one.

    Raises OffsetOutOfRange, KafkaStorageError.
    """
    result = log.read(offset, max_bytes=max_bytes, up_to=log.log_end_offset, min_one=True)
    pools = log.log_dir.pools
    try:
        with log.log_dir.guard(f"Error while reading {log.topic_partition}"):
            return b"".join([pools.run_to_end(pools.read, piece.read) for piece in result.slices])
    finally:
        for piece in result.slices:
            piece.release()


def append_copied(copy: UnifiedLog, data: bytes, end_offset: int) -> None:
    """Blocks. Append what `read_bytes` found from the end of `copy` on, in a log that ended at `end_offset` then.

    A log may begin inside a batch; its copy begins where the batch does. It may end behind its last batch, when what
    stood there was cleaned away; nothing is found there, and its copy ends there, too. Raises KafkaStorageError.
    """
    is_empty = copy.log_end_offset == copy.log_start_offset
    if not data and is_empty:
        copy.truncate_fully_and_start_at(end_offset)
    elif not data:
        copy.skip_to(end_offset)
    else:
        first_offset = next(batches(data)).header.base_offset
        if first_offset < copy.log_end_offset and is_empty:
            copy.truncate_fully_and_start_at(first_offset)
        copy.append_as_follower(bytearray(data))
