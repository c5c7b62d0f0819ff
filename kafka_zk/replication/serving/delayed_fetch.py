"""A fetch that waits for min.bytes.

Role        Watched on its partitions; notified of each append, new high watermark and leadership change of one of them.
Invariants  Counts from offsets and positions, and reads once: for its answer. A notification costs one partition,
            however many it waits for.
            Answered at the deadline with what there is then, which may be nothing.
            Counting may block (a wrong index is rebuilt): one greenlet counts at a time, and what changes meanwhile
            once more.
Source      Kafka 3.9 DelayedFetch.tryComplete. Kafka counts all its partitions each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from kafka_zk.replication.purgatory import DelayedOperation
from kafka_zk.replication.serving.records_view import PartitionFetch, PartitionRead

ANSWER_NOW = -1
"""Instead of a size: answer about this partition now, however few bytes there are."""


class DelayedFetch(DelayedOperation):
    """`size_of`: the bytes that a partition has for its fetcher, or ANSWER_NOW. `expired(1)` counts a wait that lasted
    to its end."""

    __slots__ = (
        "_answer",
        "_changed",
        "_expired",
        "_is_asked",
        "_min_bytes",
        "_read",
        "_size_bytes",
        "_size_of",
        "_sizes",
        "_wanted",
    )

    def __init__(
        self,
        timeout_ms: int,
        wanted: Sequence[PartitionFetch],
        *,
        min_bytes: int,
        size_of: Callable[[PartitionFetch], int],
        read: Callable[[], list[PartitionRead]],
        answer: Callable[[list[PartitionRead]], object],
        expired: Callable[[int], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._wanted: dict[Hashable, PartitionFetch] = {(fetch.topic, fetch.partition): fetch for fetch in wanted}
        self._sizes: dict[Hashable, int] = {}
        self._size_bytes = 0
        self._min_bytes = min_bytes
        self._size_of = size_of
        self._read = read
        self._answer = answer
        self._expired = expired
        self._changed: list[Hashable] = []
        self._is_asked = False

    @property
    def keys(self) -> Sequence[Hashable]:
        """The partitions that it waits for."""
        return list(self._wanted)

    def try_complete(self) -> bool:
        """Blocks where an index has to be rebuilt."""
        return self._is_enough_with(list(self._wanted))

    def try_complete_for(self, key: Hashable) -> bool:
        """Blocks where an index has to be rebuilt."""
        return self._is_enough_with([key])

    def on_expiration(self) -> None:
        self._expired(1)

    def on_complete(self) -> None:
        self._answer(self._read())

    def _is_enough_with(self, changed: list[Hashable]) -> bool:
        """Blocks as `size_of` does. Count these partitions again; whether that ends the wait."""
        self._changed += changed
        if self._is_asked:
            return False
        self._is_asked = True
        try:
            while self._changed and not self.is_completed:
                if self._has_enough_with(self._changed.pop()):
                    return True
        finally:
            self._is_asked = False
        return False

    def _has_enough_with(self, key: Hashable) -> bool:
        size_bytes = self._size_of(self._wanted[key])
        if size_bytes == ANSWER_NOW:
            return True
        # Not before: the size may have had to wait for a disk.
        self._size_bytes += size_bytes - self._sizes.get(key, 0)
        self._sizes[key] = size_bytes
        return self._size_bytes >= self._min_bytes
