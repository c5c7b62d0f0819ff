"""Where a batch ends so that it cuts no transaction of its partition.

Role        Pure.
Rule        A place between two offsets is whole if each committed transaction that has a batch before it has its marker
            before it, too. A batch that may go up to a limit ends at the last whole place up to there, so it shrinks.
            If only its start is left, since one transaction, or several that overlap, are larger than the limit, it
            grows to the first whole place behind the limit. If there is none up to where readers of committed records
            may read, since a transaction overlaps with one that is still open, it takes nothing of this partition.
            Aborted transactions count for nothing, since readers see nothing of them. A marker at the end belongs to
            the batch. What compaction has left is as good as a whole transaction, and what begins before the start
            (its records before were deleted, or read without this rule) is taken for a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.record.batch import BatchHeader


def whole_end(batches: Iterable[tuple[BatchHeader, bool]], *, start: int, limit: int, end: int) -> int:
    """The end of a batch that begins at `start`: a whole place behind it, or `start` where there is none.

    `batches` are those from `start` to before `end`, in order, each with whether it was aborted; no more are taken than
    are needed. All transactions that begin before `end` are decided. `start` < `limit` <= `end`; the result may be
    larger than `limit`, never than `end`.
    """
    under_way: set[int] = set()
    found = start
    for header, is_aborted in batches:
        was_whole = not under_way
        if header.is_control:
            under_way.discard(header.producer_id)
        elif header.is_transactional and not is_aborted:
            under_way.add(header.producer_id)
        if was_whole:
            # Up to a batch, whatever compaction took away before it, and through one that is of no transaction.
            found = max(found, min(limit, header.base_offset if under_way else header.next_offset))
        elif not under_way and (header.next_offset <= limit or found == start):
            found = min(header.next_offset, end)
        if found >= limit or (found > start and header.next_offset >= limit):
            return found
    return found if under_way else max(found, limit)
