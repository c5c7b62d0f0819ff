"""Transactional producers and read_committed readers of a simulated cluster, and the promises that they were given.

A producer does what Apache's does: it waits for each answer, asks again where the error may pass, aborts and asks for
its next epoch where it does not know what became of a batch, and gives up where it was fenced. Several of one id may
live at once: whoever began last is the one that counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gevent

from kafka_zk.client.consumer.fetched_partition import AbortedTransaction, FetchedPartition
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_zk.protocol.messages.end_txn import EndTxnRequest
from kafka_zk.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_zk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Record, build_batch
from tests.simulation.replication_cluster import NOBODY
from tests.simulation.transaction_cluster import DATA, STATE, LateWire, TransactionCluster
from tests.unit.replication.broker import fetch_request

TIMEOUT_MS = 8_000
"""Of a transaction."""
ACKS_TIMEOUT_MS = 4_000
PAUSE_TURNS = 2
"""Between two attempts, at least."""
SLOW, LONG_TURNS = 0.15, 400
"""How often a producer leaves its transaction open for long."""
FETCHED_BYTES = 1_500
"""A few batches: readers stand in the middle of transactions."""

PASSING = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
NOT_STORED = frozenset((ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
"""With these a coordinator has decided nothing."""
FATAL = frozenset(
    (
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
    )
)
"""Of the coordinator."""


class GaveUp(Exception):
    """A producer that goes no further: fenced, or something like it."""


@dataclass(eq=False)
class Sent:
    """One record, in the order of its partition and transaction."""

    value: bytes
    partition: TopicPartition
    offset: int | None = None
    """Where a leader said that it is, once it is replicated."""


@dataclass(eq=False)
class Transaction:
    """What its producer knows of it."""

    name: str
    transactional_id: str
    who: ProducerIdAndEpoch
    sent: list[Sent] = field(default_factory=list)
    asked: bool | None = None
    """The outcome that was asked for."""
    is_answered: bool = False
    may_have_ended: bool = False
    """An attempt to end it was lost: what it asked for may be the outcome, whatever a later one was answered."""
    is_refused: bool = False
    """It has not the outcome that was asked for: no attempt was lost, and the last one refused."""

    @property
    def is_committed(self) -> bool:
        return self.asked is True and self.is_answered

    @property
    def may_be_committed(self) -> bool:
        return self.asked is True and not self.is_refused

    def __repr__(self) -> str:
        asked = {None: "open", True: "commit", False: "abort"}[self.asked]
        state = "answered" if self.is_answered else "refused" if self.is_refused else "unsure"
        places = [f"{each.partition}@{each.offset}" for each in self.sent]
        return f"{self.name} of {self.transactional_id} {tuple(self.who)}: {asked} {state} {places}"


class Ledger:
    """What all clients were told, and what was read."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.of_value: dict[bytes, tuple[Transaction, Sent]] = {}
        self.newest: dict[str, ProducerIdAndEpoch] = {}
        """By id: who began last, and was told so."""
        self.given: set[ProducerIdAndEpoch] = set()
        self.refusals = 0

    def begin(self, transaction: Transaction) -> None:
        self.transactions.append(transaction)

    def send(self, transaction: Transaction, sent: Sent) -> None:
        transaction.sent.append(sent)
        self.of_value[sent.value] = transaction, sent

    def is_fenced(self, transactional_id: str, who: ProducerIdAndEpoch) -> bool:
        return self.newest.get(transactional_id, who) != who

    def was_given(self, transactional_id: str, who: ProducerIdAndEpoch) -> None:
        """Raises AssertionError for an epoch that somebody has."""
        assert who not in self.given, f"{who} has two producers"
        self.given.add(who)
        newest = self.newest.get(transactional_id)
        # Of two that begin at once the later answer may be that of the earlier one: it is fenced when it learns it.
        if newest is None or newest.producer_id != who.producer_id or who.epoch > newest.epoch:
            self.newest[transactional_id] = who

    def is_visible(self, value: bytes) -> None:
        """A reader of committed records got this. Raises AssertionError for one that it must not see."""
        transaction, _ = self.of_value[value]
        assert transaction.may_be_committed, f"a reader sees {value!r} of {transaction}"


class Client:
    """What a client knows of the cluster: where it takes leaders to be, which may be where they were."""

    def __init__(self, cluster: TransactionCluster) -> None:
        self.cluster = cluster
        self.chance = cluster.chance
        self._id = cluster.new_client_id()
        self._wires: dict[int, LateWire] = {}
        self._known: dict[TopicPartition, tuple[int, int]] = {}

    def leader_of(self, partition: TopicPartition) -> tuple[int, int]:
        """Broker and leader epoch: now and then those of before. Never older than what this client knew."""
        controller = self.cluster.controllers[partition]
        known = self._known.get(partition)
        if known is None or known[0] == NOBODY or self.chance.random() < 0.7:
            known = self._known[partition] = controller.leader, controller.leader_epoch
        return known

    def ask(self, broker_id: int, request: Any, api_version: int) -> Any:
        """Blocks. The answer of a broker. Raises NetworkError, BrokerError."""
        if broker_id == NOBODY:
            raise NetworkError("nobody leads")
        wire = self._wires.get(broker_id)
        if wire is None or wire.is_closed:
            wire = self._wires[broker_id] = self.cluster.connect(broker_id, self._id)
        return wire.send(request, api_version)

    def pause(self, most_turns: int = 10) -> None:
        for _ in range(PAUSE_TURNS + self.chance.randrange(most_turns)):
            gevent.sleep(0)


class Producer(Client):
    """One life of a transactional producer. `goes_on()`: whether it may begin another transaction."""

    def __init__(
        self, cluster: TransactionCluster, ledger: Ledger, transactional_id: str, name: str, goes_on: Callable[[], bool]
    ) -> None:
        super().__init__(cluster)
        self._ledger = ledger
        self._id_of_transactions = transactional_id
        self._name = name
        self._goes_on = goes_on
        self._who: ProducerIdAndEpoch | None = None
        self._sequences: dict[TopicPartition, int] = {}
        self._count = 0
        self._is_unsure = False
        """Something about a batch is not known: the next transaction needs another epoch."""
        self.gave_up = ""

    def live(self) -> None:
        """Blocks."""
        try:
            self.begin(None)
            while self._goes_on():
                self._run_transaction()
                self.pause()
        except GaveUp as why:
            self.gave_up = str(why)

    @property
    def who(self) -> ProducerIdAndEpoch:
        assert self._who is not None
        return self._who

    # --- requests ----------------------------------------------------------------------------------------------------

    def begin(self, was: ProducerIdAndEpoch | None) -> None:
        """Blocks. Get an epoch, the next one for whom it `was`."""
        request = InitProducerIdRequest(
            transactional_id=self._id_of_transactions,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=-1 if was is None else was.producer_id,
            producer_epoch=-1 if was is None else was.epoch,
        )
        while True:
            was_fenced = was is not None and self._ledger.is_fenced(self._id_of_transactions, was)
            answer = self._try(STATE, request, 4)
            code = ErrorCode.NETWORK_EXCEPTION if answer is None else ErrorCode(answer.error_code)
            if code is ErrorCode.NONE:
                break
            if answer is not None and code not in PASSING:
                raise GaveUp(f"to begin: {code.name}")
            self.pause()
        assert not was_fenced, f"{was} of {self._id_of_transactions} was fenced, and begins again"
        self._who = ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
        self._ledger.was_given(self._id_of_transactions, self._who)
        self._sequences.clear()
        self._is_unsure = False

    def _run_transaction(self) -> None:
        """Blocks. Raises GaveUp."""
        self._count += 1
        transaction = Transaction(f"{self._name}.{self._count}", self._id_of_transactions, self.who)
        self._ledger.begin(transaction)
        is_begun, is_whole = False, True
        partitions = self.chance.sample(DATA, self.chance.choice((1, 2, 2)))
        for partition in partitions:
            added = self._add(transaction, partition)
            is_begun |= added
            is_whole = is_whole and added and self._produce_some(transaction, partition)
            if not is_whole:
                break
        self.pause(LONG_TURNS if self.chance.random() < SLOW else 10)
        self._end(transaction, commit=is_whole and self.chance.random() < 0.7, is_begun=is_begun)
        if self._is_unsure:
            self.begin(self.who)

    def _add(self, transaction: Transaction, partition: TopicPartition) -> bool:
        """Blocks. Whether the partition is part of the transaction. Raises GaveUp."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id_of_transactions,
            v3_and_below_producer_id=self.who.producer_id,
            v3_and_below_producer_epoch=self.who.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.partition])],
        )
        while True:
            was_fenced = self._ledger.is_fenced(self._id_of_transactions, self.who)
            answer = self._try(STATE, request, 3)
            if answer is None:
                self.pause()
                continue
            code = ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
            if code is ErrorCode.NONE:
                assert not was_fenced, f"{self.who} of {self._id_of_transactions} was fenced, and adds {partition}"
                return True
            if code not in PASSING:
                self._ledger.refusals += 1
                raise GaveUp(f"to add {partition}: {code.name}")
            self.pause()

    def _produce_some(self, transaction: Transaction, partition: TopicPartition) -> bool:
        """Blocks. Whether all that was sent is there."""
        for number in range(self.chance.randrange(1, 3)):
            values = [
                b"%s/%d/%d.%d" % (transaction.name.encode(), partition.partition, number, each)
                for each in range(self.chance.randrange(1, 3))
            ]
            sent = [Sent(value, partition) for value in values]
            for each in sent:
                self._ledger.send(transaction, each)
            if not self._produce(partition, sent):
                # Whether it is there, or comes yet, nobody knows.
                self._is_unsure = True
                return False
        return True

    def _produce(self, partition: TopicPartition, sent: list[Sent]) -> bool:
        """Blocks. Whether the batch is there."""
        first = self._sequences.get(partition, 0)
        batch = build_batch(
            [Record(at, 1_000, b"k", each.value + bytes(60)) for at, each in enumerate(sent)],
            producer_id=self.who.producer_id,
            producer_epoch=self.who.epoch,
            base_sequence=first,
            transactional=True,
        )
        was_fenced = self._ledger.is_fenced(self._id_of_transactions, self.who)
        for _ in range(self.chance.choice((1, 4, 30, 30))):
            request = ProduceRequest(
                transactional_id=self._id_of_transactions,
                acks=-1,
                timeout_ms=ACKS_TIMEOUT_MS,
                topic_data=[
                    TopicProduceData(
                        name=partition.topic,
                        partition_data=[
                            PartitionProduceData(index=partition.partition, records=memoryview(bytearray(batch)))
                        ],
                    )
                ],
            )
            answer = self._try(partition, request, 11)
            if answer is not None:
                data = answer.responses[0].partition_responses[0]
                code = ErrorCode(data.error_code)
                if code is ErrorCode.NONE:
                    assert not was_fenced, f"{self.who} of {self._id_of_transactions} was fenced, and wrote {sent}"
                    self._sequences[partition] = first + len(sent)
                    for at, each in enumerate(sent):
                        each.offset = data.base_offset + at
                    return True
                if code not in PASSING:
                    self._ledger.refusals += 1
                    return False
            self.pause()
        return False

    def _end(self, transaction: Transaction, *, commit: bool, is_begun: bool) -> None:
        """Blocks. Raises GaveUp."""
        transaction.asked = commit
        request = EndTxnRequest(
            transactional_id=self._id_of_transactions,
            producer_id=self.who.producer_id,
            producer_epoch=self.who.epoch,
            committed=commit,
        )
        while True:
            was_fenced = self._ledger.is_fenced(self._id_of_transactions, self.who)
            was_lost = transaction.may_have_ended
            transaction.may_have_ended = True
            answer = self._try(STATE, request, 3)
            code = ErrorCode.NETWORK_EXCEPTION if answer is None else ErrorCode(answer.error_code)
            if code is ErrorCode.NONE:
                assert not was_fenced, f"{self.who} of {self._id_of_transactions} was fenced, and ends {transaction}"
                transaction.is_answered = True
                return
            if code not in NOT_STORED and code not in FATAL:
                # A coordinator stored it, and cannot tell whether that counts.
                was_lost = True
            transaction.may_have_ended = was_lost
            if answer is not None and code not in PASSING:
                assert code is not ErrorCode.INVALID_TXN_STATE or not is_begun, f"no outcome for {transaction}"
                transaction.is_refused = not transaction.may_have_ended
                self._ledger.refusals += 1
                raise GaveUp(f"to end {transaction}: {code.name}")
            self.pause()

    def _try(self, partition: TopicPartition, request: Any, api_version: int) -> Any:
        """Blocks. None where nobody answers."""
        try:
            return self.ask(self.leader_of(partition)[0], request, api_version)
        except NetworkError:
            return None
        except BrokerError as error:
            assert error.code in PASSING, f"{request} was answered {error!r}"
            return None


class Reader(Client):
    """Reads a partition's committed records from its start, for as long as it lives."""

    def __init__(self, cluster: TransactionCluster, ledger: Ledger, partition: TopicPartition) -> None:
        super().__init__(cluster)
        self._ledger = ledger
        self.partition = partition
        self.position = 0
        self.last_stable_offset = 0
        """The highest one that it was told."""
        self.values: list[bytes] = []
        self.offsets: dict[int, bytes] = {}

    def live(self) -> None:
        """Blocks."""
        while True:
            self.read()
            self.pause(10)

    def read(self) -> None:
        """Blocks. One fetch."""
        broker_id, leader_epoch = self.leader_of(self.partition)
        request = fetch_request(
            self.position,
            topic=self.partition.topic,
            index=self.partition.partition,
            partition_max_bytes=FETCHED_BYTES,
            isolation=1,
            leader_epoch=leader_epoch,
        )
        try:
            answer = self.ask(broker_id, request, 12)
        except (NetworkError, BrokerError):
            return
        data = answer.responses[0].partitions[0]
        code = ErrorCode(data.error_code)
        assert code is not ErrorCode.OFFSET_OUT_OF_RANGE, f"{self.position} of {self.partition} is gone"
        if code is not ErrorCode.NONE:
            return
        self.last_stable_offset = max(self.last_stable_offset, data.last_stable_offset)
        aborted = [AbortedTransaction(each.first_offset, each.producer_id) for each in data.aborted_transactions or ()]
        fetched = FetchedPartition(self.partition, data.records or b"", self.position, aborted=aborted)
        for record in fetched.take(1_000):
            value = bytes(record.value or b"").rstrip(b"\0")
            assert record.offset < data.last_stable_offset, f"{value!r} is not stable"
            self._ledger.is_visible(value)
            assert value not in self.values, f"{value!r} is there twice"
            self.values.append(value)
            self.offsets[record.offset] = value
        self.position = max(self.position, fetched.next_offset)
