"""Asks transaction coordinators whether a partition belongs to a transaction, before it begins in that partition.

Role        Acts: greenlets of Produce and TxnOffsetCommit wait in `verify`. KIP-890, part 1.
Invariants  One request to a coordinator is in flight; what comes meanwhile goes into the next one.
            A transactional id waits once for each coordinator: who asks again with the same epoch, or a newer one,
            takes the place of the one before, which is told so.
            Every call is answered: at the latest when the connection fails or the broker stops.
            The coordinator of this broker is asked at once, without a detour through the network.
            None is asked that is older than the one whose marker was written last: it was replaced, and may not know.
Differs from Kafka, which asks whom its metadata names, however old that is; see docs/compat.md.
Source      AddPartitionsToTxnManager, ReplicaManager.maybeStartTransactionVerificationForPartitions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

from kafka_zk.clock import Clock
from kafka_zk.log.state.verification import VerificationGuard
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.errors import NetworkError
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, BrokerNotAvailable, ErrorCode, UnsupportedVersion, code_of
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_zk.replication.hosted import HostedPartitions

VERIFY_FROM = 4
"""The first version of AddPartitionsToTxn that only looks."""

_TYPE = "kafka.server:type=AddPartitionsToTxnManager,name="

log = logging.getLogger("kafka.server.AddPartitionsToTxnManager")

TopicAndPartition = tuple[str, int]
Errors = dict[TopicAndPartition, ErrorCode]


class Transaction(NamedTuple):
    """Whose transaction it is."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class Verified(NamedTuple):
    """`guards`: what to append with where the transaction begins; `errors`: partitions to which nothing may go."""

    guards: Mapping[TopicAndPartition, VerificationGuard]
    errors: Mapping[TopicAndPartition, ErrorCode]


NOTHING_TO_VERIFY = Verified({}, {})


class Peers(Protocol):
    """What is used of metadata.peer_channels.PeerChannels."""

    def node(self, broker_id: int) -> object | None: ...

    def send(self, broker_id: int, request: Any, *, lowest_version: int = 0) -> Pending[Any]: ...


class Coordinator(Protocol):
    """TransactionCoordinator.verify_here, for the ids that this broker coordinates."""

    def __call__(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Collection[TopicAndPartition]
    ) -> Mapping[TopicAndPartition, ErrorCode]: ...


class _Question:
    """One transaction that waits for its coordinator. `answer`: the errors of its partitions."""

    __slots__ = ("answer", "asked_ms", "knows_abortable", "partitions", "transaction")

    def __init__(
        self,
        transaction: Transaction,
        partitions: Collection[TopicAndPartition],
        asked_ms: int,
        *,
        knows_abortable: bool,
    ) -> None:
        self.transaction = transaction
        self.partitions = partitions
        self.asked_ms = asked_ms
        self.knows_abortable = knows_abortable
        self.answer: Pending[Errors] = Pending()


Questions = dict[str, _Question]
"""By transactional id."""


class TransactionVerifier:
    """`partition_for(transactional_id)` is its partition of __transaction_state; `is_enabled()` may change."""

    def __init__(
        self,
        *,
        broker_id: int,
        own_coordinator: Coordinator,
        hosted: HostedPartitions,
        peers: Peers,
        metadata_cache: MetadataCache,
        partition_for: Callable[[str], int],
        is_enabled: Callable[[], bool],
        clock: Clock,
        metrics: MetricsRegistry,
    ) -> None:
        self._broker_id = broker_id
        self._own_coordinator = own_coordinator
        self._hosted = hosted
        self._peers = peers
        self._metadata_cache = metadata_cache
        self._partition_for = partition_for
        self._is_enabled = is_enabled
        self._clock = clock
        self._waiting: dict[int, Questions] = {}
        """By coordinator: what its next request will ask."""
        self._asked: set[int] = set()
        """The coordinators with a request in flight."""
        self._failures = metrics.meter(f"{_TYPE}VerificationFailureRate", event_type="failures")
        self._times = metrics.histogram(f"{_TYPE}VerificationTimeMs")

    def verify(
        self, transaction: Transaction, sequences: Mapping[TopicAndPartition, int], *, knows_abortable: bool
    ) -> Verified:
        """Blocks until the coordinator has answered, if one of the partitions has nothing of the transaction yet.

        `sequences`: by partition, the first sequence of what is to be appended there. A client that does not know
        TRANSACTION_ABORTABLE gets INVALID_TXN_STATE instead.
        """
        if not self._is_enabled():
            return NOTHING_TO_VERIFY
        guards: dict[TopicAndPartition, VerificationGuard] = {}
        errors: Errors = {}
        newest_epoch = -1
        for (topic, index), sequence in sequences.items():
            try:
                guard = (
                    self._hosted.get(topic, index)
                    .leader_log()
                    .begin_verification(
                        transaction.producer_id, sequence=sequence, producer_epoch=transaction.producer_epoch
                    )
                )
            except BrokerError as error:
                errors[topic, index] = error.code
            else:
                if guard is not None:
                    guards[topic, index] = guard
                    if guard.coordinator_epoch > newest_epoch:
                        newest_epoch = guard.coordinator_epoch
        if guards:
            errors |= self._ask(transaction, guards.keys(), knows_abortable, newest_epoch)
        return Verified(guards, errors)

    def _ask(
        self,
        transaction: Transaction,
        partitions: Collection[TopicAndPartition],
        knows_abortable: bool,
        newest_epoch: int,
    ) -> Errors:
        """Blocks until there is an answer."""
        coordinator = self._coordinator_of(transaction.transactional_id, newest_epoch)
        if coordinator is None:
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        asked_ms = self._clock.monotonic_ms()
        if coordinator == self._broker_id:
            errors = _errors_of(self._own_coordinator(*transaction, partitions), knows_abortable=knows_abortable)
            self._failures.mark(len(errors))
            self._times.update(self._clock.monotonic_ms() - asked_ms)
            return errors
        question = _Question(transaction, partitions, asked_ms, knows_abortable=knows_abortable)
        if self._takes_its_place(question, coordinator):
            self._send(coordinator)
        return question.answer.result()

    def _coordinator_of(self, transactional_id: str, newest_epoch: int) -> int | None:
        """None where the metadata names nobody, or one older than `newest_epoch`: news of the next one are on their
        way, and it has ended what the older one may take for open."""
        state = self._metadata_cache.partition(TRANSACTION_STATE_TOPIC, self._partition_for(transactional_id))
        if state is None or state.leader_epoch < newest_epoch or self._peers.node(state.leader) is None:
            return None
        return state.leader

    def _takes_its_place(self, question: _Question, coordinator: int) -> bool:
        """Whether the question waits now. One about the same id that still waited is answered: a newer epoch has
        fenced it, and with the same epoch its client has given it up."""
        questions = self._waiting.setdefault(coordinator, {})
        transactional_id, _, epoch = question.transaction
        waiting = questions.get(transactional_id)
        if waiting is not None:
            if waiting.transaction.producer_epoch > epoch:
                self._answered(question, dict.fromkeys(question.partitions, ErrorCode.INVALID_PRODUCER_EPOCH))
                return False
            is_fenced = waiting.transaction.producer_epoch < epoch
            code = ErrorCode.INVALID_PRODUCER_EPOCH if is_fenced else ErrorCode.NETWORK_EXCEPTION
            self._answered(waiting, dict.fromkeys(waiting.partitions, code))
        questions[transactional_id] = question
        return True

    def _send(self, coordinator: int) -> None:
        """Ask all that waits, unless an answer is still to come."""
        if coordinator in self._asked:
            return
        questions = self._waiting.pop(coordinator, {})
        if not questions:
            return
        self._asked.add(coordinator)
        transactions = [_form(question) for question in questions.values()]
        answer = self._peers.send(
            coordinator, AddPartitionsToTxnRequest(transactions=transactions), lowest_version=VERIFY_FROM
        )
        answer.on_complete(partial(self._settle, coordinator, questions))

    def _settle(self, coordinator: int, questions: Questions, settled: Pending[AddPartitionsToTxnResponse]) -> None:
        """Does not switch."""
        self._asked.discard(coordinator)
        for transactional_id, errors in self._outcome(coordinator, questions, settled).items():
            self._answered(questions[transactional_id], errors)
        self._send(coordinator)

    def _outcome(
        self, coordinator: int, questions: Questions, settled: Pending[AddPartitionsToTxnResponse]
    ) -> dict[str, Errors]:
        error = settled.error
        if isinstance(error, UnsupportedVersion):
            # Older than KIP-890: there is nobody to ask.
            log.warning("Node %d cannot verify transactions, so produce requests go on without: %s", coordinator, error)
            return {transactional_id: {} for transactional_id in questions}
        if error is not None:
            if not isinstance(error, NetworkError | BrokerNotAvailable):
                log.error("AddPartitionsToTxnRequest to node %d failed", coordinator, exc_info=error)
            else:
                log.warning("AddPartitionsToTxnRequest to node %d failed: %s", coordinator, error)
            return _for_all(questions, ErrorCode.NETWORK_EXCEPTION)
        response = settled.value
        code = code_of(response.error_code)
        if code is not ErrorCode.NONE:
            log.error("AddPartitionsToTxnRequest to node %d returned with error %s", coordinator, code.name)
            # That this broker may not ask is not the client's concern.
            is_hidden = code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            return _for_all(questions, ErrorCode.INVALID_TXN_STATE if is_hidden else code)
        # A transaction that the answer leaves out is not verified.
        outcome = _for_all(questions, ErrorCode.NETWORK_EXCEPTION)
        for result in response.results_by_transaction:
            question = questions.get(result.transactional_id)
            if question is not None:
                errors = _errors_of(_codes(result), knows_abortable=question.knows_abortable)
                outcome[result.transactional_id] = errors
                self._failures.mark(len(errors))
        return outcome

    def _answered(self, question: _Question, errors: Errors) -> None:
        self._times.update(self._clock.monotonic_ms() - question.asked_ms)
        question.answer.complete(errors)


def _form(question: _Question) -> AddPartitionsToTxnTransaction:
    transactional_id, producer_id, producer_epoch = question.transaction
    indexes: dict[str, list[int]] = {}
    for topic, index in question.partitions:
        indexes.setdefault(topic, []).append(index)
    return AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        verify_only=True,
        topics=[AddPartitionsToTxnTopic(name=topic, partitions=found) for topic, found in indexes.items()],
    )


def _for_all(questions: Questions, code: ErrorCode) -> dict[str, Errors]:
    return {
        transactional_id: dict.fromkeys(question.partitions, code) for transactional_id, question in questions.items()
    }


def _codes(result: AddPartitionsToTxnResult) -> Errors:
    return {
        (topic.name, line.partition_index): code_of(line.partition_error_code)
        for topic in result.topic_results
        for line in topic.results_by_partition
    }


def _errors_of(codes: Mapping[TopicAndPartition, ErrorCode], *, knows_abortable: bool) -> Errors:
    """As producers know them: they expect INVALID_PRODUCER_EPOCH from a partition, and old ones no newer codes."""
    errors: Errors = {}
    for partition, code in codes.items():
        if code is ErrorCode.PRODUCER_FENCED:
            errors[partition] = ErrorCode.INVALID_PRODUCER_EPOCH
        elif code is ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable:
            errors[partition] = ErrorCode.INVALID_TXN_STATE
        elif code is not ErrorCode.NONE:
            errors[partition] = code
    return errors
