"""The buffers of columns, laid out as in Apache Arrow.

Role        Pure data; both twins of the builder answer with it.
Layout      Numbers are little-endian, one after another. `n` fields of bytes have n + 1 positions (int32) in `data`;
            field i is data[starts[i]:starts[i + 1]]. Bit i % 8 of byte i // 8 of a `validity` is 1 unless field i is
            null; a column without nulls has none. A null field has length 0.
Source      The Arrow columnar format: variable-size binary layout, validity bitmaps, list layout.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_DATA_BYTES = 0x7FFFFFFF
"""The most bytes of one column, whose positions have 32 bits. Take the columns long before."""

TOO_MUCH_DATA = "the records of the columns take more bytes than their positions can count"


class BytesColumn(NamedTuple):
    """Fields of bytes, any of which may be null."""

    null_count: int
    validity: bytearray | None
    starts: bytearray
    data: bytearray


class HeaderColumns(NamedTuple):
    """Record i has the headers starts[i] to starts[i + 1]; none at all is null."""

    null_count: int
    validity: bytearray | None
    starts: bytearray
    header_count: int
    keys: BytesColumn
    """UTF-8, never null."""
    values: BytesColumn


class Columns(NamedTuple):
    """`row_count` records. Timestamps are epoch ms (int64); their types as in `TimestampType`, -1 for none (int32)."""

    row_count: int
    offsets: bytearray
    timestamps: bytearray
    timestamp_types: bytearray
    keys: BytesColumn
    values: BytesColumn
    headers: HeaderColumns | None
    """None where the builder was told to leave them out."""
