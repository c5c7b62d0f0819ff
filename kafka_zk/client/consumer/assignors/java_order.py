"""The order in which Java's hash collections hand out what is in them.

Role        Pure. Java's leaders go through members and moved partitions in this order, and who is gone through first
            keeps its partitions: a leader of ours must do the same, or a group would shuffle at a change of leader.
Source      java.util.HashMap (spread, power-of-two tables, load factor 0.75), String.hashCode, TopicPartition.hashCode.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from kafka_zk.protocol.types import TopicPartition

T = TypeVar("T")

_SMALLEST_TABLE = 16
_MASK = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """String.hashCode as an unsigned 32-bit number: over UTF-16 units, so two of them beyond the BMP."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & _MASK
    return value


def partition_hash(partition: TopicPartition) -> int:
    """TopicPartition.hashCode as an unsigned 32-bit number."""
    return (31 * (31 + partition.partition) + string_hash(partition.topic)) & _MASK


def in_hash_order(items: Collection[T], hash_of: Callable[[T], int]) -> list[T]:
    """`items`, given in the order they were put in, as a HashMap or HashSet of them is gone through."""
    table_size = _SMALLEST_TABLE
    while len(items) > table_size * 3 // 4:
        table_size *= 2

    def bucket(item: T) -> int:
        value = hash_of(item)
        return (value ^ value >> 16) & (table_size - 1)

    return sorted(items, key=bucket)
