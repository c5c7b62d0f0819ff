"""A streaming query's offsets per partition, with the topic ids they belong to.

Role        Pure.
Why         A topic that is deleted and recreated starts at offset 0. Once it has grown past the old one's offsets
            nothing but its id shows that the records below were never read.
Layout      {"topic": {"partition": offset}, "@ids": {"topic": id}}. No topic may be called @ids. Checkpoints of earlier
            versions, and of clusters whose topics have no ids, have no such entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_zk.protocol.types import TopicPartition

IDS = "@ids"


@dataclass(frozen=True, slots=True)
class StreamOffsets:
    """`topic_ids` as text, of those topics that are known to have one."""

    offsets: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> dict[str, dict[str, Any]]:
        """What Spark writes into a query's checkpoint, in order."""
        nested: dict[str, dict[str, Any]] = {}
        for partition in sorted(self.offsets):
            nested.setdefault(partition.topic, {})[str(partition.partition)] = self.offsets[partition]
        ids = {topic: self.topic_ids[topic] for topic in nested if topic in self.topic_ids}
        return {**nested, IDS: ids} if ids else nested

    def replaced(self, now: Mapping[str, str]) -> list[str]:
        """Topics with different ids in both."""
        return sorted(topic for topic, known in self.topic_ids.items() if now.get(topic, known) != known)

    def without(self, topics: list[str]) -> StreamOffsets:
        """The others only."""
        return StreamOffsets(
            {each: offset for each, offset in self.offsets.items() if each.topic not in topics},
            {topic: known for topic, known in self.topic_ids.items() if topic not in topics},
        )


def decode(nested: Mapping[str, Mapping[str, Any]]) -> StreamOffsets:
    """What `StreamOffsets.encode` made."""
    offsets = {
        TopicPartition(topic, int(index)): int(offset)
        for topic, partitions in of_topics(nested)
        for index, offset in partitions.items()
    }
    return StreamOffsets(offsets, {topic: str(known) for topic, known in nested.get(IDS, {}).items()})


def of_topics(nested: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Topics and the offsets of their partitions; other entries left out."""
    for topic, partitions in nested.items():
        if topic != IDS and isinstance(partitions, Mapping):
            yield topic, partitions
