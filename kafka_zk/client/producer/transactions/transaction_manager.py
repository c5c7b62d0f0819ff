"""The state machine of one transactional producer: what the program may do now, and the next step to take.

Role        Pure but for the results it settles. Called by the program's threads and by the sender's, each method as a
            whole under one lock.
Invariants  A record belongs to the transaction in which its `send` began, and that transaction does not end before its
            batch has an outcome.
            No batch is sent to a partition before the coordinator has added it to the transaction.
            A program that was told of a timeout gets the outcome by the same call; another call is refused till then.
            After the sequences of a partition broke, the producer goes on under a new epoch only.
Source      Kafka 3.9 TransactionManager; KIP-98, KIP-360, KIP-447.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from kafka_zk.client.errors import IllegalStateException, KafkaException
from kafka_zk.client.group_offsets import ConsumerGroupMetadata
from kafka_zk.client.producer.errors import TransactionAborted
from kafka_zk.client.producer.idempotence import NO_PRODUCER_ID, NO_STATE, ProducerState
from kafka_zk.client.producer.transactions.partitions import TransactionPartitions
from kafka_zk.client.producer.transactions.pending_call import PendingCall
from kafka_zk.client.producer.transactions.states import COMPLETING, IN_ERROR, WITH_OPEN_TRANSACTION, State, may_follow
from kafka_zk.client.producer.transactions.steps import (
    AddOffsets,
    AddPartitions,
    CommitOffsets,
    EndTransaction,
    InitProducerId,
    Offsets,
    Step,
    TransactionResult,
)
from kafka_zk.client.producer.transactions.verdicts import (
    Verdict,
    error_for_program,
    error_of,
    error_of_partitions,
    verdict_of,
)
from kafka_zk.protocol.errors import (
    ClusterAuthorizationFailed,
    ErrorCode,
    InvalidProducerIdMapping,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)
from kafka_zk.protocol.types import TopicPartition

FATAL_ERRORS: Final = (
    ClusterAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    ProducerFenced,
    UnsupportedVersion,
)
"""Of a record that could not be sent. All others are abortable."""
CLOSED: Final = "The producer closed forcefully"
_LOST_TRACK: Final = (
    "The client hasn't received acknowledgment for some previously sent messages and can no longer retry them. "
)

log = logging.getLogger("org.apache.kafka.clients.producer.internals.TransactionManager")

Method = TypeVar("Method", bound=Callable[..., Any])


def _locked(method: Method) -> Method:
    @functools.wraps(method)
    def run(self: TransactionManager, *arguments: Any, **named: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **named)

    return run  # type: ignore[return-value]


class TransactionManager:
    """Of one transactional.id."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.state = State.UNINITIALIZED
        self.producer = NO_STATE
        self.last_error: Exception | None = None
        self.can_raise_epoch = True
        """Whether the coordinator takes InitProducerId with the current epoch (KIP-360)."""
        self._lock = threading.RLock()
        self._steps: list[Step] = []
        self._pending = PendingCall()
        self._sends_in_progress = 0
        self._partitions = TransactionPartitions()
        self._is_started = False
        self._needs_epoch = False
        self._is_closed = False

    def __repr__(self) -> str:
        return f"{self.transactional_id} {self.state.name} {self.producer} steps={self._steps}"

    # --- the program -------------------------------------------------------------------------------------------------

    @_locked
    def init_transactions(self) -> TransactionResult:
        """Raises what the producer failed with, IllegalStateException."""
        self._raise_error()
        return self._pending.once(State.INITIALIZING, "initTransactions", self._begin_initializing)

    def _begin_initializing(self) -> TransactionResult:
        if self.state is not State.UNINITIALIZED:
            # Under a new epoch it may follow an abort, but that is not the program's business.
            raise self._invalid_move(State.INITIALIZING)
        self._move(State.INITIALIZING)
        log.info("Invoking InitProducerId for the first time in order to acquire a producer ID")
        return self._enqueue(InitProducerId(TransactionResult(InitProducerId.api), raises_epoch=False))

    @_locked
    def begin_transaction(self) -> None:
        """Raises what the producer failed with, IllegalStateException."""
        self._pending.refuse_others("beginTransaction")
        self._raise_error()
        self._move(State.IN_TRANSACTION)

    @_locked
    def send_offsets(self, offsets: Offsets, group: ConsumerGroupMetadata) -> TransactionResult:
        """Raises what the producer failed with, IllegalStateException."""
        self._pending.refuse_others("sendOffsetsToTransaction")
        self._raise_error()
        if self.state is not State.IN_TRANSACTION:
            raise IllegalStateException(
                f"Cannot send offsets if a transaction is not in progress (currentState= {self.state.name})"
            )
        return self._enqueue(AddOffsets(TransactionResult(AddOffsets.api), dict(offsets), group))

    @_locked
    def add_partitions(self, partitions: Iterable[TopicPartition]) -> TransactionResult:
        """For records that others send. Raises what the producer failed with, IllegalStateException."""
        self._pending.refuse_others("addPartitionsToTransaction")
        self._raise_error()
        if self.state is not State.IN_TRANSACTION:
            raise IllegalStateException(
                f"Cannot add partitions if a transaction is not in progress (currentState= {self.state.name})"
            )
        return self._enqueue(AddPartitions(TransactionResult(AddPartitions.api), frozenset(partitions)))

    @_locked
    def commit(self) -> TransactionResult:
        """Raises what the producer failed with, IllegalStateException."""
        return self._pending.once(State.COMMITTING_TRANSACTION, "commitTransaction", self._begin_commit)

    def _begin_commit(self) -> TransactionResult:
        self._raise_error()
        self._move(State.COMMITTING_TRANSACTION)
        return self._enqueue(EndTransaction(TransactionResult(f"{EndTransaction.api}(true)"), committed=True))

    @_locked
    def abort(self) -> TransactionResult:
        """Raises what the producer failed with for good, IllegalStateException."""
        return self._pending.once(State.ABORTING_TRANSACTION, "abortTransaction", self._begin_abort)

    def _begin_abort(self) -> TransactionResult:
        if self.state is not State.ABORTABLE_ERROR:
            self._raise_error()
        if isinstance(self.last_error, InvalidProducerIdMapping):
            self._has_nothing_to_abort()
        self._move(State.ABORTING_TRANSACTION)
        self._partitions.drop_new()
        return self._enqueue(EndTransaction(TransactionResult(f"{EndTransaction.api}(false)"), committed=False))

    def _has_nothing_to_abort(self) -> None:
        """The coordinator does not know this producer id: it forgot the transaction, or another producer has the name.
        InitProducerId tells which.
        """
        self._is_started = False
        self._needs_epoch = True

    @contextmanager
    def sending(self, topic: str, partition: int) -> Iterator[Callable[[int], bool]]:
        """Around the append of a record to a batch; yields what must be told the partition that it was appended to,
        and says whether the sender has to be woken. Raises what the producer failed with, IllegalStateException.
        """
        with self._lock:
            self._check_sending(topic, partition)
            self._sends_in_progress += 1
        try:
            yield lambda chosen: self._add(TopicPartition(topic, chosen))
        finally:
            with self._lock:
                self._sends_in_progress -= 1

    def _check_sending(self, topic: str, partition: int) -> None:
        self._raise_error()
        self._pending.refuse_others("send")
        name = TopicPartition(topic, partition) if partition >= 0 else topic
        if self.producer.producer_id == NO_PRODUCER_ID:
            raise IllegalStateException(
                f"Cannot add partition {name} to transaction before completing a call to initTransactions"
            )
        if self.state is not State.IN_TRANSACTION:
            raise IllegalStateException(f"Cannot add partition {name} to transaction while in state  {self.state.name}")

    @_locked
    def _add(self, partition: TopicPartition) -> bool:
        is_open = self.state in (State.IN_TRANSACTION, State.COMMITTING_TRANSACTION)
        return is_open and self._partitions.want(partition)

    @_locked
    def send_failed(self, error: Exception) -> None:
        """A record could not be sent: there will be no commit. Raises IllegalStateException outside a transaction."""
        if isinstance(error, FATAL_ERRORS):
            self._become_fatal(error)
            return
        if self.can_raise_epoch and self.state is not State.ABORTING_TRANSACTION:
            self._needs_epoch = True
        self._become_abortable(error)

    @_locked
    def batch_failed(self, error: Exception) -> None:
        """As `send_failed`, for a batch."""
        try:
            self.send_failed(error)
        except IllegalStateException as bug:
            self._become_fatal(bug)

    # --- what the sender asks ----------------------------------------------------------------------------------------

    @property
    def fatal_error(self) -> Exception | None:
        return self.last_error if self.state is State.FATAL_ERROR else None

    @property
    def is_completing(self) -> bool:
        """Whether batches must be sent without lingering."""
        return self.state in COMPLETING

    @property
    @_locked
    def unsent_error(self) -> Exception | None:
        """What batches that were never sent fail with, if they must not be sent any more."""
        if self.state is State.ABORTING_TRANSACTION:
            return self.last_error or TransactionAborted()
        return self.last_error if self.state is State.ABORTABLE_ERROR else None

    @_locked
    def may_send(self, partition: TopicPartition) -> bool:
        """Whether the partition was added to the transaction."""
        return self.state is not State.FATAL_ERROR and partition in self._partitions

    @property
    def has_no_partition(self) -> bool:
        """Whether none was added to the transaction yet."""
        return not self._partitions

    @_locked
    def next_step(self, *, has_batches: bool) -> Step | None:
        """Take the next step to be made, None for now. `has_batches`: some have no outcome yet.

        Give it back with `put_back`, or report its outcome with `took` or `failed`.
        """
        while True:
            if self._partitions.has_new:
                self._enqueue(AddPartitions(TransactionResult(AddPartitions.api), self._partitions.take_new()))
            step = min(self._steps, key=lambda each: each.rank, default=None)
            if step is None:
                return None
            if isinstance(step, EndTransaction) and (has_batches or self._sends_in_progress):
                return None
            self._steps.remove(step)
            if self.state in IN_ERROR:
                assert self.last_error is not None, "an error state has its error"
                step.result.fail(self.last_error)
            elif isinstance(step, EndTransaction) and not self._is_started:
                # The coordinator knows nothing of it.
                self._complete(step.result)
            else:
                return step

    @_locked
    def put_back(self, step: Step) -> None:
        """It was not sent, or has to be sent again."""
        self._steps.insert(0, step)

    @_locked
    def end_for_close(self) -> bool:
        """Abort what is open; whether something still is."""
        if self.state in WITH_OPEN_TRANSACTION and self.state not in COMPLETING:
            log.info("Aborting incomplete transaction due to shutdown")
            self._begin_abort()
        return self.state in WITH_OPEN_TRANSACTION

    @_locked
    def close(self) -> None:
        """Nothing is sent any more: whoever waits, or comes later, is told."""
        self._is_closed = True
        self._fail_waiting(KafkaException(CLOSED))

    # --- outcomes of steps -------------------------------------------------------------------------------------------

    @_locked
    def took_producer(self, step: InitProducerId, code: ErrorCode, producer: ProducerState) -> Verdict:
        verdict = verdict_of(step.api, code)
        if verdict is not Verdict.DONE:
            return self._judge(step, verdict, code)
        log.info("ProducerId set to %s with epoch %s", *producer)
        self.producer = producer
        self._needs_epoch = False
        self._move_safely(State.READY)
        step.result.succeed()
        return verdict

    @_locked
    def took_partitions(self, step: AddPartitions, codes: Mapping[TopicPartition, ErrorCode]) -> Verdict:
        verdicts = {code: verdict_of(step.api, code) for code in codes.values()}
        decided = next((c for c in codes.values() if verdicts[c] not in (Verdict.DONE, Verdict.PARTITION)), None)
        if decided is not None:
            return self._judge(step, verdicts[decided], decided)
        is_refused = Verdict.PARTITION in verdicts.values()
        self._partitions.answered(step.partitions, added=not is_refused)
        if is_refused:
            denied = {p.topic for p, code in codes.items() if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED}
            self._fail(step, Verdict.ABORTABLE, error_of_partitions(codes, denied))
            return Verdict.ABORTABLE
        self._is_started = True
        step.result.succeed()
        return Verdict.DONE

    @_locked
    def took_group(self, step: AddOffsets, code: ErrorCode) -> Verdict:
        verdict = verdict_of(step.api, code)
        if verdict is not Verdict.DONE:
            return self._judge(step, verdict, code, step.group.group_id)
        self._is_started = True
        self._enqueue(CommitOffsets(step.result, step.offsets, step.group))
        return verdict

    @_locked
    def took_offsets(self, step: CommitOffsets, codes: Mapping[TopicPartition, ErrorCode]) -> Verdict:
        verdicts = {code: verdict_of(step.api, code) for code in codes.values()}
        passing = (Verdict.DONE, Verdict.RETRY, Verdict.LOOK_UP)
        decided = next((code for code in codes.values() if verdicts[code] not in passing), None)
        if decided is not None:
            return self._judge(step, verdicts[decided], decided, step.group.group_id)
        left = {p: step.offsets[p] for p, code in codes.items() if verdicts[code] is not Verdict.DONE}
        if not left:
            step.result.succeed()
            return Verdict.DONE
        self.put_back(CommitOffsets(step.result, left, step.group))
        return Verdict.LOOK_UP if Verdict.LOOK_UP in verdicts.values() else Verdict.RETRY

    @_locked
    def took_end(self, step: EndTransaction, code: ErrorCode) -> Verdict:
        verdict = verdict_of(step.api, code)
        if verdict is Verdict.NEW_EPOCH and not step.committed and self.can_raise_epoch:
            self._has_nothing_to_abort()
            verdict = Verdict.DONE
        if verdict is not Verdict.DONE:
            return self._judge(step, verdict, code)
        self._complete(step.result)
        return verdict

    @_locked
    def failed(self, step: Step, verdict: Verdict, error: Exception) -> None:
        """A step cannot be made at all."""
        self._fail(step, verdict, error)

    @_locked
    def lost_track(self) -> None:
        """Batches were given up, and nobody knows whether their sequences were taken."""
        if self.can_raise_epoch:
            self._needs_epoch = True
            self._become_abortable(KafkaException(f"{_LOST_TRACK}It is safe to abort the transaction and continue."))
        else:
            self._become_fatal(KafkaException(f"{_LOST_TRACK}It isn't safe to continue."))

    # --- inside ------------------------------------------------------------------------------------------------------

    def _judge(self, step: Step, verdict: Verdict, code: ErrorCode, group_id: str = "") -> Verdict:
        if verdict in (Verdict.RETRY, Verdict.LOOK_UP):
            self.put_back(step)
        else:
            self._fail(step, verdict, error_of(step.api, code, group_id))
        return verdict

    def _fail(self, step: Step, verdict: Verdict, error: Exception) -> None:
        step.result.fail(error)
        if verdict is Verdict.DENIED and self.state is State.INITIALIZING:
            self._move(State.UNINITIALIZED)
        elif verdict is Verdict.NEW_EPOCH and self.can_raise_epoch and self.state is not State.ABORTING_TRANSACTION:
            self._needs_epoch = True
            self._become_abortable(error)
        elif verdict in (Verdict.ABORTABLE, Verdict.MISMATCH) and not _is_abort(step):
            self._become_abortable(error)
        else:
            self._become_fatal(error)

    def _complete(self, result: TransactionResult) -> None:
        """The transaction is over, but for a new epoch where one is needed."""
        self._is_started = False
        self._partitions.clear()
        if self._needs_epoch:
            self._move_safely(State.INITIALIZING)
            log.info("Invoking InitProducerId with current producer ID and epoch %s in order to bump the epoch",
                     java_text(self.producer))  # fmt: skip
            self._enqueue(InitProducerId(result, raises_epoch=True))
        else:
            self._move_safely(State.READY)
            result.succeed()

    def _enqueue(self, step: Step) -> TransactionResult:
        if self._is_closed:
            step.result.fail(KafkaException(CLOSED))
        self._steps.append(step)
        return step.result

    def _raise_error(self) -> None:
        if self.state in IN_ERROR:
            assert self.last_error is not None, "an error state has its error"
            raise error_for_program(self.last_error, self.transactional_id, java_text(self.producer))

    def _become_abortable(self, error: Exception) -> None:
        if self.state is State.ABORTING_TRANSACTION or self.state is State.FATAL_ERROR:
            return
        log.info("Transiting to abortable error state due to %s", error)
        self._move(State.ABORTABLE_ERROR, error)

    def _become_fatal(self, error: Exception) -> None:
        if self.state is State.FATAL_ERROR:
            return
        log.info("Transiting to fatal error state due to %s", error)
        self._move(State.FATAL_ERROR, error)
        self._fail_waiting(error)

    def _fail_waiting(self, error: Exception) -> None:
        self._pending.fail(error)
        for step in self._steps:
            step.result.fail(error)
        self._steps.clear()

    def _move_safely(self, target: State) -> None:
        """After an answer: a move that is a bug of ours must not leave the producer in doubt."""
        try:
            self._move(target)
        except IllegalStateException as error:
            self._become_fatal(error)

    def _move(self, target: State, error: Exception | None = None) -> None:
        """Raises IllegalStateException."""
        if not may_follow(self.state, target):
            raise self._invalid_move(target)
        log.debug("Transition from state %s to %s", self.state.name, target.name)
        self.state, self.last_error = target, error

    def _invalid_move(self, target: State) -> IllegalStateException:
        return IllegalStateException(
            f"TransactionalId {self.transactional_id}: Invalid transition attempted from state {self.state.name} "
            f"to state {target.name}"
        )


def _is_abort(step: Step) -> bool:
    return isinstance(step, EndTransaction) and not step.committed


def java_text(producer: ProducerState) -> str:
    """As Java prints it."""
    return f"(producerId={producer.producer_id}, epoch={producer.epoch})"
