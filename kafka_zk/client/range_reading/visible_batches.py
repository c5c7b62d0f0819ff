"""Which batches of a Fetch response a reader may see, and up to which offset the response reaches.

Role        Pure.
Invariants  `next_offset` skips control batches, aborted records and offsets that compaction removed: the end of a
            range is reached by position, not by seeing its last record.
Source      Kafka 3.9 CompletedFetch.nextFetchedRecord, containsAbortMarker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import Batch, BatchHeader, batches
from kafka_zk.record.control import ControlType, marker_of


@dataclass(slots=True)
class VisibleBatches:
    """Batches to read records from, in order; `next_offset` is where the next fetch begins."""

    batches: list[Batch]
    next_offset: int
    is_partial: bool
    """Only part of a batch was received."""
    headers: list[BatchHeader]
    """The headers of all batches, also of those without anything to read."""
    aborted: set[int]
    """The base offsets of batches of aborted transactions, for a reader of committed records."""


class AbortedTransactions:
    """Decides which batches a read_committed reader skips. Batches come in order.

    `aborted` are (first offset, producer id) of the transactions that end after the first batch.
    """

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        self._waiting = sorted(aborted, reverse=True)
        self._aborting: set[int] = set()

    def hides(self, batch: Batch) -> bool:
        """Whether a batch is part of an aborted transaction."""
        header = batch.header
        if not header.has_producer_id:
            return False
        while self._waiting and self._waiting[-1][0] <= header.last_offset:
            self._aborting.add(self._waiting.pop()[1])
        if header.producer_id not in self._aborting:
            return False
        if header.is_control:
            if _is_abort(batch):
                self._aborting.discard(header.producer_id)
            return False
        return header.is_transactional


def visible_batches(
    data: memoryview,
    position: int,
    end_offset: int,
    aborted: AbortedTransactions | None,
    *,
    check_crcs: bool,
) -> VisibleBatches:
    """The batches of `data` with offsets in [position, end_offset), for a reader of all records or of committed ones.

    Raises CorruptMessage.
    """
    seen: list[Batch] = []
    headers: list[BatchHeader] = []
    hidden: set[int] = set()
    next_offset, count = position, 0
    for batch in batches(data):
        count += 1
        header = batch.header
        if header.base_offset >= end_offset and header.magic >= 2:
            next_offset = max(next_offset, header.base_offset)
            break
        is_hidden = aborted is not None and aborted.hides(batch)
        if is_hidden:
            hidden.add(header.base_offset)
        if not is_hidden and not header.is_control and header.last_offset >= position:
            if check_crcs and not batch.is_valid():
                raise CorruptMessage(
                    f"the batch of offsets {header.base_offset} to {header.last_offset} has a wrong checksum"
                )
            seen.append(batch)
        if header.last_offset >= position:
            headers.append(header)
        next_offset = max(next_offset, header.next_offset)
    return VisibleBatches(seen, next_offset, count == 0 and len(data) > 0, headers, hidden)


def _is_abort(batch: Batch) -> bool:
    marker = marker_of(batch)
    return marker is not None and marker.control_type is ControlType.ABORT
