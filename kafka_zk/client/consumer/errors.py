"""Errors that only a consumer can meet, besides those of brokers.

Role        Pure.
Source      org.apache.kafka.clients.consumer, org.apache.kafka.common.errors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_zk.client.errors import ERRORS_PACKAGE, CommitFailed, KafkaException
from kafka_zk.protocol.types import TopicPartition

__all__ = [
    "CommitFailed",
    "ConcurrentUse",
    "IllegalState",
    "InvalidGroupId",
    "LogTruncation",
    "NoOffsetForPartition",
    "OffsetOutOfRange",
    "RebalanceInProgress",
    "RecordDeserializationFailed",
    "RetriableCommitFailed",
    "WakeupException",
]
_CONSUMER_PACKAGE = "org.apache.kafka.clients.consumer."


class WakeupException(KafkaException):
    """`wakeup` was called: the blocked call was aborted, and the consumer remains usable."""

    java_class = ERRORS_PACKAGE + "WakeupException"


class IllegalState(KafkaException):
    """The call is not allowed in the consumer's current state."""

    java_class = "java.lang.IllegalStateException"


class ConcurrentUse(KafkaException):
    """Two threads used the consumer at the same time."""

    java_class = "java.util.ConcurrentModificationException"


class InvalidGroupId(KafkaException):
    """The call requires group.id."""

    java_class = ERRORS_PACKAGE + "InvalidGroupIdException"


class RebalanceInProgress(KafkaException):
    """The group is rebalancing: poll, then commit again."""

    java_class = ERRORS_PACKAGE + "RebalanceInProgressException"


class RetriableCommitFailed(KafkaException):
    """The commit failed with a retriable error."""

    java_class = _CONSUMER_PACKAGE + "RetriableCommitFailedException"


class NoOffsetForPartition(KafkaException):
    """No committed offset, and auto.offset.reset is none."""

    java_class = _CONSUMER_PACKAGE + "NoOffsetForPartitionException"

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        self.partitions = sorted(partitions)
        named = ", ".join(map(str, self.partitions))
        super().__init__(f"Undefined offset with no reset policy for partitions: [{named}]")


class OffsetOutOfRange(KafkaException):
    """Positions outside of the logs, and auto.offset.reset is none."""

    java_class = _CONSUMER_PACKAGE + "OffsetOutOfRangeException"

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.offsets = dict(offsets)
        super().__init__(f"Fetch position {_named(offsets)} is out of range, and no reset policy is configured")


class LogTruncation(KafkaException):
    """The log was truncated below a position, and auto.offset.reset is none.

    `diverging` holds, if known, the offset up to which the records read still exist.
    """

    java_class = _CONSUMER_PACKAGE + "LogTruncationException"

    def __init__(self, positions: Mapping[TopicPartition, int], diverging: Mapping[TopicPartition, int]) -> None:
        self.offsets = dict(positions)
        self.diverging = dict(diverging)
        super().__init__(
            f"Detected log truncation with diverging offsets {_named(diverging)} at the positions {_named(positions)}"
        )


class RecordDeserializationFailed(KafkaException):
    """A deserializer failed. Seek past the record to continue."""

    java_class = ERRORS_PACKAGE + "RecordDeserializationException"

    def __init__(self, partition: TopicPartition, offset: int) -> None:
        self.partition, self.offset = partition, offset
        super().__init__(
            f"Error deserializing record for partition {partition} at offset {offset}. "
            "If needed, please seek past the record to continue consumption."
        )


def _named(offsets: Mapping[TopicPartition, int]) -> str:
    return "{" + ", ".join(f"{partition}={offset}" for partition, offset in sorted(offsets.items())) + "}"
