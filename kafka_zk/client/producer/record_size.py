"""The upper bound of a record's size in its own batch.

Role        Pure.
Source      Kafka 3.9 AbstractRecords.estimateSizeInBytesUpperBound, DefaultRecord.recordSizeUpperBound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafka_zk.record.batch import HEADER_SIZE
from kafka_zk.record.types import Header

MAX_RECORD_OVERHEAD: Final = 21


def size_upper_bound(key: Any, value: Any, headers: Sequence[Header]) -> int:
    """Bytes of a batch with this record alone, uncompressed."""
    size = HEADER_SIZE + MAX_RECORD_OVERHEAD + _field(key) + _field(value) + _varint(len(headers))
    for name, header_value in headers:
        size += _field(name.encode("utf-8", "replace")) + _field(header_value)
    return size


def _field(data: Any) -> int:
    return 1 if data is None else _varint(len(data)) + len(data)


def _varint(number: int) -> int:
    """The size of a zig-zag varint."""
    return max(1, ((number << 1).bit_length() + 6) // 7)
