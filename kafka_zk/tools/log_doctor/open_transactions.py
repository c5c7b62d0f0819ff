"""Says which open transactions hang: those that no coordinator will end, as far as the directories know.

Role        Reads the partitions of __transaction_state in the directories; `verdict_on` decides.
Invariants  A transaction that its coordinator still has to end in that partition never hangs.
            What may be known on other brokers only is called hanging if its producer had been silent for longer than
            the longest timeout (transaction.max.timeout.ms by default) when the directories were written last.
Source      TransactionsCommand.FindHangingTransactionsCommand, which asks a running cluster the same.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_zk.coordinator.placement import partition_for
from kafka_zk.coordinator.transaction.decisions.records import LogReplay
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction
from kafka_zk.log.doctor.checks.producers import OpenTransaction
from kafka_zk.log.doctor.checkup import CheckUp
from kafka_zk.log.doctor.findings import TRANSACTION_HANGING, TRANSACTION_OPEN, Finding
from kafka_zk.log.doctor.partition import PartitionReport
from kafka_zk.log.doctor.partition_files import list_partition
from kafka_zk.log.doctor.walk import walk
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.types import TopicPartition

LONGEST_TIMEOUT_MS = 900_000
MINUTE_MS = 60_000


@dataclass(slots=True)
class Coordinators:
    """What the partitions of __transaction_state in the directories say, by producer id.

    `is_complete`: nothing speaks for further partitions on other brokers.
    """

    partition_count: int = 0
    is_complete: bool = False
    transactions: Mapping[int, Sequence[Transaction]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a transaction hangs, and why."""

    hangs: bool
    reason: str


def check_open_transactions(result: CheckUp, *, now_ms: int) -> Iterator[Finding]:
    """A finding for each transaction that is open in a partition. Timestamps later than `now_ms` are not believed."""
    opened = [report for report in result.reports if report.open_transactions and not report.task.is_copy]
    if not opened:
        return
    coordinators = known_coordinators(result.reports)
    written_ms = min(now_ms, max(report.last_timestamp_ms for report in result.reports))
    for report in opened:
        for transaction in report.open_transactions:
            verdict = verdict_on(transaction, report.task.topic_partition, coordinators, written_ms)
            yield _finding(report, transaction, verdict)


def verdict_on(
    opened: OpenTransaction, partition: TopicPartition, coordinators: Coordinators, written_ms: int
) -> Verdict:
    """`written_ms`: when the directories were written last."""
    known = coordinators.transactions.get(opened.producer_id, ())
    for transaction in known:
        # Whoever fences a producer raises its epoch before the markers are written.
        if partition in transaction.partitions and transaction.producer_epoch >= opened.producer_epoch:
            return Verdict(False, f"{_told(transaction)}: its coordinator will end it")
    if known:
        return Verdict(True, f"{_told(known[0])}, which does not wait for a marker here")
    where = f"no partition of {TRANSACTION_STATE_TOPIC} here ({coordinators.partition_count}) knows the producer"
    if coordinators.is_complete:
        return Verdict(True, where)
    idle_ms = written_ms - opened.last_timestamp_ms
    return Verdict(
        idle_ms > LONGEST_TIMEOUT_MS, f"{where}, which had been silent for {max(0, idle_ms) // MINUTE_MS} minutes"
    )


def _told(transaction: Transaction) -> str:
    return f"transactional id {transaction.transactional_id} is in state {transaction.state.word}"


def _finding(report: PartitionReport, opened: OpenTransaction, verdict: Verdict) -> Finding:
    topic, number = partition = report.task.topic_partition
    start = f"gives read_committed consumers nothing from offset {opened.first_offset} on until it ends"
    if verdict.hangs:
        start += (
            "; end it with: kafka-transactions.sh --bootstrap-server HOST:PORT abort "
            f"--topic {topic} --partition {number} --start-offset {opened.first_offset}"
        )
    return Finding(
        TRANSACTION_HANGING if verdict.hangs else TRANSACTION_OPEN,
        str(report.task.directory.parent),
        str(partition),
        report.task.directory.name,
        f"the transaction of producer {opened.producer_id} (epoch {opened.producer_epoch}) from offset "
        f"{opened.first_offset} is open; {verdict.reason}",
        start,
    )


# --- __transaction_state ---------------------------------------------------------------------------------------------


def known_coordinators(reports: Collection[PartitionReport]) -> Coordinators:
    """Reads the partitions of __transaction_state; of several replicas the longest."""
    replicas: dict[int, PartitionReport] = {}
    for report in sorted(reports, key=lambda each: each.end_offset):
        topic, number = report.task.topic_partition
        if topic == TRANSACTION_STATE_TOPIC and not report.task.is_copy:
            replicas[number] = report
    numbers, is_complete = sorted(replicas), bool(replicas)
    is_complete = is_complete and numbers == list(range(len(numbers)))
    found: dict[int, list[Transaction]] = defaultdict(list)
    for number in numbers:
        try:
            transactions = _transactions_in(replicas[number])
        except (OSError, BrokerError):
            # The check-up has findings about what cannot be read.
            is_complete = False
            continue
        for transaction in transactions:
            found[transaction.producer_id].append(transaction)
            is_complete = is_complete and partition_for(transaction.transactional_id, len(numbers)) == number
    return Coordinators(len(numbers), is_complete, found)


def _transactions_in(report: PartitionReport) -> list[Transaction]:
    """Raises OSError, and BrokerError for bytes that are no batches or no transactions."""
    replay, files = LogReplay(), list_partition(report.task.directory)
    for segment in files.segments:
        descriptor = os.open(report.task.directory / segment.name(), os.O_RDONLY | os.O_CLOEXEC)
        try:
            for walked in walk(descriptor, 0, segment.size_bytes):
                batch = walked.batch()
                if walked.is_intact and batch is not None:
                    replay.apply(batch)
        finally:
            os.close(descriptor)
    return list(replay.transactions())
