"""Plain values that a consumer returns: records and offsets.

Role        Pure.
Source      ConsumerRecord, ConsumerRecords, OffsetAndTimestamp; OffsetAndMetadata is the producer's, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kafka_zk.client.group_offsets import OffsetAndMetadata
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.types import Header

__all__ = ["ConsumerRecord", "ConsumerRecords", "OffsetAndMetadata", "OffsetAndTimestamp"]


class ConsumerRecord(NamedTuple):
    """One record. `timestamp` is epoch ms, -1 for none, and `timestamp_type` None where the format has no timestamps;
    `leader_epoch` is that of the leader that appended it, None where the format has none. Key and value are bytes or
    None, or what their deserializers made of that."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType | None
    key: Any
    value: Any
    headers: tuple[Header, ...] = ()
    leader_epoch: int | None = None


class ConsumerRecords:
    """The result of one poll: records by partition, in offset order."""

    __slots__ = ("_by_partition",)

    def __init__(self, by_partition: Mapping[TopicPartition, list[ConsumerRecord]] | None = None) -> None:
        self._by_partition = dict(by_partition or {})

    def __iter__(self) -> Iterator[ConsumerRecord]:
        for records in self._by_partition.values():
            yield from records

    def __len__(self) -> int:
        return sum(map(len, self._by_partition.values()))

    def __bool__(self) -> bool:
        return bool(self._by_partition)

    def __repr__(self) -> str:
        counts = ", ".join(f"{partition}: {len(records)}" for partition, records in self._by_partition.items())
        return f"ConsumerRecords({counts})"

    @property
    def partitions(self) -> list[TopicPartition]:
        return list(self._by_partition)

    def of(self, partition: TopicPartition) -> list[ConsumerRecord]:
        """The records of one partition."""
        return self._by_partition.get(partition) or []

    def of_topic(self, topic: str) -> Iterator[ConsumerRecord]:
        """The records of one topic."""
        for partition, records in self._by_partition.items():
            if partition.topic == topic:
                yield from records


class OffsetAndTimestamp(NamedTuple):
    """The first record from a time on."""

    offset: int
    timestamp: int
    leader_epoch: int | None = None
