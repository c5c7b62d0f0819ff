"""Which partition of an internal topic keeps a group or a transactional id, and what a record can hold of it.

Role        Pure; a Placement remembers what it computed.
Source      GroupMetadataManager.partitionFor, TransactionStateManager.partitionFor.
"""

from __future__ import annotations

from functools import lru_cache

from kafka_zk.java_hash import absolute, string_hash

REMEMBERED_KEYS = 10_000
REMEMBERED_LENGTH = 255
"""Longest id to cache: a client could make up longer ones until memory is full."""

LONGEST_STRING_BYTES = 2**15 - 1
"""Of each string in a record, in UTF-8. A request may hold more: each byte that is no UTF-8 becomes three."""


def partition_for(key: str, partition_count: int) -> int:
    """The partition that keeps `key`, a group or a transactional id."""
    return absolute(string_hash(key)) % partition_count


def is_storable(text: str) -> bool:
    """Whether a record can hold this string."""
    return len(text) <= LONGEST_STRING_BYTES // 4 or len(text.encode()) <= LONGEST_STRING_BYTES


class Placement:
    """Of one topic, whose `partition_count` is known once the broker has started."""

    def __init__(self, partition_count: int) -> None:
        self.partition_count = partition_count
        # Each request asks several times for the same keys.
        self._remembered = lru_cache(REMEMBERED_KEYS)(partition_for)

    def partition_for(self, key: str) -> int:
        """The partition that keeps the key: its leader is the coordinator."""
        find = self._remembered if len(key) <= REMEMBERED_LENGTH else partition_for
        return find(key, self.partition_count)
