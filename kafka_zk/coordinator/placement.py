"""Maps a group to its partition of __consumer_offsets, a transactional id to its of __transaction_state.

Role        Pure.
Source      GroupMetadataManager.partitionFor, TransactionStateManager.partitionFor.
"""

from __future__ import annotations

from kafka_zk.java_hash import absolute, string_hash


def partition_for(key: str, partition_count: int) -> int:
    """The partition that keeps `key`, a group or a transactional id."""
    return absolute(string_hash(key)) % partition_count
