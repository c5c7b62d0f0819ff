"""Tracks the transactions in a log during a pass of the cleaner.

Role        Pure; travels between the broker and the helper process. Fed with the aborted index's entries and every
            batch, in order.
Invariants  Batches below the last stable offset are decided: each belongs to a transaction that the index names as
            aborted, or to one that was committed.
            A marker stays while a batch of its transaction was seen; an abort marker that stays keeps its index entry.
Source      Kafka 3.9 CleanedTransactionMetadata; KAFKA-8335.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.record.control import ControlType


class CleanedTransactions:
    """`kept`: index entries for the segment that is being written, until `take_kept`."""

    def __init__(self) -> None:
        self._coming: list[tuple[int, AbortedTransaction]] = []
        self._aborted: dict[int, AbortedTransaction] = {}
        self._with_data: set[int] = set()
        """Producers whose current aborted transaction had a batch."""
        self._committed: set[int] = set()
        self._kept: list[AbortedTransaction] = []

    def expect(self, aborted: Iterable[AbortedTransaction]) -> None:
        """These were aborted and begin somewhere ahead, or have begun (then they are known)."""
        for each in aborted:
            heapq.heappush(self._coming, (each.first_offset, each))

    def is_aborted_data(self, producer_id: int, last_offset: int, *, is_transactional: bool) -> bool:
        """Take in a batch of data; whether its transaction was aborted."""
        self._begin_up_to(last_offset)
        if not is_transactional:
            return False
        if producer_id in self._aborted:
            self._with_data.add(producer_id)
            return True
        self._committed.add(producer_id)
        return False

    def may_discard_marker(self, producer_id: int, last_offset: int, control_type: ControlType | None) -> bool:
        """Take in a control batch; whether nothing of its transaction is left. None: its record was removed before."""
        self._begin_up_to(last_offset)
        if control_type is None:
            return True
        if control_type is ControlType.ABORT:
            aborted = self._aborted.pop(producer_id, None)
            if aborted is None or producer_id not in self._with_data:
                return True
            self._with_data.discard(producer_id)
            self._kept.append(aborted)
            return False
        if control_type is ControlType.COMMIT:
            had_data = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_data
        return False

    def take_kept(self) -> list[AbortedTransaction]:
        """Entries of abort markers that stay, since the last call."""
        kept, self._kept = self._kept, []
        return kept

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            _, aborted = heapq.heappop(self._coming)
            self._aborted.setdefault(aborted.producer_id, aborted)
