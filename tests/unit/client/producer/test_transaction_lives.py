"""Lives of a transactional producer before a cluster that moves, forgets, cuts connections and fences.

The program numbers its records. Of a transaction that was committed consumers see all of them, in order and once; of
one that was aborted, or left behind by a producer that ended, none; of a commit whose outcome nobody was told, all or
none. No broker ever gets a batch for a partition that is not in the transaction.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from kafka_zk.client.client_metrics import ClientMetrics
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import DisconnectException
from kafka_zk.client.producer.producer_metrics import ProducerMetrics
from kafka_zk.client.producer.record_accumulator import RecordAccumulator
from kafka_zk.client.producer.sender import Sender
from kafka_zk.client.producer.settings import producer_settings
from kafka_zk.client.producer.transactions.states import State
from kafka_zk.client.producer.transactions.steps import TransactionResult
from kafka_zk.clock import SimClock
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.api_table import API_TABLE
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_zk.protocol.messages.end_txn import EndTxnResponse
from kafka_zk.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kafka_zk.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_zk.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_zk.record.batch import batches, increment_sequence
from kafka_zk.record.record import decode_records
from tests.unit.client.producer.test_sender_lives import Leader

LIVES = 60
TRANSACTIONS = 12
DELIVERY_MS = 400
PARTITIONS = 2
ID = "x"


@dataclass
class PartitionLog:
    """What the leader knows: batches and markers in order, and the producer's last sequences."""

    entries: list[tuple[int, list[int] | bool]] = field(default_factory=list)
    """The epoch, and the values of a batch, or whether a marker commits."""
    epoch: int = -1
    last_sequence: int = -1
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=5))

    def committed(self) -> list[int]:
        seen: list[int] = []
        waiting: list[int] = []
        for _, entry in self.entries:
            if isinstance(entry, bool):
                seen += waiting if entry else []
                waiting = []
            else:
                waiting += entry
        return seen


class Cluster:
    """A coordinator of one transactional id and the leaders of two partitions, as Apache 3.9 decides."""

    def __init__(self, chance: random.Random) -> None:
        self.logs = [PartitionLog() for _ in range(PARTITIONS)]
        self.is_calm = False
        self.strangers = 0
        self._chance = chance
        self._producer_id, self._epoch = 7, -1
        self._open: set[int] = set()
        self._is_ongoing = False
        self._last_end: bool | None = None
        self._answers: dict[int, Callable[[Any], Any]] = {
            0: self._produce,
            10: self._find,
            22: self._init,
            24: self._add,
            26: self._end,
        }

    def answer(self, key: int, request: Any) -> Any:
        if self._is_ongoing and not self.is_calm and self._chance.random() < 0.005:
            # transaction.timeout.ms is over.
            self._epoch += 1
            self._finish(commit=False)
        return self._answers[key](request)

    def _trouble(self, *codes: ErrorCode) -> ErrorCode | None:
        return self._chance.choice(codes) if not self.is_calm and self._chance.random() < 0.2 else None

    def _finish(self, *, commit: bool) -> None:
        for number in self._open:
            self.logs[number].entries.append((self._epoch, commit))
            self.logs[number].epoch = max(self.logs[number].epoch, self._epoch)
        self._open.clear()
        self._is_ongoing, self._last_end = False, commit

    def _find(self, request: Any) -> Any:
        trouble = self._trouble(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        found = Coordinator(key=ID, node_id=1, host="h", port=1, error_code=trouble or ErrorCode.NONE)
        return FindCoordinatorResponse(coordinators=[found])

    def _init(self, request: Any) -> Any:
        trouble = self._trouble(ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if trouble:
            return InitProducerIdResponse(error_code=trouble, producer_id=-1, producer_epoch=-1)
        if self._is_ongoing:
            self._epoch += 1
            self._finish(commit=False)
            return InitProducerIdResponse(error_code=ErrorCode.CONCURRENT_TRANSACTIONS)
        if request.producer_epoch >= 0 and request.producer_epoch not in (self._epoch, self._epoch - 1):
            return InitProducerIdResponse(error_code=ErrorCode.PRODUCER_FENCED)
        if request.producer_epoch != self._epoch - 1 or request.producer_epoch < 0:
            self._epoch += 1
        self._last_end = None
        return InitProducerIdResponse(producer_id=self._producer_id, producer_epoch=self._epoch)

    def _add(self, request: Any) -> Any:
        trouble = self._trouble(ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS)
        (topic,) = request.v3_and_below_topics
        if request.v3_and_below_producer_epoch != self._epoch:
            trouble = ErrorCode.PRODUCER_FENCED
        if trouble is None:
            self._open |= set(topic.partitions)
            self._is_ongoing, self._last_end = True, None
        results = [
            AddPartitionsToTxnPartitionResult(partition_index=each, partition_error_code=trouble or ErrorCode.NONE)
            for each in topic.partitions
        ]
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[AddPartitionsToTxnTopicResult(name="t", results_by_partition=results)]
        )

    def _end(self, request: Any) -> Any:
        trouble = self._trouble(ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS)
        if request.producer_epoch != self._epoch:
            return EndTxnResponse(error_code=ErrorCode.PRODUCER_FENCED)
        if trouble:
            return EndTxnResponse(error_code=trouble)
        if self._is_ongoing:
            self._finish(commit=request.committed)
        elif self._last_end != request.committed:
            return EndTxnResponse(error_code=ErrorCode.INVALID_TXN_STATE)
        return EndTxnResponse()

    def _produce(self, request: Any) -> Any:
        assert request.transactional_id == ID
        (topic,) = request.topic_data
        answers = []
        for data in topic.partition_data:
            (batch,) = batches(data.records)
            values = [int(bytes(record.value or b"")) for record in decode_records(batch)]
            error, offset = self._append(data.index, batch.header, values)
            answers.append(PartitionProduceResponse(index=data.index, error_code=error, base_offset=offset))
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=answers)])

    def _append(self, number: int, header: Any, values: list[int]) -> tuple[ErrorCode, int]:
        log, epoch, first = self.logs[number], header.producer_epoch, header.base_sequence
        assert header.is_transactional
        if epoch < log.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH, -1
        if epoch == self._epoch and number not in self._open:
            self.strangers += 1
            return ErrorCode.INVALID_TXN_STATE, -1
        trouble = self._trouble(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS)
        if trouble:
            return trouble, -1
        if any(value % 37 == 0 for value in values):
            return ErrorCode.INVALID_RECORD, -1
        last = increment_sequence(first, len(values) - 1)
        if (epoch, first, last) in log.recent:
            return ErrorCode.NONE, 0
        if epoch > log.epoch:
            log.last_sequence = -1
        elif log.last_sequence == -1 and first != 0 and not log.entries:
            log.last_sequence = first - 1
        if first != increment_sequence(log.last_sequence, 1):
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        if epoch != self._epoch:
            # The coordinator has fenced it: verification refuses what the leader does not know yet.
            return ErrorCode.INVALID_PRODUCER_EPOCH, -1
        log.entries.append((epoch, values))
        log.epoch, log.last_sequence = epoch, last
        log.recent.append((epoch, first, last))
        if self._trouble(ErrorCode.REQUEST_TIMED_OUT) and self._chance.random() < 0.5:
            return ErrorCode.REQUEST_TIMED_OUT, -1
        return ErrorCode.NONE, 0


class Network:
    """What a sender uses of NetworkClient: connections that answer in order, and are cut now and then."""

    def __init__(self, cluster: Cluster, clock: SimClock, chance: random.Random) -> None:
        self._cluster = cluster
        self._clock = clock
        self._chance = chance
        self._pending: deque[tuple[int, Any, Any, Any]] = deque()

    def least_loaded_node(self) -> int | None:
        return None if self._is_unlucky(0.05) else 1

    def ready(self, _: int) -> bool:
        return len(self._pending) < 5 and not self._is_unlucky(0.2)

    def retry_wait_ms(self, _: int) -> int:
        return 1

    def add_node(self, _: Any) -> None:
        """It answers for all."""

    def wakeup(self) -> None:
        """Nobody waits."""

    def send(
        self, _: int, request: Any, _response: Any, build: Any, take: Any, fail: Any, max_version: int | None = None
    ) -> None:
        version = min(API_TABLE[request.api_key].max_version, max_version or 99)
        self._pending.append((request.api_key, build(version), take, fail))

    def poll(self, _: float) -> None:
        self._clock.advance(5 if self._cluster.is_calm else self._chance.choice([0, 1, 10, 60]))
        if self._is_unlucky(0.08):
            self._cut(self._chance.randint(0, len(self._pending)))
        for _turn in range(len(self._pending) if self._cluster.is_calm else self._chance.randrange(3)):
            if self._pending:
                key, request, take, _fail = self._pending.popleft()
                take(self._cluster.answer(key, request))

    def _is_unlucky(self, probability: float) -> bool:
        return not self._cluster.is_calm and self._chance.random() < probability

    def _cut(self, taken_count: int) -> None:
        """The first requests reached their broker; no answer comes back."""
        cut_off = list(self._pending)
        self._pending.clear()
        for key, request, _take, _fail in cut_off[:taken_count]:
            self._cluster.answer(key, request)
        for _key, _request, _take, fail in cut_off:
            fail(DisconnectException("cut"))

    def lose_all(self) -> None:
        """The process is gone; what it sent may arrive."""
        for key, request, _take, _fail in list(self._pending)[: self._chance.randint(0, len(self._pending))]:
            self._cluster.answer(key, request)
        self._pending.clear()


class Incarnation:
    """One process of the program."""

    def __init__(self, life: Life) -> None:
        chance = life.chance
        given = {
            "key.serializer": "VoidSerializer",
            "value.serializer": "ByteArraySerializer",
            "transactional.id": ID,
            "batch.size": chance.choice([80, 100, 200]),
            "linger.ms": chance.choice([0, 50]),
            "retry.backoff.ms": 0,
            "retry.backoff.max.ms": 0,
            "request.timeout.ms": 100,
            "delivery.timeout.ms": DELIVERY_MS,
            "partitioner.adaptive.partitioning.enable": False,
        }
        settings = producer_settings(ClientConfig(PRODUCER_KEYS, given))
        self.clock = life.clock
        self.network = Network(life.cluster, life.clock, chance)
        self.accumulator = RecordAccumulator(settings, self.network.wakeup)
        metrics = ProducerMetrics(ClientMetrics("c", num_samples=2, window_ms=30_000))
        self.sender = Sender(
            settings, self.accumulator, cast(Any, self.network), cast(Any, Leader()), metrics,
            cast(Any, life.clock), "test",
        )  # fmt: skip
        manager = self.sender.transactions
        assert manager is not None
        self.manager = manager

    def append(self, value: int) -> None:
        topic = self.accumulator.topic_queues("t")
        number = value % PARTITIONS
        with self.manager.sending("t", number) as chosen:
            self.accumulator.append(topic, number, 0, None, b"%d" % value, (), None, 1 << 16, 0.0)
            chosen(number)
        batch = topic.queue(number).batches[-1]
        if batch.record_count == 1:
            # The accumulator takes the machine's time.
            batch.created_ms = self.clock.monotonic_ms()


class Life:
    """A program that writes one transaction after the other, and begins anew when its producer is at its end."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.clock = SimClock()
        self.cluster = Cluster(chance)
        self.count = 0
        self.committed: set[int] = set()
        self.doubtful: set[int] = set()
        self.process = Incarnation(self)

    def live(self) -> None:
        for _ in range(TRANSACTIONS):
            self.transaction()
        self.cluster.is_calm = True
        before = len(self.committed)
        while len(self.committed) == before:
            self.transaction()

    def transaction(self) -> None:
        manager = self.process.manager
        if manager.state is State.FATAL_ERROR or self._happens(0.05):
            self._restart()
            manager = self.process.manager
        if manager.state is State.UNINITIALIZED and not self._finished(manager.init_transactions()):
            return
        manager.begin_transaction()
        values: list[int] = []
        try:
            for _ in range(self.chance.randint(0, 12)):
                self.count += 1
                if self.cluster.is_calm and self.count % 37 == 0:
                    self.count += 1
                values.append(self.count)
                self.process.append(self.count)
                if self._happens(0.3):
                    self.process.sender.run_once()
                if self._happens(0.01):
                    self._restart()
                    return
            if self._happens(0.2):
                self._finished(manager.abort())
                return
            result = manager.commit()
        except Exception:
            # An error that an earlier record met.
            self._abort()
            return
        if self._finished(result):
            self.committed |= set(values)
        else:
            if manager.state is not State.ABORTABLE_ERROR:
                self.doubtful |= set(values)
            self._abort()

    def _abort(self) -> None:
        if self.process.manager.state is State.ABORTABLE_ERROR:
            self._finished(self.process.manager.abort())

    def _finished(self, result: TransactionResult) -> bool:
        """Whether a call succeeded; its error shows in the manager's state."""
        for _ in range(4000):
            if result.is_done:
                break
            self.process.sender.run_once()
        assert result.is_done, f"{result} does not end: {self.process.manager}"
        try:
            result.wait(0)
        except Exception:
            return False
        return True

    def _restart(self) -> None:
        self.process.network.lose_all()
        self.process = Incarnation(self)

    def _happens(self, probability: float) -> bool:
        return not self.cluster.is_calm and self.chance.random() < probability

    def check(self) -> None:
        seen = [log.committed() for log in self.cluster.logs]
        for values in seen:
            assert values == sorted(set(values)), "twice or out of order"
        everything = {value for values in seen for value in values}
        assert not self.committed - everything, "committed and lost"
        assert not everything - self.committed - self.doubtful, "aborted and read"
        assert not self.cluster.strangers, "a batch came before its partition was in the transaction"


def test_consumers_see_all_of_what_was_committed_and_nothing_else(seed: int) -> None:
    for number in range(LIVES):
        life = Life(random.Random(seed * 1_000_003 + number))
        try:
            life.live()
            life.check()
        except AssertionError as error:
            raise AssertionError(f"life {number} of seed {seed}: {error}") from error


@pytest.mark.parametrize("ends", [State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION])
def test_a_producer_that_ends_in_the_middle_leaves_nothing_to_read(chance: random.Random, ends: State) -> None:
    life = Life(chance)
    life.cluster.is_calm = True
    manager = life.process.manager
    assert life._finished(manager.init_transactions())
    manager.begin_transaction()
    life.process.append(1)
    for _ in range(20):
        life.process.sender.run_once()
    _ = manager.commit() if ends is State.COMMITTING_TRANSACTION else manager.abort()
    life._restart()
    assert life._finished(life.process.manager.init_transactions())
    assert life.cluster.logs[1].entries == [(0, [1]), (1, False)]
