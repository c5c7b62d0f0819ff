"""Columns back to records, by what layout.py says of them."""

from __future__ import annotations

from array import array

from kafka_zk.record import Record
from kafka_zk.record.columns.layout import BytesColumn, Columns


def rows(columns: Columns) -> list[tuple[Record, int]]:
    """Each record with its timestamp type."""
    keys, values = fields(columns.keys, columns.row_count), fields(columns.values, columns.row_count)
    headers: list[tuple[tuple[str, bytes | None], ...]] = [()] * columns.row_count
    if columns.headers is not None:
        names = fields(columns.headers.keys, columns.headers.header_count)
        contents = fields(columns.headers.values, columns.headers.header_count)
        starts = array("i", bytes(columns.headers.starts))
        flat = [(name.decode(), content) for name, content in zip(names, contents, strict=True) if name is not None]
        headers = [tuple(flat[starts[i] : starts[i + 1]]) for i in range(columns.row_count)]
        assert columns.headers.null_count == sum(1 for row in headers if not row)
        assert validity(columns.headers.validity, columns.row_count) == [bool(row) for row in headers]
    numbers = zip(array("q", bytes(columns.offsets)), array("q", bytes(columns.timestamps)), strict=True)
    types = array("i", bytes(columns.timestamp_types))
    return [
        (Record(*number, key, value, header), kind)
        for number, key, value, header, kind in zip(numbers, keys, values, headers, types, strict=True)
    ]


def fields(column: BytesColumn, count: int) -> list[bytes | None]:
    starts = array("i", bytes(column.starts))
    assert len(starts) == count + 1
    present = validity(column.validity, count)
    assert column.null_count == present.count(False)
    return [bytes(column.data[starts[i] : starts[i + 1]]) if present[i] else None for i in range(count)]


def validity(bits: bytearray | None, count: int) -> list[bool]:
    if bits is None:
        return [True] * count
    assert len(bits) == (count + 7) // 8
    return [bool(bits[i // 8] >> i % 8 & 1) for i in range(count)]
