"""__consumer_offsets in memory, in the place of a ReplicaManager: appends wait or fail as a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from kafka_zk.log.produce.append_info import AppendInfo
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import BrokerError, ErrorCode, NotEnoughReplicas, NotLeaderOrFollower
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import Batch, batches
from kafka_zk.replication.serving.append import AppendFailure

Result = list[AppendInfo | AppendFailure]


class HeldAppend:
    """An append that is not decided: `store` lets it happen, `refuse` answers its owner with an error."""

    def __init__(self, partition: int, append: Callable[[], AppendInfo]) -> None:
        self.partition = partition
        self.append = append
        self.answer: Pending[Result] = Pending()

    def store(self) -> None:
        self.answer.complete([self.append()])

    def refuse(self, error: BrokerError) -> None:
        self.answer.complete([AppendFailure(error)])


class MemoryLog:
    """`led` says of which partitions this broker is the leader; `holds_back` and `fails` what becomes of appends.

    If it `has_replicas`, another broker may lead by now. While `is_behind`, these have nothing of the log:
    whoever waits for that is in `waiting`, with the offset.
    """

    def __init__(self) -> None:
        self.has_replicas = False
        self.is_behind = False
        self.may_load = True
        """False: a load was told that its leadership has ended, and tries again later."""
        self.waiting: list[tuple[TopicPartition, int, Pending[ErrorCode]]] = []
        self.data: dict[int, bytearray] = {}
        self.ends: dict[int, int] = {}
        self.led: set[int] = set()
        self.holds_back = False
        self.fails = False
        self.held: list[HeldAppend] = []

    # --- what the coordinator uses of a ReplicaManager ---------------------------------------------------------------

    def on_leadership_change(self, listener: object) -> None: ...

    def on_stop(self, listener: object) -> None: ...

    def on_offline(self, listener: object) -> None: ...

    def get_partition(self, topic_partition: TopicPartition) -> Any:
        if topic_partition.partition not in self.led:
            raise NotLeaderOrFollower
        return SimpleNamespace(log=self._log(topic_partition.partition))

    def leadership_of(self, topic_partition: TopicPartition) -> int | None:
        return 1 if topic_partition.partition in self.led else None

    def append_records(
        self, entries: Sequence[tuple[str, int, memoryview]], *, required_acks: int, **_: Any
    ) -> Result | Pending[Result]:
        ((_, partition, data),) = entries
        if partition not in self.led:
            return [AppendFailure(NotLeaderOrFollower())]
        if self.fails and required_acks:
            return [AppendFailure(NotEnoughReplicas())]

        def append() -> AppendInfo:
            return self._append(partition, data)

        # What came first is first in the log.
        if required_acks and (self.holds_back or any(each.partition == partition for each in self.held)):
            held = HeldAppend(partition, append)
            self.held.append(held)
            return held.answer
        for held in [each for each in self.held if each.partition == partition]:
            self.held.remove(held)
            held.store()
        return [append()]

    def may_be_replaced(self, topic_partition: TopicPartition) -> bool:
        return self.has_replicas

    def transaction_start(self, topic_partition: TopicPartition, producer_id: int) -> int | None:
        return None

    def await_committed(self, topic_partition: TopicPartition, offset: int, *, timeout_ms: int) -> Pending[ErrorCode]:
        if not self.is_behind:
            return completed(ErrorCode.NONE)
        answer: Pending[ErrorCode] = Pending()
        self.waiting.append((topic_partition, offset, answer))
        return answer

    # --- what a test does with it ------------------------------------------------------------------------------------

    def release(self) -> None:
        held, self.held = self.held, []
        for each in held:
            each.store()

    def catch_up(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """The replicas have all; or what waited for that ends with another code."""
        self.is_behind = code is ErrorCode.REQUEST_TIMED_OUT
        self.may_load = code in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT)
        waiting, self.waiting = self.waiting, []
        for _, _, answer in waiting:
            answer.complete(code)

    def lose_leadership(self, partition: int, *, keep_held: bool) -> list[HeldAppend]:
        """Appends that were under way are in the log or not, and their owners do not learn which."""
        self.led.discard(partition)
        lost = [each for each in self.held if each.partition == partition]
        self.held = [each for each in self.held if each.partition != partition]
        for each in lost if keep_held else ():
            each.append()
        return lost

    def batches(self, partition: int) -> Iterator[Batch]:
        return batches(bytes(self.data.get(partition, b"")))

    def _append(self, partition: int, data: memoryview) -> AppendInfo:
        first = self.ends.get(partition, 0)
        copied = bytearray(data)
        copied[:8] = first.to_bytes(8, "big")
        (batch,) = batches(bytes(copied))
        self.data.setdefault(partition, bytearray()).extend(copied)
        self.ends[partition] = batch.header.next_offset
        return AppendInfo(first, batch.header.last_offset, -1, 0, batch.header.max_timestamp)

    def _log(self, partition: int) -> Any:
        def read(offset: int, **_: Any) -> Any:
            rest = b"".join(each.data for each in self.batches(partition) if each.header.base_offset >= offset)
            return SimpleNamespace(slices=[SimpleNamespace(read=lambda: rest, release=lambda: None)])

        pools = SimpleNamespace(read=None, run_to_end=lambda pool, function: function())
        log_dir = SimpleNamespace(guard=lambda text: nullcontext(), pools=pools)
        end = self.ends.get(partition, 0)
        return SimpleNamespace(
            log_start_offset=0, log_end_offset=end, read=read, log_dir=log_dir, topic_partition="__consumer_offsets"
        )
