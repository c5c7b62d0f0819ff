"""Encodes and decodes the records of __transaction_state, and makes transactions of them again.

Role        Pure. The declarations are in protocol/messages/records.py.
Invariants  Values are written in version 0, as Kafka 3.9 does in ZooKeeper mode, and read in every version. A later
            record of an id replaces an earlier one; a tombstone removes it.
            Who the producer was before is not stored, so a retry over a change of coordinators is fenced, as in Kafka.
Source      TransactionLog.scala and TransactionStateManager.loadTransactionMetadata in Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from kafka_zk.coordinator.transaction.decisions.states import TransactionState
from kafka_zk.coordinator.transaction.decisions.transaction import Change, Transaction
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.records import (
    TRANSACTION_LOG_KEY,
    TRANSACTION_LOG_VALUE,
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kafka_zk.protocol.types import Buffer, TopicPartition
from kafka_zk.protocol.versioned import decode_versioned, payload_version
from kafka_zk.record.batch import Batch
from kafka_zk.record.record import decode_records

KEY_VERSION: Final = 0
VALUE_VERSION: Final = 0
_encode_key: Final = TRANSACTION_LOG_KEY.encoder(KEY_VERSION)
_encode_value: Final = TRANSACTION_LOG_VALUE.encoder(VALUE_VERSION)
_KEY_HEAD: Final = Struct(">h").pack(KEY_VERSION)
_VALUE_HEAD: Final = Struct(">h").pack(VALUE_VERSION)
STORED: Final = frozenset(TransactionState) - {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE}


def transaction_key(transactional_id: str) -> bytes:
    return _KEY_HEAD + _encode_key(TransactionLogKey(transactional_id=transactional_id))


def transaction_value(change: Change) -> bytes:
    """What a change makes of a transaction. One that never had partitions has none, not an empty list."""
    value = TransactionLogValue(
        producer_id=change.producer_id,
        producer_epoch=change.producer_epoch,
        transaction_timeout_ms=change.timeout_ms,
        transaction_status=change.state,
        transaction_partitions=None if change.state is TransactionState.EMPTY else _by_topic(change.partitions),
        transaction_last_update_timestamp_ms=change.updated_ms,
        transaction_start_timestamp_ms=change.started_ms,
    )
    return _VALUE_HEAD + _encode_value(value)


def _by_topic(partitions: frozenset[TopicPartition]) -> list[PartitionsSchema]:
    if len(partitions) == 1:
        ((topic, partition),) = partitions
        return [PartitionsSchema(topic=topic, partition_ids=[partition])]
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()]


def read_transaction(transactional_id: str, raw: Buffer) -> Transaction:
    """Raises DecodeError."""
    value = decode_versioned(TRANSACTION_LOG_VALUE, raw)
    if value.transaction_status not in STORED:
        raise DecodeError(f"{value.transaction_status} is no state of a stored transaction")
    transaction = Transaction(
        transactional_id, value.producer_id, value.transaction_timeout_ms, value.transaction_last_update_timestamp_ms
    )
    transaction.producer_epoch = value.producer_epoch
    transaction.state = TransactionState(value.transaction_status)
    transaction.started_ms = value.transaction_start_timestamp_ms
    transaction.partitions = frozenset(
        TopicPartition(each.topic, partition)
        for each in value.transaction_partitions or ()
        for partition in each.partition_ids
    )
    return transaction


class LogReplay:
    """What the log says so far, by transactional id. Only what is left at last is decoded.

    `end_offset` is the one behind the last batch.
    """

    def __init__(self) -> None:
        self._latest: dict[bytes, bytes] = {}
        self.record_count = 0
        self.unknown_count = 0
        self.end_offset = 0

    def apply(self, batch: Batch) -> None:
        """Replay the next batch. Raises the errors of undecodable records."""
        self.end_offset = batch.header.next_offset
        if batch.header.is_control:
            return
        records = decode_records(batch)
        self.record_count += len(records)
        for _, _, key, value, _ in records:
            if key is None:
                continue
            if value is None:
                self._latest.pop(key, None)
            else:
                self._latest[key] = value

    def transactions(self) -> Iterator[Transaction]:
        """The transactions; `unknown_count` has then counted keys of unknown versions. Raises DecodeError."""
        self.unknown_count = 0
        for key, value in self._latest.items():
            if payload_version(key) != KEY_VERSION:
                self.unknown_count += 1
                continue
            yield read_transaction(decode_versioned(TRANSACTION_LOG_KEY, key).transactional_id, value)
