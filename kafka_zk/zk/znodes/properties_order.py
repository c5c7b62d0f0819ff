"""The order in which java.util.Properties hands out its keys: that of the configs in znodes that Kafka writes.

Role        Pure. Nobody relies on it; it makes our znodes the same bytes as Kafka's.
Source      java.util.Properties (a ConcurrentHashMap for 8 entries), String.hashCode.
"""

from __future__ import annotations

from collections.abc import Mapping

_SMALLEST_TABLE = 16


def in_properties_order(overrides: Mapping[str, str]) -> dict[str, str]:
    """`overrides`, given in the order in which they were put in."""
    size = _SMALLEST_TABLE
    while len(overrides) >= size * 3 // 4:
        size *= 2
    return dict(sorted(overrides.items(), key=lambda item: _spread(_string_hash(item[0])) & (size - 1)))


def _spread(value: int) -> int:
    return value ^ (value >> 16)


def _string_hash(text: str) -> int:
    """String.hashCode as an unsigned 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value
