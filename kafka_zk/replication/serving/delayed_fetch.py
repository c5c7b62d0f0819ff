"""A fetch that waits for min.bytes.

Role        Watched on its partitions; asked again on every append, new high watermark, leadership change.
Invariants  What it reads while it is asked is either its answer or given back at once.
            Answered at the deadline with what there is then, which may be nothing.
            A read may block (a wrong index is made anew): one greenlet reads at a time, and once more if somebody
            asked meanwhile.
Source      Kafka 3.9 DelayedFetch. Kafka estimates from offsets and then reads again; here the cheap question is
            whether any partition has something new at all, and the read that follows is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_zk.replication.purgatory import DelayedOperation
from kafka_zk.replication.serving.records_view import PartitionRead, release_all


class DelayedFetch(DelayedOperation):
    """`may_have_news`: a cheap test without reading. `is_enough`: whether a read ends the wait. `expired(1)` counts a
    wait that lasted to its end."""

    __slots__ = ("_answer", "_asked_again", "_expired", "_is_asked", "_is_enough", "_may_have_news", "_read", "_result")

    def __init__(
        self,
        timeout_ms: int,
        *,
        may_have_news: Callable[[], bool],
        read: Callable[[], list[PartitionRead]],
        is_enough: Callable[[Sequence[PartitionRead]], bool],
        answer: Callable[[list[PartitionRead]], object],
        expired: Callable[[int], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._may_have_news = may_have_news
        self._read = read
        self._is_enough = is_enough
        self._answer = answer
        self._expired = expired
        self._result: list[PartitionRead] | None = None
        self._is_asked = False
        self._asked_again = False

    def try_complete(self) -> bool:
        """Blocks where an index has to be made anew."""
        if self._is_asked:
            self._asked_again = True
            return False
        self._is_asked = True
        try:
            while self._may_have_news():
                self._asked_again = False
                result = self._read()
                if not self.is_completed and self._is_enough(result):
                    self._result = result
                    return True
                release_all(result)
                if self.is_completed or not self._asked_again:
                    break
        finally:
            self._is_asked = False
        return False

    def on_expiration(self) -> None:
        self._expired(1)

    def on_complete(self) -> None:
        result, self._result = self._result, None
        self._answer(self._read() if result is None else result)
