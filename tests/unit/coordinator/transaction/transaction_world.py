"""A transaction coordinator over a log in memory, and the leaders of partitions that take its markers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

import gevent

from kafka_zk.clock import SimClock
from kafka_zk.coordinator.transaction.coordinator import TransactionCoordinator
from kafka_zk.coordinator.transaction.decisions.records import LogReplay
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_zk.protocol.types import TopicPartition
from tests.unit.coordinator.memory_log import HeldAppend, MemoryLog

COUNT = 2
"""Partitions of __transaction_state."""
T0, T1, T2 = (TopicPartition("t", index) for index in range(3))
OWN = 0
"""The broker of the coordinator."""
LEADERS = {T0: 1, T1: 1, T2: 2}
TIMEOUT_MS = 60_000
TOO_LONG_MS = 900_001


class WrittenMarker(NamedTuple):
    """As one partition has it."""

    partition: TopicPartition
    producer: ProducerIdAndEpoch
    is_commit: bool
    coordinator_epoch: int


class Leaders:
    """The metadata cache and the peers of a coordinator: who leads which partition, and what they answer.

    `refusals` has the next answers of a partition; `silent` brokers answer when `speak` is called, `cut` ones never.
    """

    def __init__(self) -> None:
        self.leaders: dict[TopicPartition, int] = dict(LEADERS)
        self.alive = {OWN, 1, 2}
        self.deleted: set[TopicPartition] = set()
        self.zookeeper_errors: list[Exception] = []
        self.refusals: dict[TopicPartition, list[ErrorCode]] = {}
        self.silent = False
        self.cut = False
        self.markers: list[WrittenMarker] = []
        self.requests: list[tuple[int, WriteTxnMarkersRequest]] = []
        self._listeners: list[Callable[[Any, Any], None]] = []
        self._held: list[tuple[WriteTxnMarkersRequest, Pending[WriteTxnMarkersResponse]]] = []

    # --- what a coordinator uses of the metadata cache ---------------------------------------------------------------

    def partition(self, topic: str, index: int) -> Any:
        leader = self.leaders.get(TopicPartition(topic, index))
        return None if leader is None else SimpleNamespace(leader=leader)

    def delete(self, partition: TopicPartition) -> None:
        del self.leaders[partition]
        self.deleted.add(partition)

    def gone(self, partitions: Collection[TopicPartition]) -> Collection[TopicPartition]:
        """What ZooKeeper says; first its next error."""
        if self.zookeeper_errors:
            raise self.zookeeper_errors.pop(0)
        return self.deleted.intersection(partitions)

    def on_change(self, listener: Callable[[Any, Any], None]) -> None:
        self._listeners.append(listener)

    def changed(self) -> None:
        for listener in self._listeners:
            listener(None, ())

    # --- and of its peers --------------------------------------------------------------------------------------------

    def node(self, broker_id: int) -> object | None:
        return object() if broker_id in self.alive else None

    def send(self, broker_id: int, request: WriteTxnMarkersRequest) -> Pending[WriteTxnMarkersResponse]:
        self.requests.append((broker_id, request))
        answer: Pending[WriteTxnMarkersResponse] = Pending()
        if self.cut:
            answer.fail(NetworkError("cut"))
        elif self.silent:
            self._held.append((request, answer))
        else:
            answer.complete(self._written(request))
        return answer

    def speak(self) -> None:
        """Write and answer what is held."""
        held, self._held = self._held, []
        for request, answer in held:
            answer.complete(self._written(request))

    def forget(self) -> None:
        """The connections of what is held are lost."""
        held, self._held = self._held, []
        for _, answer in held:
            answer.fail(NetworkError("lost"))

    def _written(self, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(
                                    partition_index=index,
                                    error_code=self.write(marker, TopicPartition(topic.name, index)),
                                )
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )

    def write(self, marker: Any, partition: TopicPartition) -> ErrorCode:
        refusals = self.refusals.get(partition)
        if refusals:
            return refusals.pop(0)
        self.markers.append(
            WrittenMarker(
                partition,
                ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch),
                marker.transaction_result,
                marker.coordinator_epoch,
            )
        )
        return ErrorCode.NONE

    def ends(self, producer: ProducerIdAndEpoch) -> set[tuple[TopicPartition, bool]]:
        """Where this producer's transactions ended, and how."""
        return {(each.partition, each.is_commit) for each in self.markers if each.producer == producer}


class OwnPartitions:
    """What the coordinator's own broker leads. While `is_behind`, the replicas have a marker when `replicate` is
    called."""

    def __init__(self, leaders: Leaders) -> None:
        self._leaders = leaders
        self.written: list[WritableTxnMarker] = []
        self.is_behind = False
        self._waiting: list[tuple[Pending[dict[TopicPartition, ErrorCode]], dict[TopicPartition, ErrorCode]]] = []

    def write(self, marker: WritableTxnMarker) -> Pending[dict[TopicPartition, ErrorCode]]:
        self.written.append(marker)
        codes = {
            TopicPartition(topic.name, index): self._leaders.write(marker, TopicPartition(topic.name, index))
            for topic in marker.topics
            for index in topic.partition_indexes
        }
        if not self.is_behind:
            return completed(codes)
        answer: Pending[dict[TopicPartition, ErrorCode]] = Pending()
        self._waiting.append((answer, codes))
        return answer

    def replicate(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """The replicas have what waits for them; or it waited too long, and gets `code`."""
        waiting, self._waiting = self._waiting, []
        for answer, codes in waiting:
            answer.complete({partition: code or each for partition, each in codes.items()})


class World:
    """One broker that leads both partitions of __transaction_state, unless `lead` and `resign` say otherwise.

    `settings` replace those of its config.
    """

    def __init__(self, *, clock: SimClock | None = None, **settings: int) -> None:
        self.clock = SimClock() if clock is None else clock
        self.log = MemoryLog()
        self.leaders = Leaders()
        self.own = OwnPartitions(self.leaders)
        self.next_id = 1_000
        self.epochs = dict.fromkeys(range(COUNT), 0)
        self.config: Any = SimpleNamespace(
            transaction_state_log_num_partitions=50,
            transaction_max_timeout_ms=TOO_LONG_MS - 1,
            transaction_abort_timed_out_transaction_cleanup_interval_ms=10_000,
            transaction_remove_expired_transaction_cleanup_interval_ms=3_600_000,
            transactional_id_expiration_ms=604_800_000,
            request_timeout_ms=30_000,
        )
        vars(self.config).update(settings)
        self.coordinator = self._made()
        for partition in range(COUNT):
            self.lead(partition)

    def _made(self) -> TransactionCoordinator:
        ids: Any = SimpleNamespace(next_producer_id=self._fresh_id)
        anything: Any = self.log
        peers: Any = self.leaders
        coordinator = TransactionCoordinator(
            config=self.config,
            clock=self.clock,
            replica_manager=anything,
            metadata_cache=peers,
            metrics=MetricsRegistry(self.clock),
            peers=peers,
            broker_id=OWN,
            marker_writer=self.own,
            producer_ids=ids,
            state_partition_count=lambda: COUNT,
            gone_partitions=self.leaders.gone,
        )
        coordinator.startup()
        return coordinator

    def _fresh_id(self) -> Pending[int]:
        self.next_id += 1
        return completed(self.next_id)

    def stop(self) -> None:
        self.coordinator.shutdown()

    def start_again(self) -> None:
        """Another process, which leads both partitions as of the next epochs."""
        self.own = OwnPartitions(self.leaders)
        self.coordinator = self._made()
        for partition in range(COUNT):
            self.lead(partition)

    # --- leadership --------------------------------------------------------------------------------------------------

    def lead(self, partition: int) -> None:
        self.log.led.add(partition)
        self.epochs[partition] += 1
        self.coordinator.leadership.on_leadership_change([self._led(partition)], [])
        self.settle()

    def resign(self, partition: int, *, keep_held: bool = False) -> list[HeldAppend]:
        """`keep_held`: appends that wait are in the log all the same. Returns those whose owners do not know yet."""
        lost = self.log.lose_leadership(partition, keep_held=keep_held)
        self.epochs[partition] += 1
        self.coordinator.leadership.on_leadership_change([], [self._led(partition)])
        return lost

    def _led(self, partition: int) -> Any:
        return SimpleNamespace(
            topic_partition=TopicPartition(TRANSACTION_STATE_TOPIC, partition), leader_epoch=self.epochs[partition]
        )

    def partition_of(self, transactional_id: str) -> int:
        return self.coordinator.partition_for(transactional_id)

    def settle(self) -> None:
        """Let the coordinator's greenlets do all that they were given, but for what waits for replicas."""
        manager = self.coordinator._manager
        background = manager._tasks, self.coordinator._completions, self.coordinator._questions
        while not all(tasks.is_idle for tasks in background) or (
            manager.ownership.is_loading and not self.log.waiting and self.log.may_load
        ):
            gevent.sleep(0)
        gevent.sleep(0)

    # --- what producers do -------------------------------------------------------------------------------------------

    def begins(
        self, transactional_id: str = "id", *, was: ProducerIdAndEpoch | None = None, timeout_ms: int = TIMEOUT_MS
    ) -> ProducerIdAndEpoch | ErrorCode:
        answer = self.coordinator.init_producer_id(transactional_id, timeout_ms=timeout_ms, expected=was)
        self.settle()
        if answer.value.error is not ErrorCode.NONE:
            return answer.value.error
        return ProducerIdAndEpoch(answer.value.producer_id, answer.value.producer_epoch)

    def producer(self, transactional_id: str = "id") -> ProducerIdAndEpoch:
        """One that has begun."""
        begun = self.begins(transactional_id)
        assert isinstance(begun, ProducerIdAndEpoch), begun
        return begun

    def adds(
        self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, transactional_id: str = "id"
    ) -> Pending[ErrorCode]:
        answer = self.coordinator.add_partitions(transactional_id, producer, partitions)
        self.settle()
        return answer

    def ends(self, producer: ProducerIdAndEpoch, *, commit: bool, transactional_id: str = "id") -> Pending[ErrorCode]:
        answer = self.coordinator.end_transaction(transactional_id, producer, is_commit=commit)
        self.settle()
        return answer

    # --- what is seen of it ------------------------------------------------------------------------------------------

    def state(self, transactional_id: str = "id") -> str:
        found = self.coordinator.describe(transactional_id)
        return found.name if isinstance(found, ErrorCode) else found.state.word

    def found(self, transactional_id: str = "id") -> Transaction:
        transaction = self.coordinator.describe(transactional_id)
        assert isinstance(transaction, Transaction), transaction
        return transaction

    def stored(self, transactional_id: str = "id") -> Transaction | None:
        """What the log says at last."""
        replay = LogReplay()
        for batch in self.log.batches(self.partition_of(transactional_id)):
            replay.apply(batch)
        return next((each for each in replay.transactions() if each.transactional_id == transactional_id), None)

    def history(self, transactional_id: str = "id") -> list[str]:
        """The states that were stored, in order."""
        states: list[str] = []
        replay = LogReplay()
        for batch in self.log.batches(self.partition_of(transactional_id)):
            replay.apply(batch)
            states += [each.state.word for each in replay.transactions() if each.transactional_id == transactional_id]
        return states

    def passes(self, ms: int) -> None:
        self.clock.advance(ms)
        self.settle()

    def passes_slowly(self, ms: int) -> None:
        """What timers begin is done before the next ones run."""
        until_ms = self.clock.monotonic_ms() + ms
        while (now_ms := self.clock.monotonic_ms()) < until_ms:
            next_ms = self.clock.next_deadline_ms
            self.clock.advance(max(0, min(until_ms, until_ms if next_ms is None else next_ms) - now_ms))
            self.settle()


@contextmanager
def world(**settings: int) -> Iterator[World]:
    made = World(**settings)
    try:
        yield made
    finally:
        made.stop()


def both(partitions: Iterable[TopicPartition], *, commit: bool) -> set[tuple[TopicPartition, bool]]:
    return {(partition, commit) for partition in partitions}
