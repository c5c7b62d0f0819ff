"""The request and the result of a fetch of one partition.

Role        Pure. Plain data between the fetch handler, the fetch session and the partitions.
Invariants  Slices are counted references to segment files: each is released exactly once, by the connection after it
            was sent or by `release` when the answer is thrown away.
Source      Kafka 3.9 FetchParams, FetchRequest.PartitionData, LogReadResult, FetchPartitionData.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kafka_zk.protocol.errors import BrokerError

if TYPE_CHECKING:
    from kafka_zk.log.down_converter import ConvertedSlice
    from kafka_zk.log.files.transaction_index import AbortedTransaction
    from kafka_zk.log.segments.slice import FileSlice

NO_REPLICA = -1


class ReadUpTo(Enum):
    """Where a reader's view of the log ends."""

    LOG_END = "log end offset"
    HIGH_WATERMARK = "high watermark"
    LAST_STABLE_OFFSET = "last stable offset"


class FetchParams:
    """What holds for all partitions of one fetch. `replica_id` is -1 for a consumer."""

    __slots__ = (
        "allows_partial_batch",
        "is_follower",
        "leader_only",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_id",
        "up_to",
    )

    def __init__(
        self,
        replica_id: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        up_to: ReadUpTo,
        leader_only: bool,
        allows_partial_batch: bool = False,
        rack_id: str = "",
    ) -> None:
        self.replica_id = replica_id
        self.is_follower = replica_id >= 0
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.up_to = up_to
        self.leader_only = leader_only
        self.allows_partial_batch = allows_partial_batch
        self.rack_id = rack_id


class PartitionFetch:
    """What is wanted of one partition. `topic` is None while its id is unknown here; -1 = the fetcher does not say."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "partition",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str | None,
        topic_id: UUID,
        partition: int,
        fetch_offset: int,
        max_bytes: int,
        log_start_offset: int = -1,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.log_start_offset = log_start_offset
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch

    def __repr__(self) -> str:
        return f"{self.topic or self.topic_id}-{self.partition}@{self.fetch_offset}"


class DivergingEpoch(NamedTuple):
    """The largest epoch the leader has that is not above the follower's, and where it ends."""

    epoch: int
    end_offset: int


class PartitionRead:
    """The answer of one partition. On errors the offsets are -1.

    `aborted_transactions` is None unless the reader is READ_COMMITTED. `leader_end_offset` is the log end offset from
    before the read: what a follower must have reached to count as caught up. `is_on_older_segment`: more lies in a
    newer segment, and no waiting will bring it into this read.
    """

    __slots__ = (
        "_converted",
        "aborted_transactions",
        "diverging_epoch",
        "error",
        "high_watermark",
        "is_on_older_segment",
        "last_stable_offset",
        "leader_end_offset",
        "log_start_offset",
        "preferred_read_replica",
        "size_bytes",
        "slices",
    )

    def __init__(
        self,
        error: BrokerError | None = None,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        leader_end_offset: int = -1,
        diverging_epoch: DivergingEpoch | None = None,
        preferred_read_replica: int = NO_REPLICA,
    ) -> None:
        self.error = error
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.leader_end_offset = leader_end_offset
        self.diverging_epoch = diverging_epoch
        self.preferred_read_replica = preferred_read_replica
        self.is_on_older_segment = False
        self.slices: Sequence[FileSlice] | Sequence[ConvertedSlice] = ()
        self.size_bytes = 0
        self.aborted_transactions: Sequence[AbortedTransaction] | None = None
        self._converted: bytes | None = None

    def hold(self, slices: Sequence[FileSlice], size_bytes: int, aborted: Sequence[AbortedTransaction] | None) -> None:
        """Take over the slices of a read."""
        self.slices = slices
        self.size_bytes = size_bytes
        self.aborted_transactions = aborted

    @property
    def records(self) -> Sequence[FileSlice] | Sequence[ConvertedSlice] | bytes:
        """What goes out: slices of segment files, or what an old fetcher gets instead. Empty is empty bytes."""
        if self._converted is not None:
            return self._converted
        return self.slices or b""

    def replace(self, converted: bytes | ConvertedSlice) -> None:
        """Send `converted` instead of the slices."""
        self.release()
        if isinstance(converted, bytes):
            self._converted = converted
            self.size_bytes = len(converted)
        else:
            self.slices = (converted,)
            self.size_bytes = converted.size_bytes

    def fail(self, error: BrokerError) -> None:
        """Send `error` instead of everything."""
        self.release()
        self.error = error
        self.high_watermark = self.last_stable_offset = self.log_start_offset = -1
        self.aborted_transactions = None

    def release(self) -> None:
        """Release the slices unsent."""
        slices, self.slices = self.slices, ()
        self.size_bytes = 0
        for piece in slices:
            piece.release()

    def hold_back(self) -> None:
        """The records wait for the throttle: as if there were none yet."""
        self.release()
        self.is_on_older_segment = False

    @property
    def answers_at_once(self) -> bool:
        """Whether the fetch must be answered now, however few bytes there are."""
        return self.error is not None or self.diverging_epoch is not None or self.preferred_read_replica != NO_REPLICA


def release_all(reads: Sequence[PartitionRead]) -> None:
    """Give back everything that an abandoned answer holds."""
    for read in reads:
        read.release()
