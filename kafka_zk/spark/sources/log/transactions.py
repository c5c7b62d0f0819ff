"""What a reader of committed records needs beside the segments: aborted transactions, and where open ones begin.

Role        Plain.
Source      UnifiedLog.collectAbortedTransactions, ProducerStateManager.firstUndecidedOffset.
"""

from __future__ import annotations

from kafka_zk.log.files import names, producer_snapshot
from kafka_zk.log.files.producer_snapshot import CorruptSnapshot
from kafka_zk.log.files.transaction_index import AbortedTransaction, CorruptIndex, TransactionIndex
from kafka_zk.spark.sources.errors import SourceError
from kafka_zk.spark.sources.log.segments import Log, batches_from


def aborted_transactions(log: Log) -> list[AbortedTransaction]:
    """Blocks. Every aborted transaction of the log. Raises SourceError."""
    try:
        return [
            entry
            for segment in log.segments
            for entry in TransactionIndex(
                segment.path.with_suffix(names.TRANSACTION_INDEX), segment.base_offset
            ).entries()
        ]
    except (CorruptIndex, OSError) as error:
        raise SourceError(f"Aborted transactions of {log.place.directory} cannot be told: {error}") from error


def last_stable_offset(log: Log) -> int:
    """Blocks. Where the first transaction begins that did not end in this log; its end if there is none."""
    position, open_since = _newest_snapshot(log)
    for segment in log.segments:
        if segment.end_offset <= position:
            continue
        for each in batches_from(segment, max(position, segment.base_offset)):
            header = each.header
            if header.base_offset >= position and header.is_transactional:
                if header.is_control:
                    open_since.pop(header.producer_id, None)
                else:
                    open_since.setdefault(header.producer_id, header.base_offset)
    return min(open_since.values(), default=log.log_end_offset)


def _newest_snapshot(log: Log) -> tuple[int, dict[int, int]]:
    """An offset, and the first offsets of the transactions open there, by producer."""
    paths = sorted(log.place.directory.glob(f"*{names.PRODUCER_SNAPSHOT}"), reverse=True)
    for path in paths:
        parsed = names.parse_offset_file(path.name)
        if parsed is None or parsed.state or parsed.offset > log.log_end_offset:
            continue
        try:
            entries = producer_snapshot.read(path)
        except (CorruptSnapshot, OSError):
            continue
        return parsed.offset, {
            entry.producer_id: entry.current_txn_first_offset
            for entry in entries
            if entry.current_txn_first_offset >= 0
        }
    return log.log_start_offset, {}
