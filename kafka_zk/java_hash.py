"""Java's hash codes and the iteration order of its hash maps.

Role        Pure. Kafka places groups and fetched partitions by them, its leaders go through members in that order, and
            its tools print in it: whatever must agree with Kafka on these uses this module.
Invariants  A hash code is an unsigned 32-bit number, as a table uses it; `signed` and `absolute` make ints of it.
Source      java.lang.String.hashCode, java.util.HashMap (spread, power-of-two tables, load factor 0.75),
            TopicPartition.hashCode, Utils.abs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from kafka_zk.protocol.types import TopicPartition

T = TypeVar("T")

_MASK = 0xFFFFFFFF
SMALLEST_TABLE = 16


def string_hash(text: str) -> int:
    """String.hashCode: over UTF-16 units, so two of them for a character beyond the BMP."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        value = (31 * value + unit) & _MASK
    return value


def partition_hash(partition: TopicPartition) -> int:
    """TopicPartition.hashCode."""
    return (31 * (31 + partition.partition) + string_hash(partition.topic)) & _MASK


def long_hash(value: int) -> int:
    """Long.hashCode of a number of 64 bits."""
    return (value ^ value >> 32) & _MASK


def signed(value: int) -> int:
    """The hash code `value` as Java's int."""
    return value - (1 << 32) if value >> 31 else value


def absolute(value: int) -> int:
    """The absolute value of Java's int; the one without a positive counterpart counts as 0. Source: Utils.abs."""
    return 0 if value == 1 << 31 else abs(signed(value))


def spread(value: int) -> int:
    """What a hash map makes of a hash code, so that small tables see its upper half too."""
    return value ^ value >> 16


def in_hash_order(items: Iterable[T], hash_of: Callable[[T], int], *, capacity: int = SMALLEST_TABLE) -> list[T]:
    """`items`, all different, as a HashMap made for `capacity` entries walks over them; they were put in one by one."""
    given: Sequence[T] = list(items)
    size = 1
    while size < capacity:
        size *= 2
    while len(given) > size * 3 // 4:
        size *= 2
    # Entries of one bucket stay in the order they came in; sorting is stable.
    return sorted(given, key=lambda item: spread(hash_of(item)) & (size - 1))


def in_scala_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """`items`, all different, as a mutable map of Scala walks over them that they were put into one by one.

    Source: scala.collection.mutable.HashMap, which keeps a bucket sorted by what it made of the hash codes.
    """
    hashes = [(spread(hash_of(item)), item) for item in items]
    size = SMALLEST_TABLE
    while len(hashes) >= size * 3 // 4:
        size *= 2
    return [item for _, item in sorted(hashes, key=lambda each: (each[0] & (size - 1), signed(each[0])))]
