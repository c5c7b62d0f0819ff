"""The iteration order of java.util.Properties, which orders configs in Kafka's znodes.

Role        Pure. Nobody relies on it; it makes our znodes the same bytes as Kafka's.
Source      java.util.Properties, a ConcurrentHashMap for 8 entries: addCount, transfer.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from kafka_zk.java_hash import SMALLEST_TABLE, spread, string_hash


def in_properties_order(overrides: Mapping[str, str]) -> dict[str, str]:
    """`overrides`, given in the order in which they were put in."""
    table: list[list[str]] = [[] for _ in range(SMALLEST_TABLE)]
    for count, key in enumerate(overrides, 1):
        table[spread(string_hash(key)) & (len(table) - 1)].append(key)
        # Sooner than a HashMap: it grows with the entry that fills three quarters of it.
        if count >= len(table) * 3 // 4:
            table = _doubled(table)
    return {key: overrides[key] for bucket in table for key in bucket}


def _doubled(table: list[list[str]]) -> list[list[str]]:
    """Every bucket split in two. Unlike a HashMap's, its keys change places, but for those of one half at its end."""
    bit = len(table)
    doubled: list[list[str]] = [[] for _ in range(2 * bit)]
    for index, bucket in enumerate(table):
        runs = [(half, list(keys)) for half, keys in groupby(bucket, lambda key: spread(string_hash(key)) & bit)]
        if not runs:
            continue
        last_half, kept = runs.pop()
        doubled[index + last_half] = kept
        for half, keys in runs:
            doubled[index + half][:0] = reversed(keys)
    return doubled
