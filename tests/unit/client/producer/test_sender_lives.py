"""Lives of the sender before a broker that checks sequences: splits, lost answers, refusals, records given up.

What the program appended is numbered; the broker's log must hold no number twice and none before a smaller one, and all
that were acknowledged. A batch is out of order at most a few times in a row.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Any, cast

import pytest

from kafka_zk.client.client_metrics import ClientMetrics
from kafka_zk.client.config import ClientConfig
from kafka_zk.client.errors import DisconnectException
from kafka_zk.client.producer.producer_metrics import ProducerMetrics
from kafka_zk.client.producer.record_accumulator import RecordAccumulator
from kafka_zk.client.producer.sender import Sender
from kafka_zk.client.producer.settings import producer_settings
from kafka_zk.clock import SimClock
from kafka_zk.config.tables.producer import PRODUCER_KEYS
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_zk.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_zk.record.batch import batches, increment_sequence
from kafka_zk.record.record import decode_records

LIVES = 40
TURNS = 60
DELIVERY_MS = 400
LONGEST_OUT_OF_ORDER = 3
"""Answers OUT_OF_ORDER to the same batch in a row."""


def first_value(request: Any) -> int:
    (batch,) = batches(request.topic_data[0].partition_data[0].records)
    return int(bytes(decode_records(batch)[0].value or b""))


def error_of(answer: ProduceResponse) -> int:
    return answer.responses[0].partition_responses[0].error_code


class CheckingBroker:
    """One partition, and one producer's sequences as Apache 3.9 checks them (ProducerAppendInfo.checkSequence)."""

    def __init__(self, chance: random.Random) -> None:
        self.values: list[int] = []
        self.is_calm = False
        self.out_of_order: Counter[int] = Counter()
        self.out_of_order_count = 0
        self.largest_count = chance.choice([1, 2, 3, 100])
        self._chance = chance
        self._state: tuple[int, int] | None = None
        self._recent: deque[tuple[int, int, int, int]] = deque(maxlen=5)

    def take(self, request: Any) -> ProduceResponse:
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        (batch,) = batches(data.records)
        values = [int(bytes(record.value or b"")) for record in decode_records(batch)]
        error, offset = self._append(batch.header, values)
        answer = PartitionProduceResponse(index=data.index, error_code=error, base_offset=offset)
        return ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[answer])])

    def heard(self, request: Any, answer: ProduceResponse) -> None:
        """Of an answer that is lost the sender learns nothing, and does the same again."""
        first = first_value(request)
        if error_of(answer) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.out_of_order[first] += 1
            self.out_of_order_count += 1
        else:
            self.out_of_order.pop(first, None)

    def _append(self, header: Any, values: list[int]) -> tuple[ErrorCode, int]:
        fate = 1.0 if self.is_calm else self._chance.random()
        if fate < 0.1:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
        if len(values) > self.largest_count:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        if any(value % 17 == 0 for value in values):
            return ErrorCode.INVALID_RECORD, -1
        first, epoch = header.base_sequence, header.producer_epoch
        last = increment_sequence(first, len(values) - 1)
        for known_epoch, known_first, known_last, offset in self._recent:
            if (known_epoch, known_first, known_last) == (epoch, first, last):
                return ErrorCode.NONE, offset
        if self._state is not None:
            known_epoch, last_sequence = self._state
            if epoch < known_epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH, -1
            if first != (0 if epoch > known_epoch else increment_sequence(last_sequence, 1)):
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        offset = len(self.values)
        self.values += values
        self._state = epoch, last
        self._recent.append((epoch, first, last, offset))
        return (ErrorCode.REQUEST_TIMED_OUT, -1) if fate > 0.9 and not self.is_calm else (ErrorCode.NONE, offset)


class Network:
    """What the sender uses of NetworkClient: one connection that answers in order, and is cut now and then."""

    def __init__(self, broker: CheckingBroker, clock: SimClock, chance: random.Random) -> None:
        self.broker = broker
        self._clock = clock
        self._chance = chance
        self._pending: deque[tuple[Any, Any, Any]] = deque()
        self.is_cut_next = False
        self.leaves_next = False

    def least_loaded_node(self) -> int:
        return 1

    def ready(self, _: int) -> bool:
        return len(self._pending) < 5 and (self.broker.is_calm or self._chance.random() < 0.8)

    def retry_wait_ms(self, _: int) -> int:
        return 1

    def wakeup(self) -> None:
        """Nobody waits."""

    def send(self, _node: int, request: Any, _response: Any, build: Any, take: Any, fail: Any) -> None:
        if request.api_key == 22:
            take(InitProducerIdResponse(producer_id=7, producer_epoch=0))
        else:
            self._pending.append((build(9), take, fail))

    def poll(self, _: float) -> None:
        is_calm = self.broker.is_calm
        self._clock.advance(5 if is_calm else self._chance.choice([0, 1, 10, 100]))
        if not is_calm and self._chance.random() < 0.1:
            self._cut(self._chance.randint(0, len(self._pending)))
        if self.is_cut_next:
            self.is_cut_next = False
            self._cut(len(self._pending))
        for _turn in range(len(self._pending) if is_calm else self._chance.randrange(3)):
            if self._pending:
                request, take, _fail = self._pending.popleft()
                answer = self.broker.take(request)
                if self.leaves_next:
                    # The leader went while the replicas were waited for; the answer has the offset all the same.
                    answer.responses[0].partition_responses[0].error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                    self.leaves_next = False
                self.broker.heard(request, answer)
                take(answer)

    def _cut(self, taken_count: int) -> None:
        """The first requests reached the broker; no answer comes back."""
        cut_off = list(self._pending)
        self._pending.clear()
        for request, _take, _fail in cut_off[:taken_count]:
            self.broker.take(request)
        for _request, _take, fail in cut_off:
            fail(DisconnectException("cut"))


class Leader:
    """Metadata that knows one leader."""

    def __init__(self) -> None:
        self.snapshot = self

    def leader_of(self, _: Any) -> int:
        return 1

    def request_update(self) -> None:
        """It never changes."""


class Life:
    """A producer's sender and what became of its records."""

    def __init__(self, chance: random.Random, batch_size: int | None = None) -> None:
        self.chance = chance
        self.clock = SimClock()
        self.broker = CheckingBroker(chance)
        given = {
            "key.serializer": "VoidSerializer",
            "value.serializer": "ByteArraySerializer",
            "batch.size": batch_size or chance.choice([80, 100, 200]),
            "linger.ms": 0,
            "retry.backoff.ms": 0,
            "retry.backoff.max.ms": 0,
            "request.timeout.ms": 100,
            "delivery.timeout.ms": DELIVERY_MS,
            "partitioner.adaptive.partitioning.enable": False,
        }
        settings = producer_settings(ClientConfig(PRODUCER_KEYS, given))
        self.network = network = cast(Any, Network(self.broker, self.clock, chance))
        self.accumulator = RecordAccumulator(settings, network.wakeup)
        metrics = ProducerMetrics(ClientMetrics("c", num_samples=2, window_ms=30_000))
        self.sender = Sender(
            settings, self.accumulator, network, cast(Any, Leader()), metrics, cast(Any, self.clock), "test"
        )
        self.acknowledged: list[int] = []
        self.count = 0

    def append(self) -> None:
        value = self.count = self.count + 1

        def told(_: Any, error: Exception | None) -> None:
            if error is None:
                self.acknowledged.append(value)

        topic = self.accumulator.topic_queues("t")
        self.accumulator.append(topic, 0, 0, None, b"%d" % value, (), told, 1 << 16, 0.0)
        batch = topic.queue(0).batches[-1]
        if batch.record_count == 1:
            # The accumulator takes the machine's time.
            batch.created_ms = self.clock.monotonic_ms()

    def turn(self) -> None:
        self.sender.run_once()
        worst = max(self.broker.out_of_order.values(), default=0)
        assert worst <= LONGEST_OUT_OF_ORDER, (worst, self.sender.idempotence)

    def live(self) -> None:
        for _ in range(TURNS):
            for _ in range(self.chance.choice([0, 0, 1, 2, 6])):
                self.append()
            self.turn()
        self.broker.is_calm = True
        for _ in range(2 * DELIVERY_MS):
            self.turn()
            if not self.accumulator.incomplete:
                break
        while self.count % 17 in (15, 16):
            self.count += 1
        self.append()
        for _ in range(20):
            self.turn()
        assert self.acknowledged[-1] == self.count, "the last record does not arrive"

    def check(self) -> None:
        values = self.broker.values
        assert values == sorted(set(values)), "twice or out of order"
        assert not set(self.acknowledged) - set(values), "acknowledged and lost"


def test_acknowledged_records_are_there_once_and_in_order_whatever_is_given_up(seed: int) -> None:
    for number in range(LIVES):
        life = Life(random.Random(seed * 1_000_003 + number))
        try:
            life.live()
            life.check()
        except AssertionError as error:
            raise AssertionError(f"life {number} of seed {seed}: {error}") from error


def test_a_part_of_a_split_batch_whose_time_is_over_before_it_is_sent_leaves_no_gap(chance: random.Random) -> None:
    life = Life(chance, batch_size=200)
    life.broker.is_calm = True
    life.broker.largest_count = 2
    for _ in range(4):
        life.append()
    life.turn()
    life.turn()
    assert life.acknowledged == [1, 2]
    life.clock.advance(DELIVERY_MS)
    life.append()
    life.turn()
    life.turn()
    assert life.acknowledged == [1, 2, 5]
    assert life.broker.out_of_order_count == 0


@pytest.mark.parametrize("fault", ["is_cut_next", "leaves_next"])
def test_a_batch_that_may_be_there_already_is_not_split(chance: random.Random, fault: str) -> None:
    life = Life(chance, batch_size=200)
    life.broker.is_calm = True
    life.broker.largest_count = 100
    for _ in range(4):
        life.append()
    setattr(life.network, fault, True)
    life.turn()
    # Somebody lowers max.message.bytes.
    life.broker.largest_count = 2
    for _ in range(8):
        life.turn()
    assert life.broker.values == [1, 2, 3, 4]
    life.append()
    for _ in range(8):
        life.turn()
    assert life.broker.values == [1, 2, 3, 4, 5]
