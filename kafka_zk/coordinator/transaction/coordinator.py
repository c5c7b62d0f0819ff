"""TransactionCoordinator: serves the transaction APIs for the transactional ids that this broker coordinates.

Role        Acts: finds the transaction, decides, has the decision stored, and then answers. An end that is stored is
            answered before its markers are written.
Invariants  Every request is checked against the partition's ownership first; every Pending handed out is settled.
            What was decided is finished, whatever happens to its markers or to the log meanwhile: by this broker, or by
            the next coordinator.
            A success is answered only after a record was stored for it: who was replaced unawares answers none.
Differs from Kafka, which answers from memory what was done already; see docs/compat.md.
Source      Kafka 3.9 TransactionCoordinator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafka_zk.clock import Clock, Timer
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.coordinator.leadership import TopicLeadership
from kafka_zk.coordinator.placement import Placement, is_storable
from kafka_zk.coordinator.state_log import StateLog
from kafka_zk.coordinator.tasks import Tasks
from kafka_zk.coordinator.transaction.awaited_ends import AwaitedEnds
from kafka_zk.coordinator.transaction.decisions.requests import (
    Need,
    ProducerIdAndEpoch,
    add_partitions,
    end_transaction,
    finish_transaction,
    init_producer_id,
    is_timed_out,
    verify_partitions,
)
from kafka_zk.coordinator.transaction.decisions.states import ENDING, TransactionState
from kafka_zk.coordinator.transaction.decisions.transaction import NO_EPOCH, NO_PRODUCER_ID, Change, Transaction
from kafka_zk.coordinator.transaction.ending import Ending
from kafka_zk.coordinator.transaction.manager import Done, TransactionManager, log_lines
from kafka_zk.coordinator.transaction.markers import Gone, Markers, MarkerSender, Writer
from kafka_zk.coordinator.transaction.metrics import loading_times, register_queues
from kafka_zk.giving_way import in_slices
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.compression import Codec

if TYPE_CHECKING:
    from kafka_zk.coordinator.transaction.producer_ids import ProducerIdManager
    from kafka_zk.metadata.cache import MetadataCache
    from kafka_zk.metadata.peer_channels import PeerChannels
    from kafka_zk.replication.manager import ReplicaManager

ALL_REPLICAS = -1
STORE_AGAIN_MS = 100
"""Until the last record of a transaction, which could not be stored, is tried again."""

COMPLETIONS = "TransactionMarkerChannelManager"
QUESTIONS = "TransactionMarkerChannelManager-deleted-partitions"

log = logging.getLogger("kafka.coordinator.transaction.TransactionCoordinator")


class Initialized(NamedTuple):
    """The answer to InitProducerId; without an id if there was an error."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


class TransactionCoordinator:
    """Serves once `startup` has run and a partition is loaded.

    `state_partition_count()` gives the partitions of __transaction_state in ZooKeeper, None if the topic does not exist
    yet; it may block and is asked once. `gone_partitions(partitions)` gives those that ZooKeeper no longer has, or is
    to delete; it blocks and raises ZkError.
    """

    def __init__(
        self,
        *,
        config: BrokerConfig,
        clock: Clock,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        metrics: MetricsRegistry,
        peers: PeerChannels,
        broker_id: int,
        marker_writer: Writer,
        producer_ids: ProducerIdManager,
        state_partition_count: Callable[[], int | None],
        gone_partitions: Gone,
    ) -> None:
        self._name = f"[TransactionCoordinator id={broker_id}]"
        self._clock = clock
        self._replica_manager = replica_manager
        self._producer_ids = producer_ids
        self._state_partition_count = state_partition_count
        self._placement = Placement(config.transaction_state_log_num_partitions)
        self._max_timeout_ms = config.transaction_max_timeout_ms
        self._abort_interval_ms = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._is_active = False
        self._abort_timer: Timer | None = None
        self._waiting_to_store = 0
        self._completions = Tasks(COMPLETIONS)
        self._questions = Tasks(QUESTIONS)
        self._manager = TransactionManager(
            clock=clock,
            log=StateLog(
                TRANSACTION_STATE_TOPIC,
                replica_manager,
                clock,
                required_acks=ALL_REPLICAS,
                timeout_ms=config.request_timeout_ms,
                codec=Codec.NONE,
                log=log_lines,
            ),
            partition_of=self.partition_for,
            resume=self._finish,
            expiration_ms=config.transactional_id_expiration_ms,
            check_interval_ms=config.transaction_remove_expired_transaction_cleanup_interval_ms,
            took_to_load=loading_times(metrics),
        )
        self.leadership = TopicLeadership(TRANSACTION_STATE_TOPIC, elected=self._elected, resigned=self._resigned)
        self._markers = MarkerSender(
            broker_id=broker_id,
            writer=marker_writer,
            tasks=self._completions,
            gone=gone_partitions,
            questions=self._questions,
            peers=peers,
            metadata_cache=metadata_cache,
            clock=clock,
        )
        self._awaited_ends = AwaitedEnds(clock, self._completions)
        register_queues(
            metrics,
            unknown_destination=lambda: self._markers.unknown_destination_count,
            append_retries=lambda: self._waiting_to_store,
        )

    # --- life --------------------------------------------------------------------------------------------------------

    def startup(self) -> None:
        """Blocks. Start serving, and follow leadership. Call it before the controller starts."""
        count = self._state_partition_count()
        if count is not None:
            self._placement.partition_count = count
        self.leadership.follow(self._replica_manager)
        self._manager.startup()
        self._completions.start()
        self._questions.start()
        self._await_next_check()
        self._is_active = True
        log.info("%s Startup complete.", self._name)

    def shutdown(self) -> None:
        """Blocks. Respond to everything with COORDINATOR_NOT_AVAILABLE from now on."""
        self._is_active = False
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        self._markers.stop()
        self._completions.stop()
        self._questions.stop()
        self._manager.shutdown()
        self._awaited_ends.stop()
        log.info("%s Shutdown complete.", self._name)

    def _elected(self, partition: int, leader_epoch: int) -> None:
        """Does not switch."""
        log.info("%s Elected as the txn coordinator for partition %d at epoch %d", self._name, partition, leader_epoch)
        self._manager.elected(partition, leader_epoch)
        self._markers.elected(partition)

    def _resigned(self, epochs: Mapping[int, int | None]) -> None:
        """Does not switch."""
        for partition, leader_epoch in epochs.items():
            log.info(
                "%s Resigned as the txn coordinator for partition %d at epoch %s", self._name, partition, leader_epoch
            )
        self._manager.resigned(epochs)
        self._awaited_ends.give_up()

    def partition_for(self, transactional_id: str) -> int:
        """The partition of __transaction_state that keeps an id: its leader is the coordinator."""
        return self._placement.partition_for(transactional_id)

    def _check(self, transactional_id: str) -> ErrorCode:
        """NONE if this broker coordinates the id, else the error."""
        if not transactional_id or not is_storable(transactional_id):
            return ErrorCode.INVALID_REQUEST
        return self._manager.check(transactional_id) if self._is_active else ErrorCode.COORDINATOR_NOT_AVAILABLE

    # --- a producer begins -------------------------------------------------------------------------------------------

    def init_producer_id(
        self, transactional_id: str, *, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Pending[Initialized]:
        """Blocks while a fresh id is waited for, and while the change is written."""
        if not transactional_id:
            return completed(Initialized(ErrorCode.INVALID_REQUEST))
        if not 0 < timeout_ms <= self._max_timeout_ms:
            return completed(Initialized(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
        fresh: int | None = None
        while True:
            error = self._check(transactional_id)
            if error is not ErrorCode.NONE:
                return completed(Initialized(error))
            transaction = self._manager.transactions.get(transactional_id)
            if transaction is None and fresh is not None:
                transaction = Transaction(transactional_id, fresh, timeout_ms, self._clock.wall_ms())
                self._manager.add(transaction)
            if transaction is not None:
                decided = init_producer_id(
                    transaction,
                    timeout_ms=timeout_ms,
                    expected=expected,
                    now_ms=self._clock.wall_ms(),
                    fresh_producer_id=fresh,
                )
                if not isinstance(decided, Need):
                    return self._begin(transaction, decided)
            # What was decided before the wait no longer counts: all of it is looked at again.
            try:
                fresh = self._producer_ids.next_producer_id().result()
            except BrokerError as error_:
                return completed(Initialized(error_.code))

    def _begin(self, transaction: Transaction, decided: Change | ErrorCode) -> Pending[Initialized]:
        """Blocks while the change is written."""
        if isinstance(decided, ErrorCode):
            return completed(Initialized(decided))
        answer: Pending[Initialized] = Pending()
        change = decided

        def done(code: ErrorCode) -> None:
            if code is not ErrorCode.NONE:
                answer.complete(Initialized(code))
                return
            log.info(
                "%s Initialized transactionalId %s with producerId %d and producer epoch %d on partition %s-%d",
                self._name,
                transaction.transactional_id,
                change.producer_id,
                change.producer_epoch,
                TRANSACTION_STATE_TOPIC,
                self.partition_for(transaction.transactional_id),
            )
            answer.complete(Initialized(code, change.producer_id, change.producer_epoch))

        def aborted(code: ErrorCode) -> None:
            # The producer asks again, and gets the next epoch once the markers are written.
            answer.complete(Initialized(code or ErrorCode.CONCURRENT_TRANSACTIONS))

        if change.state is TransactionState.PREPARE_EPOCH_FENCE:
            self._abort_fenced(transaction, change, aborted)
        else:
            self._manager.store(transaction, change, done)
        return answer

    # --- a transaction grows -----------------------------------------------------------------------------------------

    def add_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> Pending[ErrorCode]:
        """Blocks while the change is written. The partitions are part of the transaction once this answers NONE.

        What comes while the transaction before is about to end waits for that, for a moment.
        """
        answer: Pending[ErrorCode] = Pending()
        found = self._add(transactional_id, producer, frozenset(partitions), answer.complete)
        if found is not None:
            self._awaited_ends.wait(
                found, answer, lambda: self._add_at_last(transactional_id, producer, frozenset(partitions), answer)
            )
        return answer

    def _add(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: frozenset[TopicPartition],
        done: Callable[[ErrorCode], object],
    ) -> Transaction | None:
        """Blocks while the change is written. `done` is told what became of it. A transaction that is about to end is
        returned instead."""
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            done(found)
            return None
        decided = add_partitions(found, producer, partitions, now_ms=self._clock.wall_ms())
        if not isinstance(decided, ErrorCode):
            self._manager.store(found, decided, done)
        elif decided is ErrorCode.NONE:
            self._confirm(found, done)
        elif decided is ErrorCode.CONCURRENT_TRANSACTIONS and found.state in ENDING and found.ends_soon:
            return found
        else:
            done(decided)
        return None

    def _add_at_last(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: frozenset[TopicPartition],
        answer: Pending[ErrorCode],
    ) -> None:
        """Blocks while the change is written. It has waited, and does so once."""
        if self._add(transactional_id, producer, partitions, answer.complete) is not None:
            answer.complete(ErrorCode.CONCURRENT_TRANSACTIONS)

    def _confirm(self, transaction: Transaction, done: Done) -> None:
        """Blocks while it is written. `done` gets NONE if what memory says is what the log says: also where another
        broker may have taken over while this one was away, and has not heard of it. Without other replicas none can.
        """
        if self._manager.may_be_replaced(transaction):
            self._manager.store(transaction, transaction.confirm(), done)
        else:
            done(ErrorCode.NONE)

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Whether each partition is part of the producer's transaction."""
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            return dict.fromkeys(partitions, found)
        return verify_partitions(found, producer, partitions)

    def verify_here(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Collection[tuple[str, int]]
    ) -> Mapping[tuple[str, int], ErrorCode]:
        """The same, for a leader in this broker."""
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            return dict.fromkeys(partitions, found)
        return verify_partitions(found, ProducerIdAndEpoch(producer_id, producer_epoch), partitions)

    def _find(self, transactional_id: str) -> Transaction | ErrorCode:
        found = self._manager.transactions.get(transactional_id)
        if found is not None and self._is_active:
            # What is in memory is of a partition that this broker coordinates: nothing else is to be checked.
            return found
        error = self._check(transactional_id)
        if error is not ErrorCode.NONE:
            return error
        return self._manager.transactions.get(transactional_id, ErrorCode.INVALID_PRODUCER_ID_MAPPING)

    # --- a transaction ends ------------------------------------------------------------------------------------------

    def end_transaction(
        self, transactional_id: str, producer: ProducerIdAndEpoch, *, is_commit: bool
    ) -> Pending[ErrorCode]:
        """Blocks while the decision is written. Answered once that is replicated, before the markers are written."""
        found = self._find(transactional_id)
        if isinstance(found, ErrorCode):
            return completed(found)
        decided = end_transaction(
            found, producer, is_commit=is_commit, is_from_client=True, now_ms=self._clock.wall_ms()
        )
        answer: Pending[ErrorCode] = Pending()
        if not isinstance(decided, ErrorCode):
            self._decide(found, decided, answer.complete)
        elif decided is ErrorCode.NONE:
            self._confirm(found, answer.complete)
        else:
            answer.complete(decided)
        return answer

    def _abort_fenced(self, transaction: Transaction, fence: Change, done: Done) -> None:
        """Blocks while the decision is written. Abort what is open under the epoch of `fence`."""
        producer = ProducerIdAndEpoch(fence.producer_id, fence.producer_epoch)
        decided = end_transaction(
            transaction, producer, is_commit=False, is_from_client=False, now_ms=self._clock.wall_ms()
        )
        assert isinstance(decided, Change), f"{transaction} was open, and cannot be aborted: {decided}"

        def stored(code: ErrorCode) -> None:
            if code is not ErrorCode.NONE:
                transaction.failed_to_fence = True
            done(code)

        self._decide(transaction, decided, stored)

    def _decide(self, transaction: Transaction, decided: Change, done: Done) -> None:
        """Blocks while it is written. Store the outcome, tell of it, and have its markers written."""

        def stored(code: ErrorCode) -> None:
            # Changing again before anybody is told: until it is complete, others wait.
            if code is ErrorCode.NONE:
                self._finish(transaction)
            done(code)

        self._manager.store(transaction, decided, stored)

    def _finish(self, transaction: Transaction) -> None:
        """Does not switch. Have the markers written of a transaction whose outcome is stored, then complete it."""
        load = transaction.load
        if load is None:
            return
        is_commit = transaction.state is TransactionState.PREPARE_COMMIT
        producer = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
        decided = finish_transaction(transaction, producer, is_commit=is_commit, now_ms=self._clock.wall_ms())
        assert isinstance(decided, Change), f"{transaction} cannot be finished: {decided}"
        change = decided
        transaction.ends_soon = True
        self._markers.send(
            Markers(
                transaction.transactional_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                coordinator=load,
                is_commit=is_commit,
                partitions=transaction.partitions,
                ending=Ending(
                    transaction, load, lambda: self._completions.later(partial(self._complete, transaction, change))
                ),
            )
        )

    def _complete(self, transaction: Transaction, change: Change) -> None:
        """Blocks while it is written. All markers are written; store that, again and again if need be."""

        def stored(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                self._awaited_ends.ended(transaction)
                return
            if not self._is_active or transaction.load is None:
                return
            transaction.ends_soon = False
            log.warning("%s Storing the end of %s again: %s", self._name, transaction, code.name)
            self._waiting_to_store += 1
            self._clock.call_at(self._clock.monotonic_ms() + STORE_AGAIN_MS, again)

        def again() -> None:
            self._waiting_to_store -= 1
            self._completions.later(partial(self._complete, transaction, change))

        if transaction.load is not None:
            self._manager.store(transaction, change, stored, holds_on=True)

    # --- time --------------------------------------------------------------------------------------------------------

    def _await_next_check(self) -> None:
        self._abort_timer = self._clock.call_at(
            self._clock.monotonic_ms() + self._abort_interval_ms, self._check_for_timeouts
        )

    def _check_for_timeouts(self) -> None:
        self._completions.later(self.abort_timed_out)
        self._await_next_check()

    def abort_timed_out(self) -> None:
        """Blocks. Have the transactions aborted that were open for longer than their producers asked for."""
        now_ms = self._clock.wall_ms()
        for transaction in in_slices(list(self._manager.transactions.values())):
            if is_timed_out(transaction, now_ms):
                # Each in a task of its own: a bug that one meets must not keep the others open.
                self._completions.later(partial(self._abort_timed_out, transaction, now_ms))

    def _abort_timed_out(self, transaction: Transaction, now_ms: int) -> None:
        """Blocks while the decision is written. Nothing if it ended meanwhile, or is another coordinator's."""
        if not is_timed_out(transaction, now_ms) or transaction.load is None:
            return

        def done(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                log.info(
                    "%s Completed rollback of ongoing transaction for transactionalId %s due to timeout",
                    self._name,
                    transaction.transactional_id,
                )
            else:
                log.warning(
                    "%s Rollback of ongoing transaction for transactionalId %s has failed due to %s; it is tried "
                    "again at the next check",
                    self._name,
                    transaction.transactional_id,
                    code.name,
                )

        self._abort_fenced(transaction, transaction.fence(), done)

    # --- administration ----------------------------------------------------------------------------------------------

    def describe(self, transactional_id: str) -> Transaction | ErrorCode:
        """The transaction as it is, to be read at once."""
        error = self._check(transactional_id)
        if error is not ErrorCode.NONE:
            return error
        return self._manager.transactions.get(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

    def all_transactions(self) -> Iterable[Transaction] | ErrorCode:
        """Those of this broker, to be read at once."""
        if not self._is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if self._manager.ownership.is_loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return list(self._manager.transactions.values())
