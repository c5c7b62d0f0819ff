"""Maps a group to its partition of __consumer_offsets.

Role        Pure.
Source      GroupMetadataManager.partitionFor.
"""

from __future__ import annotations

from kafka_zk.java_hash import absolute, string_hash


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition that keeps `group_id`."""
    return absolute(string_hash(group_id)) % partition_count
