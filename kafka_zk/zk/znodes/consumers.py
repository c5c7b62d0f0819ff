"""/consumers: offsets of consumers from before 0.9, which OffsetCommit and OffsetFetch v0 still serve.

Role        Pure.
Source      kafka.zk.ConsumerOffset.
"""

from __future__ import annotations

from kafka_zk.config.values import java_integer
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.operations import Stat


class ConsumerOffsetZNode:
    """/consumers/G/offsets/T/P: an offset in decimal."""

    @staticmethod
    def path(group_id: str, topic_partition: TopicPartition) -> str:
        return f"/consumers/{group_id}/offsets/{topic_partition.topic}/{topic_partition.partition}"

    @staticmethod
    def encode(offset: int) -> bytes:
        return str(offset).encode()

    @staticmethod
    def decode(data: bytes | None, stat: Stat | None = None) -> int | None:
        """None when there is no offset, or one that no answer can hold."""
        return java_integer((data or b"").decode("ascii", "replace"), 64)
