"""find-hanging: open transactions that no coordinator will end.

Role        Acts, through an admin client; `hanging_of` decides.
Invariants  A transaction hangs if it is open in a partition's log for longer than the longest timeout, and no
            coordinator knows a transaction of its producer that still waits for a marker in that partition.
            Rows come in the order of Apache's hash maps.
Source      TransactionsCommand.FindHangingTransactionsCommand.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka_zk.client.admin.transaction_results import ProducerState, TransactionDescription
from kafka_zk.java_hash import long_hash
from kafka_zk.protocol.errors import TransactionalIdNotFound
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.failures import FAILURES, Refused
from kafka_zk.tools.common.java_output import hash_order, hash_order_by, partition_order
from kafka_zk.tools.transactions.output import failed, table

if TYPE_CHECKING:
    from kafka_zk.client.admin.admin_client import AdminClient

HEADERS = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)
BATCH_LIMIT = 500
"""Topics or partitions in one request."""
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A producer's transaction that a partition's log has no marker of yet."""

    partition: TopicPartition
    producer: ProducerState


def find_hanging(admin: AdminClient, values: Mapping[str, Any]) -> str:
    """Blocks. The table of hanging transactions. Raises Refused."""
    topic, partition, broker_id = values["topic"], values["partition"], values["broker-id"]
    if topic is None and broker_id is None:
        raise Refused(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if partition is not None and topic is None:
        raise Refused("The --partition argument requires --topic to be provided")
    if partition is not None:
        searched = [TopicPartition(topic, partition)]
    else:
        searched = _partitions_of(admin, _topics(admin) if topic is None else [topic], broker_id)
    older_than_ms = values["max-transaction-timeout"] * MINUTE_MS
    candidates = [each for batch in _batches(searched) for each in _old(admin, batch, broker_id, older_than_ms)]
    return _table_of(_without_coordinator(admin, candidates) if candidates else [])


def hanging_of(
    candidates: Sequence[OpenTransaction],
    transactional_ids: Mapping[int, str],
    descriptions: Mapping[str, TransactionDescription | None],
) -> list[OpenTransaction]:
    """The candidates that no coordinator will end.

    A description names the partitions of an ongoing transaction, and later those that still wait for its marker.
    """
    by_producer: dict[int, list[OpenTransaction]] = {}
    for candidate in candidates:
        by_producer.setdefault(candidate.producer.producer_id, []).append(candidate)
    hanging = []
    # HashMap.computeIfAbsent puts what is new at the head of its bucket.
    for producer_id in hash_order_by(reversed(by_producer), long_hash):
        description = descriptions.get(transactional_ids.get(producer_id, ""))
        expected = () if description is None else description.partitions
        hanging += [each for each in by_producer[producer_id] if each.partition not in expected]
    return hanging


# --- where to search -------------------------------------------------------------------------------------------------


def _topics(admin: AdminClient) -> list[str]:
    try:
        return hash_order([topic.name for topic in admin.list_topics()])
    except FAILURES as error:
        raise failed("Failed to list topics", error) from error


def _partitions_of(admin: AdminClient, topics: Sequence[str], broker_id: int | None) -> list[TopicPartition]:
    found = []
    for batch in _batches(topics):
        try:
            described = admin.describe_topics(batch)
        except FAILURES as error:
            raise failed(f"Failed to describe {len(batch)} topics", error) from error
        for name in hash_order(hash_order(described, len(described)), len(described)):
            found += [
                TopicPartition(name, each.partition)
                for each in described[name].partitions
                if broker_id is None or broker_id in each.replicas
            ]
    return found


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + BATCH_LIMIT] for start in range(0, len(items), BATCH_LIMIT))


# --- what is open, and who knows it ----------------------------------------------------------------------------------


def _old(
    admin: AdminClient, partitions: Sequence[TopicPartition], broker_id: int | None, older_than_ms: int
) -> Iterator[OpenTransaction]:
    """Transactions open in `partitions` whose producer has been silent for longer than that."""
    described = admin.describe_producers(partitions, broker_id=broker_id)
    now_ms = time.time_ns() // 1_000_000
    for partition in partition_order(partition_order(described), len(described)):
        producers = described[partition]
        if not isinstance(producers, list):
            where = "Optional.empty" if broker_id is None else f"Optional[{broker_id}]"
            raise failed(f"Failed to describe producers for {len(partitions)} partitions on broker {where}", producers)
        for producer in producers:
            is_open = producer.transaction_start_offset is not None
            if is_open and now_ms - producer.last_timestamp_ms > older_than_ms:
                yield OpenTransaction(partition, producer)


def _without_coordinator(admin: AdminClient, candidates: Sequence[OpenTransaction]) -> list[OpenTransaction]:
    producer_ids = list(dict.fromkeys(each.producer.producer_id for each in candidates))
    try:
        listed = admin.list_transactions(producer_ids=producer_ids)
    except FAILURES as error:
        raise failed(f"Failed to list transactions for {len(producer_ids)} producers", error) from error
    transactional_ids = {
        each.producer_id: each.transactional_id
        for of_broker in listed.values()
        for each in of_broker
        if each.producer_id in producer_ids
    }
    return hanging_of(candidates, transactional_ids, _described(admin, transactional_ids.values()))


def _described(admin: AdminClient, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription | None]:
    """By transactional id; None for one that has gone since it was listed."""
    wanted = list(transactional_ids)
    known: dict[str, TransactionDescription | None] = {}
    for transactional_id, found in admin.describe_transactions(wanted).items() if wanted else ():
        if isinstance(found, TransactionDescription):
            known[transactional_id] = found
        elif not isinstance(found, TransactionalIdNotFound):
            raise failed(f"Failed to describe {len(wanted)} transactions", found)
    return known


def _table_of(hanging: Iterable[OpenTransaction]) -> str:
    now_ms = time.time_ns() // 1_000_000
    return table(HEADERS, [_row(each, now_ms) for each in hanging])


def _row(hanging: OpenTransaction, now_ms: int) -> tuple[object, ...]:
    producer = hanging.producer
    minutes = abs(now_ms - producer.last_timestamp_ms) // MINUTE_MS
    return (
        hanging.partition.topic,
        hanging.partition.partition,
        producer.producer_id,
        producer.producer_epoch,
        -1 if producer.coordinator_epoch is None else producer.coordinator_epoch,
        producer.transaction_start_offset,
        producer.last_timestamp_ms,
        minutes if now_ms >= producer.last_timestamp_ms else -minutes,
    )
