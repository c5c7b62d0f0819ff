"""--transaction-log-decoder: the records of __transaction_state.

Role        Pure.
Source      Kafka 3.9 TransactionLog.formatRecordKeyAndValue, TransactionState; scala.collection.mutable.HashSet.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.java_hash import SMALLEST_TABLE, partition_hash, signed, spread
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.records import TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE, TransactionLogValue
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.protocol.versioned import decode_versioned, payload_version
from kafka_zk.record.types import Record
from kafka_zk.tools.java_output import JavaError

_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_KEY_VERSION = 0
_DELETE = "<DELETE>"
_SMALL_SET = 4


class TransactionRecordParser:
    """Transactional ids and what became of their transactions."""

    def text(self, record: Record) -> tuple[str | None, str | None]:
        key, value = self.values(record)
        if "unknownVersion" in key:
            return f"unknown::version={key['unknownVersion']}", None
        return f"transaction_metadata::transactionalId={key['transactionalId']}", _value_text(value)

    def values(self, record: Record) -> tuple[Any, Any]:
        if record.key is None:
            raise JavaError(
                'Cannot invoke "java.nio.ByteBuffer.getShort()" because "buffer" is null',
                "java.lang.NullPointerException",
            )
        try:
            version = payload_version(record.key)
            if version != _KEY_VERSION:
                return {"unknownVersion": version}, None
            key = {"transactionalId": decode_versioned(TRANSACTION_LOG_KEY, record.key).transactional_id}
            return key, _DELETE if record.value is None else _value(record.value)
        except DecodeError as error:
            raise JavaError(str(error), "java.lang.RuntimeException") from error


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return (
        f"producerId:{value['producerId']},producerEpoch:{value['producerEpoch']},state={value['state']},"
        f"partitions=[{','.join(value['partitions'])}],"
        f"txnLastUpdateTimestamp={value['txnLastUpdateTimestamp']},txnTimeoutMs={value['txnTimeoutMs']}"
    )


def _value(data: bytes) -> dict[str, Any]:
    version = payload_version(data)
    if version not in TRANSACTION_LOG_VALUE.versions:
        raise _illegal_state(f"Unknown version {version} from the transaction log message value")
    found = decode_versioned(TRANSACTION_LOG_VALUE, data)
    return {
        "producerId": found.producer_id,
        "producerEpoch": found.producer_epoch,
        "state": state_name(found.transaction_status),
        "partitions": [str(each) for each in in_order_of_hashes(partitions_of(found))],
        "txnLastUpdateTimestamp": found.transaction_last_update_timestamp_ms,
        "txnTimeoutMs": found.transaction_timeout_ms,
    }


def state_name(number: int) -> str:
    if 0 <= number < len(_STATES):
        return _STATES[number]
    raise _illegal_state(f"Unknown transaction state id {number} from the transaction status message")


def partitions_of(found: TransactionLogValue) -> list[list[TopicPartition]]:
    """By topic, as listed."""
    listed = found.transaction_partitions
    if found.transaction_status == _STATES.index("Empty"):
        if listed is not None:
            raise _illegal_state(
                "Transaction is not expected to have any partitions since its state is Empty: TransactionMetadata"
            )
        return []
    if listed is None:
        raise JavaError(None, "java.lang.NullPointerException")
    return [[TopicPartition(each.topic, index) for index in dict.fromkeys(each.partition_ids)] for each in listed]


def _illegal_state(message: str) -> JavaError:
    return JavaError(message, "java.lang.IllegalStateException")


def in_order_of_hashes(topics: list[list[TopicPartition]]) -> list[TopicPartition]:
    """As a Scala hash set, to which each topic's set was added, walks over them: buckets in turn, in one by hash.

    A set of up to four is added one by one, and the table doubles when it is three quarters full. A larger one is a
    hash set itself, whose size alone decides on the room: then many may share a bucket.
    """
    found: dict[TopicPartition, int] = {}
    buckets = SMALLEST_TABLE
    for partitions in topics:
        while buckets < int((len(partitions) + 1) / 0.75):
            buckets *= 2
        for each in partitions:
            if len(partitions) <= _SMALL_SET and len(found) + 1 >= int(buckets * 0.75):
                buckets *= 2
            found[each] = spread(partition_hash(each))
    return sorted(found, key=lambda each: (found[each] & (buckets - 1), signed(found[each])))
