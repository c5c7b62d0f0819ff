"""xxHash32 of short inputs, for the header checksum of lz4 frames.

Role        Pure. Frame descriptors are at most 18 bytes (with the frame's magic), so speed does not matter.
Source      The xxHash specification, XXH32, seed 0.
"""

from __future__ import annotations

import struct

_PRIME_1 = 0x9E3779B1
_PRIME_2 = 0x85EBCA77
_PRIME_3 = 0xC2B2AE3D
_PRIME_4 = 0x27D4EB2F
_PRIME_5 = 0x165667B1
_MASK = 0xFFFFFFFF


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def xxh32(data: bytes) -> int:
    """The 32 bit hash with seed 0."""
    position = 0
    if len(data) >= 16:
        lanes = [(_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK]
        while position + 16 <= len(data):
            for index, word in enumerate(struct.unpack_from("<4I", data, position)):
                lanes[index] = _rotate((lanes[index] + word * _PRIME_2) & _MASK, 13) * _PRIME_1 & _MASK
            position += 16
        digest = sum(_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    else:
        digest = _PRIME_5
    digest = (digest + len(data)) & _MASK
    while position + 4 <= len(data):
        word = struct.unpack_from("<I", data, position)[0]
        digest = _rotate((digest + word * _PRIME_3) & _MASK, 17) * _PRIME_4 & _MASK
        position += 4
    for byte in data[position:]:
        digest = _rotate((digest + byte * _PRIME_5) & _MASK, 11) * _PRIME_1 & _MASK
    digest = (digest ^ (digest >> 15)) * _PRIME_2 & _MASK
    digest = (digest ^ (digest >> 13)) * _PRIME_3 & _MASK
    return digest ^ (digest >> 16)
