"""Aborted and open transactions of a partition, for readers of committed records.

Role        Plain.
Invariants  The batches decide: a .txnindex may be missing or cut off, and nothing in it shows that. Only headers are
            read, and the control batches.
Source      UnifiedLog.collectAbortedTransactions, ProducerStateManager.firstUndecidedOffset.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_zk.log.files import names, producer_snapshot
from kafka_zk.log.files.producer_snapshot import CorruptSnapshot
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.record.control import ControlType, marker_of
from kafka_zk.spark.sources.errors import SourceError
from kafka_zk.spark.sources.log.segments import Log, Segment, batch_at, batches_from, headers_of


class Aborted(NamedTuple):
    """An aborted transaction: from its first batch that is looked at up to its marker."""

    first_offset: int
    last_offset: int
    producer_id: int


def aborted_transactions(log: Log, start: int, end: int) -> list[Aborted]:
    """Blocks. Those with records at the offsets from `start` up to `end`, which must be decided. Raises SourceError."""
    aborted: list[Aborted] = []
    open_since: dict[int, int] = {}
    for segment in log.segments:
        if segment.end_offset <= start:
            continue
        for position, header in headers_of(segment):
            if header.base_offset >= end and not open_since:
                return aborted
            if not header.is_transactional:
                continue
            if not header.is_control:
                if header.base_offset < end:
                    open_since.setdefault(header.producer_id, header.base_offset)
            elif (first_offset := open_since.pop(header.producer_id, None)) is not None and _aborts(segment, position):
                aborted.append(Aborted(first_offset, header.last_offset, header.producer_id))
    return aborted


def _aborts(segment: Segment, position: int) -> bool:
    """Blocks. Whether the control batch there aborts its transaction."""
    batch = batch_at(segment, position).batch()
    try:
        marker = None if batch is None else marker_of(batch)
    except BrokerError as error:
        raise SourceError(
            f"{segment.path} has a control batch at byte {position} that cannot be read: {error}"
        ) from error
    return marker is not None and marker.control_type is ControlType.ABORT


def last_stable_offset(log: Log) -> int:
    """Blocks. Returns the start of the first transaction that did not end in this log; else the log's end."""
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
