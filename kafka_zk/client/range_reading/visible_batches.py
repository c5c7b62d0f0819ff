"""Which batches of a fetch answer a reader gets to see, and how far the answer reaches.

Role        Pure.
Invariants  `next_offset` passes over control batches, aborted records and offsets that compaction removed: the end of a
            range is reached by position, not by seeing its last record.
Source      Kafka 3.9 CompletedFetch.nextFetchedRecord, containsAbortMarker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import Batch, batches
from kafka_zk.record.control import ControlType, marker_of


@dataclass(slots=True)
class VisibleBatches:
    """Batches to read records from, in order; `next_offset` is where the next fetch begins."""

    batches: list[Batch]
    next_offset: int
    is_partial: bool
    """Bytes of a batch that did not fit came along, and no whole one."""


def visible_batches(
    data: memoryview,
    position: int,
    end_offset: int,
    aborted: Sequence[tuple[int, int]] | None,
    *,
    check_crcs: bool,
) -> VisibleBatches:
    """The batches of `data` with offsets in [position, end_offset).

    `aborted` are (first offset, producer id) of aborted transactions for a reader of committed records, None for one
    of all. Raises CorruptMessage.
    """
    waiting = sorted(aborted or (), reverse=True)
    aborting: set[int] = set()
    seen: list[Batch] = []
    next_offset, count = position, 0
    for batch in batches(data):
        count += 1
        header = batch.header
        if header.base_offset >= end_offset and header.magic >= 2:
            next_offset = max(next_offset, header.base_offset)
            break
        if aborted is not None and header.has_producer_id:
            while waiting and waiting[-1][0] <= header.last_offset:
                aborting.add(waiting.pop()[1])
        # A control batch may be the last word about a transaction, whatever its position.
        if header.is_control:
            if header.producer_id in aborting and _is_abort(batch):
                aborting.discard(header.producer_id)
        elif header.last_offset >= position and not (header.is_transactional and header.producer_id in aborting):
            if check_crcs and not batch.is_valid():
                raise CorruptMessage(
                    f"the checksum of the batch of offsets {header.base_offset} to {header.last_offset} is wrong"
                )
            seen.append(batch)
        next_offset = max(next_offset, header.next_offset)
    return VisibleBatches(seen, next_offset, count == 0 and len(data) > 0)


def _is_abort(batch: Batch) -> bool:
    marker = marker_of(batch)
    return marker is not None and marker.control_type is ControlType.ABORT
