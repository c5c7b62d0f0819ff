"""murmur2, the hash that maps keys to partitions in every client.

Role        Pure.
Source      Austin Appleby's MurmurHash2 (public domain) with the seed 0x9747b28c; Utils.murmur2, Utils.toPositive.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from typing import Final

from kafka_zk.protocol.types import Buffer

_SEED: Final = 0x9747B28C
_FACTOR: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: Buffer) -> int:
    """The hash as an unsigned number. O(length)."""
    length = len(data)
    hashed = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        word = data[position] | data[position + 1] << 8 | data[position + 2] << 16 | data[position + 3] << 24
        word = word * _FACTOR & _MASK
        word ^= word >> 24
        hashed = hashed * _FACTOR & _MASK ^ word * _FACTOR & _MASK
    if whole < length:
        for index in range(length - whole):
            hashed ^= data[whole + index] << 8 * index
        hashed = hashed * _FACTOR & _MASK
    hashed ^= hashed >> 13
    hashed = hashed * _FACTOR & _MASK
    return hashed ^ hashed >> 15


def partition_for_key(key: Buffer, partition_count: int) -> int:
    """The partition of a serialized key, as in every Kafka producer."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count
