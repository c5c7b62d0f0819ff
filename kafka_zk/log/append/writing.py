"""The effects of an append: bytes into the segment, on the loop or in a thread, and the producer's memory of them.

Role        Acts. The log has decided by then that the append may happen.
Invariants  A write is whole or the file is cut back and the directory goes offline. A pooled write happens under the
            log's turn, holds the segment's descriptor and ends before anything else is done, even if its greenlet is
            killed meanwhile.
            Whatever else fails (memory, an index that no start has found to be wrong), the batch is taken back before
            the next append: its offsets are given to that one. Where that cannot be, the directory goes offline.
Source      LocalLog.append, LogSegment.append, LogSegment.updateTxnIndex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_zk.log.directory.log_directory import SLOW_WRITE_MS
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.protocol.causes import caused_by
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.control import EndTransactionMarker

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import UnifiedLog

POOLED_BYTES: Final = 128 * 1024
"""From here on a thread writes: the hand-off costs 20 to 43 us and four context switches, as much as the loop spends
on copying this into the page cache. Where the disk keeps a write waiting, threads take all of them (LogDirectory)."""


def write(
    log: UnifiedLog,
    segment: LogSegment,
    data: Buffer,
    size: int,
    last_offset: int,
    max_timestamp: int,
    headers: list[BatchHeader] | None = None,
) -> None:
    """Write one batch and index it; of several that follow one another, each by its header.

    Switches only if the caller has the turn. Raises KafkaStorageError.
    """
    log_dir = log.log_dir
    if not segment.is_tracked:
        log_dir.open_segments.track(segment)
    position = segment.file.size_bytes
    try:
        if size < POOLED_BYTES and not segment.is_flushing and not (log_dir.inline_from_ms and log_dir.must_pool()):
            started_ms = log_dir.now_ms()
            segment.file.write(data)
            if log_dir.now_ms() - started_ms > SLOW_WRITE_MS:
                log_dir.stalled()
        else:
            _write_pooled(log, segment, data)
        if headers is None:
            segment.appended(size, last_offset, max_timestamp)
        else:
            segment.appended_batches(headers)
    except OSError as error:
        raise _failed(log, error) from error
    except BaseException:
        # Whatever it is, a kill included: nothing of this batch may stand where the next one is to be.
        try:
            segment.take_back(position, log.log_end_offset)
        except OSError as error:
            raise _failed(log, error) from error
        raise


def _failed(log: UnifiedLog, error: OSError) -> KafkaStorageError:
    log_dir = log.log_dir
    return log_dir.fail(f"Error while appending records to {log.topic_partition} in dir {log_dir.path}", error)


def _write_pooled(log: UnifiedLog, segment: LogSegment, data: Buffer) -> None:
    assert log.turn.is_taken, "a pooled write without the log's turn"
    file, pools = segment.file, log.log_dir.pools
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


def follow_producer(
    log: UnifiedLog, segment: LogSegment, header: BatchHeader, first_offset: int, marker: EndTransactionMarker | None
) -> None:
    """Take in what was just written; an abort marker also goes to the segment's transaction index.

    What is known of producers cannot be taken back. Raises KafkaStorageError whatever fails.
    """
    state = log.producers.state
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
                    with log.log_dir.guard(f"Error while writing the transaction index of {log.topic_partition}"):
                        segment.transaction_index.append(entry)
                state.complete(completed)
    except KafkaStorageError:
        raise
    except Exception as error:
        # The batch stands there: only a start can tell what that means for its producer.
        lost = OSError(f"The state of producer {header.producer_id} is lost: {error!r}")
        raise _failed(log, caused_by(lost, error)) from error
