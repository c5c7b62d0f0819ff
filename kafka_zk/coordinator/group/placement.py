"""Which partition of __consumer_offsets keeps a group.

Role        Pure.
Source      GroupMetadataManager.partitionFor, Utils.abs, java.lang.String.hashCode.
"""

from __future__ import annotations

INT_MIN = -(2**31)


def java_hash(text: str) -> int:
    """Java's hash of a string: over its UTF-16 units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    total = 0
    for index in range(0, len(units), 2):
        total = (31 * total + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return total - 2**32 if total >= 2**31 else total


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition that keeps `group_id`. The one hash without a positive counterpart counts as 0."""
    found = java_hash(group_id)
    return 0 if found == INT_MIN else abs(found) % partition_count
