"""Producers with acks=all and with acks=1, and consumers, of a simulated cluster.

A producer with acks=all is idempotent and does what Apache's does: one batch after the other, each again and again
until it is answered, at whoever some broker's metadata calls the leader. Brokers of before answer, too, where they are
asked. One with acks=1 sends each batch once and is told nothing that must last: it leaves ends in logs that no other
replica has, where the next leader writes something else.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gevent
from gevent.event import Event

from kafka_zk.clock import SimClock
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, batches, build_batch, decode_records
from tests.simulation.whole_ledger import Observer
from tests.simulation.whole_network import Connection, Network
from tests.unit.replication.broker import fetch_request, produce_request

ACKS_TIMEOUT_MS = 1_500
ASTRAY = 0.1
"""How often a client asks a broker that nobody named."""
LOST = 0.04
"""How often a client's connection ends under a request."""
MOST_RECORDS = 3
ASKED_AGAIN = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    )
)


class Client:
    def __init__(self, client_id: int, partition: TopicPartition, network: Network, clock: SimClock) -> None:
        self.partition = partition
        self.network = network
        self.chance: random.Random = network.chance
        self.clock = clock
        self._id = client_id
        self._connections: dict[int, Connection] = {}

    def leader(self) -> int:
        """As some broker's metadata has it; now and then anybody. -1: nobody knows."""
        if not self.network.members:
            return -1
        asked = self.chance.choice(sorted(self.network.members))
        if self.chance.random() < ASTRAY:
            return asked
        known = self.network.members[asked].broker.cache.partition(*self.partition)
        return -1 if known is None else known.leader

    def ask(self, broker_id: int, request: Any, api_version: int) -> Any:
        """Blocks. The answer's only partition; None: nobody answers."""
        connection = self._connections.get(broker_id)
        try:
            if connection is None or connection.is_closed:
                connection = self._connections[broker_id] = self.network.connect(broker_id, self._id, self.clock)
            if self.network.is_troubled and self.chance.random() < LOST:
                gevent.spawn(self._lose, connection)
            response = connection.send(request, api_version)
        except NetworkError:
            return None
        topic = response.responses[0]
        return (topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions)[0]

    def _lose(self, connection: Connection) -> None:
        """Blocks."""
        for _ in range(self.chance.randrange(12)):
            gevent.sleep(0)
        connection.close()

    def pause(self) -> None:
        """Blocks."""
        over = Event()
        self.clock.call_at(self.clock.monotonic_ms() + self.chance.choice((1, 20, 60)), over.set)
        over.wait()


class Producer(Client):
    """`goes_on()`: whether it may begin another batch. `may_lose`: what it was told may be lost, and it begins anew."""

    def __init__(self, *client: Any, observer: Observer, goes_on: Callable[[], bool], may_lose: bool) -> None:
        super().__init__(*client)
        self._observer = observer
        self._goes_on = goes_on
        self._may_lose = may_lose
        self._producer_id = 1_000 * self._id
        self._sequence = 0
        self._sent = 0
        self.acknowledged_count = 0

    def live(self) -> None:
        """Blocks."""
        while self._goes_on():
            values = [b"%d.%d" % (self._id, self._sent + at) for at in range(self.chance.randrange(1, MOST_RECORDS))]
            self._sent += len(values)
            self._produce(values)
            self.pause()

    def _produce(self, values: list[bytes]) -> None:
        """Blocks until a leader says that they are there. Raises AssertionError."""
        now_ms = self.clock.wall_ms()  # Leaders forget producers whose records are a day old.
        records = [Record(at, now_ms, b"k", value + bytes(40)) for at, value in enumerate(values)]
        batch = build_batch(records, producer_id=self._producer_id, producer_epoch=0, base_sequence=self._sequence)
        while True:
            request = produce_request(
                memoryview(bytearray(batch)),
                topic=self.partition.topic,
                index=self.partition.partition,
                acks=-1,
                timeout_ms=ACKS_TIMEOUT_MS,
            )
            data = self.ask(self.leader(), request, 9)
            code = ErrorCode.NETWORK_EXCEPTION if data is None else ErrorCode(data.error_code)
            if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                break
            if data is not None and code not in ASKED_AGAIN:
                is_behind = code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
                assert is_behind, f"{self.partition}: {code.name} for sequence {self._sequence} of {self._id}"
                # A leader of before does not know what its successor acknowledged.
                if not self._may_lose:
                    self.pause()
                    continue
                self._producer_id += 1
                self._sequence = 0
                return
            self.pause()
        self._sequence += len(values)
        self.acknowledged_count += len(values)
        if code is ErrorCode.NONE and data.base_offset >= 0:
            for at, value in enumerate(values):
                self._observer.acknowledged(self.partition, data.base_offset + at, value)


class CarelessProducer(Client):
    """acks=1, without an id. `goes_on()`: whether it may send another batch."""

    def __init__(self, *client: Any, goes_on: Callable[[], bool], **_: Any) -> None:
        super().__init__(*client)
        self._goes_on = goes_on
        self._sent = 0

    def live(self) -> None:
        """Blocks."""
        while self._goes_on():
            record = Record(0, self.clock.wall_ms(), b"k", b"%d.%d" % (self._id, self._sent) + bytes(40))
            self._sent += 1
            request = produce_request(
                memoryview(bytearray(build_batch([record]))),
                topic=self.partition.topic,
                index=self.partition.partition,
                acks=1,
            )
            self.ask(self.leader(), request, 9)
            self.pause()


class Reader(Client):
    """Reads from the beginning to the end, and on. `may_lose`: what it has read may be gone, and it begins anew."""

    def __init__(self, *client: Any, observer: Observer, may_lose: bool) -> None:
        super().__init__(*client)
        self._observer = observer
        self._may_lose = may_lose
        self.position = 0

    def live(self) -> None:
        """Blocks, for ever."""
        while True:
            request = fetch_request(
                self.position, topic=self.partition.topic, index=self.partition.partition, max_wait_ms=200
            )
            data = self.ask(self.leader(), request, 11)
            if data is None or data.error_code != ErrorCode.NONE:
                if data is not None and data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._may_lose:
                    self.position = 0
                self.pause()
                continue
            for batch in batches(bytes(data.records or b"")):
                for record in decode_records(batch):
                    if record.offset >= self.position:
                        assert record.value is not None
                        self._observer.consumed(self.partition, record.offset, bytes(record.value).rstrip(b"\0"))
                        self.position = record.offset + 1
