"""Appends to led partitions, and waits until the records are committed.

Role        The path of produced records, used by the Produce handler and the coordinators.
Invariants  One partition's failure does not touch the others. Results are in the order of the entries.
            No waiter is woken before all entries of a request are appended: it would see half of them.
Source      Kafka 3.9 ReplicaManager.appendRecords, appendToLocalLog, delayedProduceRequestRequired.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_zk.giving_way import give_way
from kafka_zk.log.state.verification import VerificationGuard
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.metrics.topic_metrics import BrokerTopicStats
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    CorruptMessage,
    ErrorCode,
    InvalidRequiredAcks,
    InvalidTopicException,
    KafkaStorageError,
    MessageTooLarge,
    NotLeaderOrFollower,
    RecordListTooLarge,
    UnknownTopicOrPartition,
    error_class_for,
)
from kafka_zk.protocol.internal_topics import INTERNAL_TOPICS
from kafka_zk.protocol.types import Buffer
from kafka_zk.record.produced import Origin
from kafka_zk.record.record_errors import InvalidOffsetOrSequence, MixedMagic, keyless_count
from kafka_zk.replication.hosted import HostedPartitions
from kafka_zk.replication.partition import ACKS_ALL, Partition
from kafka_zk.replication.purgatory import Purgatory
from kafka_zk.replication.serving.delayed_produce import DelayedProduce, Unacknowledged

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import AppendInfo


# These are found before the log looks at its own state: their answer does not name the log start offset.
_WITHOUT_LOG_START = (
    UnknownTopicOrPartition,
    NotLeaderOrFollower,
    MessageTooLarge,
    RecordListTooLarge,
    CorruptMessage,
    KafkaStorageError,
    InvalidTopicException,
    InvalidRequiredAcks,
)

# Clients cause these by asking the wrong broker; they say nothing about the records.
_NOT_A_FAILED_PRODUCE = (UnknownTopicOrPartition, NotLeaderOrFollower)

_EXPIRES = "kafka.server:type=DelayedProduceMetrics,name=ExpiresPerSec"

log = logging.getLogger("kafka.server.ReplicaManager")

Entry = tuple[str, int, Buffer]
"""Topic, partition, and one batch in memory that the broker may write to."""

Guards = Mapping[tuple[str, int], VerificationGuard]
"""By topic and partition."""

ENTRIES_PER_LOOK: Final = 7
"""After each eighth entry of a request other greenlets may run."""


class AppendFailure:
    """Why one entry failed. `info` is there when its records are in the log, only not acknowledged.

    `tells_why`: the client is told the text of the error, too.
    """

    __slots__ = ("error", "info", "log_start_offset", "tells_why")

    def __init__(
        self,
        error: BrokerError,
        *,
        log_start_offset: int = -1,
        info: AppendInfo | None = None,
        tells_why: bool = False,
    ) -> None:
        self.error = error
        self.log_start_offset = log_start_offset
        self.info = info
        self.tells_why = tells_why

    def __repr__(self) -> str:
        return f"AppendFailure({self.error!r})"


class Appender:
    """Appends to led partitions. `wake` notifies the waiters of a partition."""

    __slots__ = ("_hosted", "_metrics", "_produces", "_stats", "_wake", "_watched_fetches", "_watched_produces")

    def __init__(
        self,
        hosted: HostedPartitions,
        produces: Purgatory,
        fetches: Purgatory,
        stats: BrokerTopicStats,
        wake: Callable[[Partition], None],
        metrics: MetricsRegistry,
    ) -> None:
        self._hosted = hosted
        self._produces = produces
        self._watched_produces = produces.watched
        self._watched_fetches = fetches.watched
        self._stats = stats
        self._metrics = metrics
        self._wake = wake

    def append_records(
        self,
        entries: Sequence[Entry],
        *,
        required_acks: int,
        timeout_ms: int,
        internal_topics_allowed: bool = False,
        origin: Origin = Origin.CLIENT,
        guards: Guards | None = None,
    ) -> list[AppendInfo | AppendFailure] | Pending[list[AppendInfo | AppendFailure]]:
        """Blocks. Append every entry; a result for each. With acks=all a Pending while one is not committed.

        `guards`: of the partitions where the entry begins a transaction that was verified.
        `timeout_ms` bounds that wait; what is then not committed fails with REQUEST_TIMED_OUT, and stays in the log.
        """
        if required_acks not in (ACKS_ALL, 0, 1):
            refusal = InvalidRequiredAcks()
            return [AppendFailure(refusal) for _ in entries]
        results: list[AppendInfo | AppendFailure] = []
        appended: list[Partition] = []
        waiting: list[Unacknowledged] = []
        by_topic = self._hosted.by_topic
        count = 0
        for topic, index, records in entries:
            # A look at the clock costs as much as a call: a small request makes none.
            count += 1
            if count & ENTRIES_PER_LOOK == 0:
                give_way()
            partition: Partition | None = None
            try:
                if topic in INTERNAL_TOPICS and not internal_topics_allowed:
                    raise InvalidTopicException(f"Cannot append to internal topic {topic}")
                try:
                    partition = by_topic[topic][index]
                except KeyError:
                    partition = self._hosted.get(topic, index)
                guard = None if guards is None else guards.get((topic, index))
                info = partition.append_as_leader(records, required_acks, origin, guard)
            except Exception as error:
                # Errors for the client and bugs of ours alike concern one partition; the others are appended.
                results.append(self._failure(topic, partition, records, error))
                # The way it came leads through this frame to `results`: a circle around all the records' memory.
                error.__traceback__ = error.__context__ = None
                continue
            results.append(info)
            metrics = partition.metrics
            metrics.bytes_in(len(records))
            metrics.messages_in(info.last_offset - info.first_offset + 1)
            metrics.total_produce_requests(1)
            appended.append(partition)
            if required_acks == ACKS_ALL and (partition.followers or not partition.is_leader):
                check = self._check(partition, info.last_offset + 1)
                waiting.append(Unacknowledged(count - 1, topic, index, check))
        if self._watched_fetches or self._watched_produces:
            for partition in appended:
                self._wake(partition)
        return self._acknowledge(waiting, results, timeout_ms) if waiting else results

    def _acknowledge(
        self, waiting: list[Unacknowledged], results: list[AppendInfo | AppendFailure], timeout_ms: int
    ) -> list[AppendInfo | AppendFailure] | Pending[list[AppendInfo | AppendFailure]]:
        """Turn results into acknowledged ones, now or later."""
        pending: Pending[list[AppendInfo | AppendFailure]] = Pending()

        def answer(codes: dict[int, ErrorCode]) -> None:
            for position, code in codes.items():
                info = results[position]
                if code is not ErrorCode.NONE and not isinstance(info, AppendFailure):
                    error = error_class_for(code)()
                    results[position] = AppendFailure(error, log_start_offset=info.log_start_offset, info=info)
            pending.complete(results)

        keys = [(entry.topic, entry.partition) for entry in waiting]
        operation = DelayedProduce(timeout_ms, waiting, answer, self._expired)
        if self._produces.complete_or_watch(operation, keys):
            return results
        pending.when_left(lambda gone: self._produces.cancel(operation) if gone else None)
        return pending

    def _expired(self, topic: str, index: int) -> None:
        """As in Kafka, these meters exist once they were used."""
        self._metrics.meter(_EXPIRES).mark(1)
        self._metrics.meter(_EXPIRES, topic=topic, partition=index).mark(1)

    def _check(self, partition: Partition, required_offset: int) -> Callable[[], ErrorCode | None]:
        """To be created right after the append: the leadership that appended is the one that acknowledges."""
        leadership = partition.leadership

        def check() -> ErrorCode | None:
            try:
                self._hosted.check_leadership(partition, leadership)
            except BrokerError as error:
                return error.code
            return partition.acknowledgement(required_offset)

        return check

    def _failure(self, topic: str, partition: Partition | None, records: Buffer, error: Exception) -> AppendFailure:
        if not isinstance(error, BrokerError):
            log.error("Error processing append operation on partition of %s", topic, exc_info=error)
            error = BrokerError()
        if partition is not None:
            metrics = partition.metrics
            metrics.total_produce_requests(1)
            if not isinstance(error, _NOT_A_FAILED_PRODUCE):
                metrics.failed_produce_requests(1)
            if isinstance(error, MessageTooLarge | RecordListTooLarge):
                metrics.bytes_rejected(len(records))
        self._count_fault(error)
        if partition is None or partition.log is None or isinstance(error, _WITHOUT_LOG_START):
            return AppendFailure(error)
        return AppendFailure(error, log_start_offset=partition.log.log_start_offset)

    def _count_fault(self, error: BrokerError) -> None:
        """What was wrong with refused records, where Kafka counts it."""
        if isinstance(error, CorruptMessage):
            self._stats.invalid_message_crc_records(1)
        elif isinstance(error, MixedMagic):
            self._stats.invalid_magic_number_records(1)
        elif isinstance(error, InvalidOffsetOrSequence):
            self._stats.invalid_offset_or_sequence_records(1)
        else:
            self._stats.no_key_compacted_topic_records(keyless_count(error))
