"""One transactional id as its coordinator knows it, and the changes that it goes through.

Role        Pure. A change is prepared, stored in the log, and only then made: `prepare` and `complete`, or `give_up`.
Invariants  One change at a time. The epoch never goes back while the producer id stays. What a change makes of a
            transaction was decided before it was stored, so that memory equals the record (but for the start of the
            last transaction, which memory keeps until the next one).
Source      TransactionMetadata.scala in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_zk.coordinator.transaction.decisions.states import (
    AT_REST,
    END_OF,
    ENDING,
    PREDECESSORS,
    TransactionState,
)
from kafka_zk.protocol.types import TopicPartition

if TYPE_CHECKING:
    from kafka_zk.coordinator.ownership import Load

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
NO_PARTITIONS: Final = frozenset[TopicPartition]()

LAST_EPOCH: Final = 2**15 - 2
"""A producer with this epoch gets another producer id next: one more epoch is left for fencing it."""


class Change(NamedTuple):
    """What a transaction will be; times in ms, -1 for none. `last_*`: of the producer before a new one took over."""

    state: TransactionState
    producer_id: int
    last_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    started_ms: int
    updated_ms: int


class Transaction:
    """New ones have no epoch yet: the first change gives them theirs."""

    __slots__ = (
        "changing_to",
        "ends_soon",
        "failed_to_fence",
        "last_producer_epoch",
        "last_producer_id",
        "load",
        "partitions",
        "producer_epoch",
        "producer_id",
        "started_ms",
        "state",
        "timeout_ms",
        "transactional_id",
        "updated_ms",
    )

    def __init__(self, transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.last_producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_EPOCH
        self.last_producer_epoch = NO_EPOCH
        self.timeout_ms = timeout_ms
        self.state = TransactionState.EMPTY
        self.partitions = NO_PARTITIONS
        self.started_ms = NO_TIME
        self.updated_ms = now_ms
        self.load: Load | None = None
        """The load of the partition that keeps the id, while the transaction is in its coordinator's memory: each step
        asks several times whether it still is."""
        self.changing_to: TransactionState | None = None
        """The state of the change that is being stored."""
        self.ends_soon = False
        """What is left of its end this broker does by itself, and nothing went wrong with that so far. About a decided
        transaction only."""
        self.failed_to_fence = False
        """An epoch was raised to fence a producer, and could not be stored: it is not raised again (KAFKA-9666)."""

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= LAST_EPOCH

    def __repr__(self) -> str:
        changing = f" -> {self.changing_to.word}" if self.changing_to is not None else ""
        return (
            f"transaction {self.transactional_id}: producer {self.producer_id} epoch {self.producer_epoch} "
            f"{self.state.word}{changing} {sorted(self.partitions)}"
        )

    # --- changes: each is prepared, and to be stored ------------------------------------------------------------------

    def renew(self, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int) -> Change:
        """A producer begins, or begins again."""
        return self._prepare(
            Change(
                TransactionState.EMPTY,
                self.producer_id,
                self.last_producer_id,
                epoch,
                last_epoch,
                timeout_ms,
                NO_PARTITIONS,
                NO_TIME,
                now_ms,
            )
        )

    def rotate(self, producer_id: int, timeout_ms: int, now_ms: int, *, remembers_epoch: bool) -> Change:
        """A producer begins again under another id: no epochs are left."""
        return self._prepare(
            Change(
                TransactionState.EMPTY,
                producer_id,
                self.producer_id,
                0,
                self.producer_epoch if remembers_epoch else NO_EPOCH,
                timeout_ms,
                NO_PARTITIONS,
                NO_TIME,
                now_ms,
            )
        )

    def add(self, partitions: frozenset[TopicPartition], now_ms: int) -> Change:
        """The transaction reaches more partitions; the first ones begin it."""
        started_ms = now_ms if self.state in AT_REST else self.started_ms
        return self._prepare(
            Change(
                TransactionState.ONGOING,
                self.producer_id,
                self.last_producer_id,
                self.producer_epoch,
                self.last_producer_epoch,
                self.timeout_ms,
                self.partitions | partitions,
                started_ms,
                now_ms,
            )
        )

    def end(self, state: TransactionState, now_ms: int) -> Change:
        """The outcome is decided: markers follow once this is stored."""
        return self._prepare(self._as_it_is(state, now_ms))

    def finish(self, now_ms: int) -> Change:
        """All markers will have been written when this is stored."""
        self.failed_to_fence = False
        return self._prepare(
            Change(
                END_OF[self.state],
                self.producer_id,
                self.last_producer_id,
                self.producer_epoch,
                self.last_producer_epoch,
                self.timeout_ms,
                NO_PARTITIONS,
                self.started_ms,
                now_ms,
            )
        )

    def markers_written(self, partitions: Collection[TopicPartition]) -> None:
        """These want no marker any more. Not stored: whoever loads the transaction has all written once more."""
        assert self.state in ENDING, f"{self} is not decided"
        self.partitions = self.partitions.difference(partitions)

    def fence(self) -> Change:
        """The producer's epoch is over. Not stored: the abort that follows takes the epoch (`take_fence`)."""
        epoch = self.producer_epoch if self.failed_to_fence else self.producer_epoch + 1
        assert epoch <= LAST_EPOCH + 1, f"no epoch is left to fence {self}"
        return self._prepare(
            self._as_it_is(TransactionState.PREPARE_EPOCH_FENCE, self.updated_ms)._replace(
                producer_epoch=epoch, last_producer_epoch=NO_EPOCH
            )
        )

    def take_fence(self, epoch: int) -> None:
        """The epoch of `fence` counts from now on, and what it was prepared for may be decided."""
        assert self.changing_to is TransactionState.PREPARE_EPOCH_FENCE, f"nobody fences {self}"
        self.changing_to = None
        self.producer_epoch = epoch
        self.last_producer_epoch = NO_EPOCH

    def confirm(self) -> Change:
        """It stays as it is: that this can be stored shows that no other coordinator has taken over."""
        assert self.changing_to is None, f"{self} cannot be confirmed: it is changing"
        self.changing_to = self.state
        return self._as_it_is(self.state, self.updated_ms)

    def expire(self) -> None:
        """Its tombstone is being stored."""
        self._prepare(self._as_it_is(TransactionState.DEAD, self.updated_ms))

    # --- what became of a change --------------------------------------------------------------------------------------

    def complete(self, change: Change) -> None:
        """The change is stored."""
        self._check_completed(change)
        self.changing_to = None
        self.state = change.state
        self.producer_id = change.producer_id
        self.last_producer_id = change.last_producer_id
        self.producer_epoch = change.producer_epoch
        self.last_producer_epoch = change.last_producer_epoch
        self.timeout_ms = change.timeout_ms
        self.partitions = change.partitions
        if change.state is not TransactionState.EMPTY:
            # Of a producer that begins again Kafka goes on showing when its last transaction began.
            self.started_ms = change.started_ms
        self.updated_ms = change.updated_ms

    def give_up(self) -> None:
        """The change could not be stored."""
        self.changing_to = None

    def _as_it_is(self, state: TransactionState, now_ms: int) -> Change:
        return Change(
            state,
            self.producer_id,
            self.last_producer_id,
            self.producer_epoch,
            self.last_producer_epoch,
            self.timeout_ms,
            self.partitions,
            self.started_ms,
            now_ms,
        )

    def _prepare(self, change: Change) -> Change:
        assert self.changing_to is None, f"{self} cannot become {change.state.word}: it is changing"
        assert self.state in PREDECESSORS[change.state], f"{self} cannot become {change.state.word}"
        assert change.producer_id >= 0 and change.producer_epoch >= 0, f"{self} would get {change}"
        self.changing_to = change.state
        return change

    def _check_completed(self, change: Change) -> None:
        """A change that does not follow from what is in memory was overtaken: a bug, which must not be made real."""
        assert self._may_become(change), f"{self} cannot complete {change}"

    def _may_become(self, change: Change) -> bool:
        if self.changing_to is not change.state or change.state is TransactionState.PREPARE_EPOCH_FENCE:
            return False
        if change.state is TransactionState.EMPTY:
            goes_on = change.producer_id != self.producer_id or change.producer_epoch >= self.producer_epoch
            return goes_on and not change.partitions and change.started_ms == NO_TIME
        same = (change.producer_id, change.producer_epoch, change.timeout_ms)
        if same != (self.producer_id, self.producer_epoch, self.timeout_ms):
            return False
        if change.state is TransactionState.ONGOING:
            return self.partitions <= change.partitions
        if change.state in END_OF:
            return change.partitions == self.partitions and change.started_ms == self.started_ms
        return True
