"""What a transactional producer asks coordinators, one step at a time, and what the program waits for.

Role        Pure but for `TransactionResult`, for which threads wait.
Source      Kafka 3.9 TransactionManager.TxnRequestHandler and its subclasses, TransactionalRequestResult.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kafka_zk.client.errors import TimeoutException
from kafka_zk.client.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafka_zk.client.network.coordinator_lookup import CoordinatorType
from kafka_zk.client.waits import waitable
from kafka_zk.protocol.types import TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class TransactionResult:
    """The outcome of one call of the program; it is set once. `was_told`: the program has got it."""

    def __init__(self, operation: str) -> None:
        """`operation` is Java's name of the request, for the text of a timeout."""
        self.operation = operation
        self.was_told = False
        self._error: Exception | None = None
        self._done = threading.Event()

    def __repr__(self) -> str:
        outcome = "pending" if not self._done.is_set() else "failed" if self._error else "succeeded"
        return f"{self.operation}: {outcome}"

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def succeed(self) -> None:
        self._done.set()

    def fail(self, error: Exception) -> None:
        """Without effect once it is done."""
        if not self._done.is_set():
            self._error = error
            self._done.set()

    def wait(self, timeout_ms: int) -> None:
        """Blocks. Raises its error, or TimeoutException: then wait again, or make the same call again."""
        if not self._done.wait(waitable(timeout_ms / 1000)):
            raise TimeoutException(f"Timeout expired after {timeout_ms}ms while awaiting {self.operation}")
        self.was_told = True
        if self._error is not None:
            raise self._error


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One request. Steps of a lower `rank` go first, those of one rank in the order they came."""

    api: ClassVar[str]
    rank: ClassVar[int]
    coordinator: ClassVar[CoordinatorType] = CoordinatorType.TRANSACTION

    result: TransactionResult


@dataclass(frozen=True, slots=True, eq=False)
class InitProducerId(Step):
    """Get a producer id and end what older producers left open; `raises_epoch`: go on as the producer that it is."""

    api = "InitProducerId"
    rank = 0

    raises_epoch: bool


@dataclass(frozen=True, slots=True, eq=False)
class AddPartitions(Step):
    """Records may be sent to these partitions afterwards."""

    api = "AddPartitionsToTxn"
    rank = 1

    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True, eq=False)
class AddOffsets(Step):
    """Offsets of this group may be committed afterwards."""

    api = "AddOffsetsToTxn"
    rank = 1

    offsets: Offsets
    group: ConsumerGroupMetadata


@dataclass(frozen=True, slots=True, eq=False)
class CommitOffsets(Step):
    """Asks the group's coordinator; what is committed shows once the transaction is."""

    api = "TxnOffsetCommit"
    rank = 1
    coordinator = CoordinatorType.GROUP

    offsets: Offsets
    group: ConsumerGroupMetadata


@dataclass(frozen=True, slots=True, eq=False)
class EndTransaction(Step):
    """Waits until every batch of the transaction has its outcome."""

    api = "EndTxn"
    rank = 2

    committed: bool
