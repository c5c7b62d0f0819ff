"""What a value of __transaction_state holds, in the words and the order of Kafka's coordinator.

Role        Pure.
Source      TransactionLog.readTxnRecordValue, TransactionState; scala.collection.mutable.HashSet.
"""

from __future__ import annotations

from kafka_zk.java_hash import SMALLEST_TABLE, partition_hash, signed, spread
from kafka_zk.protocol.messages.records import TransactionLogValue
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import JavaError

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
_SMALL_SET = 4


def state_name(number: int) -> str:
    if 0 <= number < len(_STATES):
        return _STATES[number]
    raise illegal_state(f"Unknown transaction state id {number} from the transaction status message")


def partitions_of(found: TransactionLogValue) -> list[list[TopicPartition]]:
    """By topic, as listed."""
    listed = found.transaction_partitions
    if found.transaction_status == _STATES.index("Empty"):
        if listed is not None:
            raise illegal_state(
                "Transaction is not expected to have any partitions since its state is Empty: TransactionMetadata"
            )
        return []
    if listed is None:
        raise JavaError(None, "java.lang.NullPointerException")
    return [[TopicPartition(each.topic, index) for index in dict.fromkeys(each.partition_ids)] for each in listed]


def illegal_state(message: str) -> JavaError:
    return JavaError(message, "java.lang.IllegalStateException")


def in_order_of_hashes(topics: list[list[TopicPartition]]) -> list[TopicPartition]:
    """In the order of a Scala hash set to which each topic's set was added: by bucket, within a bucket by hash.

    A set of up to four is added one by one, and the table doubles when it is three quarters full. A larger one is a
    hash set itself, whose size alone decides the number of buckets: many entries may share one.
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
