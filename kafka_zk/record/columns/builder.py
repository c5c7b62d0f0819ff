"""Builds columns from records: the pure twin of `_builder.pyx`.

Role        Pure. Both twins have the same methods, answers and errors; hypothesis holds them together.
Invariants  A batch is appended whole or, when it is malformed, not at all.
"""

from __future__ import annotations

import sys
from array import array

from kafka_zk.record.columns.layout import MAX_DATA_BYTES, TOO_MUCH_DATA, BytesColumn, Columns, HeaderColumns
from kafka_zk.record.types import Buffer, Header, Record
from kafka_zk.record.walker import decode


class ColumnBuilder:
    """Columns under construction. `take` returns them and starts again."""

    def __init__(self, *, with_headers: bool) -> None:
        self._with_headers = with_headers
        self._rows: list[tuple[Record, int]] = []
        self._size_bytes = 0

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def size_bytes(self) -> int:
        """Bytes of all keys, values and headers held."""
        return self._size_bytes

    def append(
        self,
        buffer: Buffer,
        position: int,
        end: int,
        count: int,
        base_offset: int,
        base_timestamp: int,
        first_offset: int,
        end_offset: int,
        timestamp_type: int,
        log_append_time: int,
    ) -> None:
        """Append those of the `count` records in buffer[position:end] whose offset is in [first_offset, end_offset).

        The records must fill the bytes exactly. With `timestamp_type` 1 each has the timestamp `log_append_time`.
        Raises InvalidRecord; OverflowError where the columns might come to hold more than 2 GiB.
        """
        rows = [
            (record._replace(timestamp=log_append_time) if timestamp_type == 1 else record, timestamp_type)
            for record in decode(buffer, position, end, count, base_timestamp, base_offset)
            if first_offset <= record.offset < end_offset
        ]
        self._extend(rows)

    def append_record(self, record: Record, timestamp_type: int) -> None:
        """Append one record as it is. Raises OverflowError like `append`."""
        self._extend([(record, timestamp_type)])

    def take(self) -> Columns:
        """The columns of what was appended since the last call."""
        rows = [row for row, _ in self._rows]
        types = [timestamp_type for _, timestamp_type in self._rows]
        self._rows, self._size_bytes = [], 0
        return Columns(
            len(rows),
            _little_endian("q", [row.offset for row in rows]),
            _little_endian("q", [row.timestamp for row in rows]),
            _little_endian("i", types),
            _column([row.key for row in rows]),
            _column([row.value for row in rows]),
            _headers([row.headers for row in rows]) if self._with_headers else None,
        )

    def _extend(self, rows: list[tuple[Record, int]]) -> None:
        size_bytes = self._size_bytes + sum(_size_of(row, self._with_headers) for row, _ in rows)
        if size_bytes > MAX_DATA_BYTES:
            raise OverflowError(TOO_MUCH_DATA)
        self._size_bytes = size_bytes
        self._rows += rows


def _size_of(record: Record, with_headers: bool) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    if with_headers:
        size += sum(len(key.encode()) + len(value or b"") for key, value in record.headers)
    return size


def _headers(rows: list[tuple[Header, ...]]) -> HeaderColumns:
    flat = [header for row in rows for header in row]
    null_count = sum(1 for row in rows if not row)
    return HeaderColumns(
        null_count,
        _bitmap([bool(row) for row in rows]) if null_count else None,
        _positions([len(row) for row in rows]),
        len(flat),
        _column([key.encode() for key, _ in flat]),
        _column([value for _, value in flat]),
    )


def _column(fields: list[bytes] | list[bytes | None]) -> BytesColumn:
    null_count = sum(1 for field in fields if field is None)
    return BytesColumn(
        null_count,
        _bitmap([field is not None for field in fields]) if null_count else None,
        _positions([len(field or b"") for field in fields]),
        bytearray().join(field for field in fields if field),
    )


def _positions(sizes: list[int]) -> bytearray:
    positions = [0]
    for size in sizes:
        positions.append(positions[-1] + size)
    return _little_endian("i", positions)


def _bitmap(present: list[bool]) -> bytearray:
    bits = bytearray((len(present) + 7) // 8)
    for index, is_present in enumerate(present):
        bits[index // 8] |= is_present << index % 8
    return bits


def _little_endian(kind: str, numbers: list[int]) -> bytearray:
    column = array(kind, numbers)
    if sys.byteorder == "big":
        column.byteswap()
    return bytearray(column.tobytes())
