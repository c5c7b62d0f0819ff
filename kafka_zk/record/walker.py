"""Walks the records of a magic 2 batch: the pure twin of `_walker.pyx`.

Role        Pure. Both twins have the same functions, answers and errors; hypothesis holds them together.
Layout      varint length | attributes 1 | varlong timestamp delta | varint offset delta | varint key size, key |
            varint value size, value | varint header count, then per header varint key size, key, varint value size,
            value. Varints are zig-zag, at most 5 bytes (10 for a varlong); bits beyond 32 (64) are dropped, and sums
            of timestamps wrap at 64 bits, as in Java. A negative size means null.
Errors      InvalidRecord, whatever the bytes.
Source      Kafka 3.9 DefaultRecord.readFrom, DefaultRecordBatch.RecordIterator, ByteUtils.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record.batch import (
    CRC_FROM,
    HEADER,
    HEADER_SIZE,
    LEADER_EPOCH_AT,
    LOG_OVERHEAD,
    MAGIC_AT,
    TRANSACTIONAL_BIT,
    BatchHeader,
)
from kafka_zk.record.crc import crc32c
from kafka_zk.record.types import Buffer, Header, Record

_INT32 = Struct(">i")
_INT64 = Struct(">q")
_MAX_INT64 = 0x7FFFFFFFFFFFFFFF
_MASK_64 = 0xFFFFFFFFFFFFFFFF

MALFORMED = "Found invalid record structure"
PREMATURE_END = "Incorrect declared batch size, premature EOF reached"
LEFT_OVER = "Incorrect declared batch size, records still remaining in file"
OUTSIDE = "the records to walk must lie inside the buffer"
TOO_SHORT = "shorter than the header of a batch"


class Columns(NamedTuple):
    """The records of one payload as columns. Positions are into the buffer that was walked; size -1 is null.

    `header_starts` points at each record's header count; `decode_headers` reads on from there.
    """

    offset_deltas: array[int]
    timestamps: array[int]
    key_starts: array[int]
    key_sizes: array[int]
    value_starts: array[int]
    value_sizes: array[int]
    header_starts: array[int]


def _wrap(number: int) -> int:
    """As a signed 64 bit number."""
    number &= _MASK_64
    return number - (1 << 64) if number > _MAX_INT64 else number


def _varint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    shift = raw = 0
    while True:
        if position >= end or shift > 28:
            raise InvalidRecord(MALFORMED)
        byte = buffer[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7


def _varlong(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    shift = raw = 0
    while True:
        if position >= end or shift > 63:
            raise InvalidRecord(MALFORMED)
        byte = buffer[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= _MASK_64
            return (raw >> 1) ^ -(raw & 1), position
        shift += 7


def _span(buffer: Buffer, position: int, end: int) -> tuple[int, int, int]:
    """A length-prefixed field: (where its bytes start, their size or -1, the next position)."""
    size, position = _varint(buffer, position, end)
    if size < 0:
        return position, -1, position
    if size > end - position:
        raise InvalidRecord(MALFORMED)
    return position, size, position + size


def _skip_headers(buffer: Buffer, position: int, end: int) -> int:
    count, position = _header_count(buffer, position, end)
    for _ in range(count):
        _, size, position = _span(buffer, position, end)
        if size < 0:
            raise InvalidRecord("Invalid negative header key size")
        _, _, position = _span(buffer, position, end)
    return position


def _header_count(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    count, position = _varint(buffer, position, end)
    if count < 0:
        raise InvalidRecord(f"Found invalid number of record headers {count}")
    if count > end - position:
        raise InvalidRecord(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer"
        )
    return count, position


def _body(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    """The record that starts at `position`: (where its body starts, where it must end)."""
    if position >= end:
        raise InvalidRecord(PREMATURE_END)
    size, position = _varint(buffer, position, end)
    if size < 0:
        raise InvalidRecord(MALFORMED)
    if size > end - position:
        raise InvalidRecord(
            f"Invalid record size: expected {size} bytes in record payload, "
            f"but instead the buffer has only {end - position} remaining bytes."
        )
    return position, position + size


def _check_bounds(buffer: Buffer, position: int, end: int) -> None:
    if not 0 <= position <= end <= len(buffer):
        raise ValueError(OUTSIDE)


def _check_count(count: int) -> None:
    if count < 0:
        raise InvalidRecord(f"Found invalid record count {count} in magic v2 batch")


def _fields(buffer: Buffer, position: int, end: int) -> tuple[int, int, int, int, int, int, int, int]:
    """One record: timestamp delta, offset delta, key start, key size, value start, value size, headers, next."""
    start, stop = _body(buffer, position, end)
    if start >= stop:
        raise InvalidRecord(MALFORMED)
    timestamp_delta, position = _varlong(buffer, start + 1, stop)
    offset_delta, position = _varint(buffer, position, stop)
    key_start, key_size, position = _span(buffer, position, stop)
    value_start, value_size, headers = _span(buffer, position, stop)
    position = _skip_headers(buffer, headers, stop)
    if position != stop:
        raise InvalidRecord(
            f"Invalid record size: expected to read {stop - start} bytes in record payload, "
            f"but instead read {position - start}"
        )
    return timestamp_delta, offset_delta, key_start, key_size, value_start, value_size, headers, stop


def walk(buffer: Buffer, position: int, end: int, count: int, base_timestamp: int) -> tuple[int, int, int, bool, bool]:
    """Check `count` records in buffer[position:end], which they must fill exactly.

    Returns (max timestamp, index of the first record with it, min timestamp, a key is null, offset deltas are
    0, 1, 2 ...). Records without a timestamp (-1) count for neither bound; without any, max is -1 at index -1 and
    min is 2**63 - 1. Timestamps below -1 count for the minimum only.
    """
    _check_bounds(buffer, position, end)
    _check_count(count)
    max_timestamp, max_index, min_timestamp = -1, -1, _MAX_INT64
    null_key, consecutive = False, True
    for index in range(count):
        timestamp_delta, offset_delta, _, key_size, _, _, _, position = _fields(buffer, position, end)
        timestamp = _wrap(base_timestamp + timestamp_delta)
        if timestamp > max_timestamp:
            max_timestamp, max_index = timestamp, index
        if timestamp != -1 and timestamp < min_timestamp:
            min_timestamp = timestamp
        if key_size < 0:
            null_key = True
        if offset_delta != index:
            consecutive = False
    if position != end:
        raise InvalidRecord(LEFT_OVER)
    return max_timestamp, max_index, min_timestamp, null_key, consecutive


def plain_header(buffer: Buffer, max_bytes: int, needs_keys: bool) -> BatchHeader | None:
    """The header of one whole produced batch that may be appended as it is: nothing to refuse and nothing to rewrite.

    None for everything else, a batch in order included: compressed, with another timestamp type, in memory that may
    not be written. `needs_keys` as on compacted topics. Timestamp limits are not checked.
    """
    view = memoryview(buffer)
    if len(view) <= HEADER_SIZE or view.readonly or view[MAGIC_AT] != 2:
        return None
    header = BatchHeader(*HEADER.unpack_from(view))
    if (
        header.base_offset
        or header.length + LOG_OVERHEAD != len(view)
        or len(view) > max_bytes
        or header.attributes & 0xFFFF & ~TRANSACTIONAL_BIT
        or header.record_count <= 0
        or header.last_offset_delta != header.record_count - 1
        or (header.producer_id >= 0 and header.base_sequence < 0)
        or crc32c(view[CRC_FROM:]) != header.crc
    ):
        return None
    try:
        max_timestamp, _, _, null_key, _ = walk(
            view, HEADER_SIZE, len(view), header.record_count, header.base_timestamp
        )
    except InvalidRecord:
        return None
    return header if max_timestamp == header.max_timestamp and not (needs_keys and null_key) else None


def assign_offsets(buffer: Buffer, base_offset: int, leader_epoch: int) -> None:
    """Write the offset of the first record and the leader epoch into a batch; neither is under the crc."""
    if len(buffer) < HEADER_SIZE:
        raise ValueError(TOO_SHORT)
    _INT64.pack_into(buffer, 0, base_offset)
    _INT32.pack_into(buffer, LEADER_EPOCH_AT, leader_epoch)


def columns(buffer: Buffer, position: int, end: int, count: int, base_timestamp: int) -> Columns:
    """The same walk, keeping every record's fields as columns."""
    _check_bounds(buffer, position, end)
    _check_count(count)
    rows = Columns(array("i"), array("q"), array("i"), array("i"), array("i"), array("i"), array("i"))
    for _ in range(count):
        timestamp_delta, offset_delta, key_start, key_size, value_start, value_size, headers, position = _fields(
            buffer, position, end
        )
        rows.offset_deltas.append(offset_delta)
        rows.timestamps.append(_wrap(base_timestamp + timestamp_delta))
        rows.key_starts.append(key_start)
        rows.key_sizes.append(key_size)
        rows.value_starts.append(value_start)
        rows.value_sizes.append(value_size)
        rows.header_starts.append(headers)
    if position != end:
        raise InvalidRecord(LEFT_OVER)
    return rows


def decode_headers(buffer: Buffer, position: int, end: int) -> tuple[Header, ...]:
    """The headers whose count is at `position`. Invalid UTF-8 in header keys is replaced, as in Java."""
    _check_bounds(buffer, position, end)
    count, position = _header_count(buffer, position, end)
    headers: list[Header] = []
    for _ in range(count):
        key_start, key_size, position = _span(buffer, position, end)
        if key_size < 0:
            raise InvalidRecord("Invalid negative header key size")
        value_start, value_size, position = _span(buffer, position, end)
        key = bytes(buffer[key_start : key_start + key_size]).decode("utf-8", "replace")
        headers.append((key, None if value_size < 0 else bytes(buffer[value_start : value_start + value_size])))
    return tuple(headers)


def decode(buffer: Buffer, position: int, end: int, count: int, base_timestamp: int, base_offset: int) -> list[Record]:
    """The same walk, giving `Record` objects whose bytes are copies."""
    _check_bounds(buffer, position, end)
    _check_count(count)
    records: list[Record] = []
    for _ in range(count):
        timestamp_delta, offset_delta, key_start, key_size, value_start, value_size, headers, position = _fields(
            buffer, position, end
        )
        records.append(
            Record(
                _wrap(base_offset + offset_delta),
                _wrap(base_timestamp + timestamp_delta),
                None if key_size < 0 else bytes(buffer[key_start : key_start + key_size]),
                None if value_size < 0 else bytes(buffer[value_start : value_start + value_size]),
                decode_headers(buffer, headers, position),
            )
        )
    if position != end:
        raise InvalidRecord(LEFT_OVER)
    return records


def _put_varint(out: bytearray, value: int) -> None:
    raw = ((value << 1) ^ (value >> 63)) & _MASK_64
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)


def _put_field(out: bytearray, field: Buffer | None) -> None:
    if field is None:
        out.append(1)  # -1 in zig-zag
    else:
        _put_varint(out, len(field))
        out += field


def encode(records: Iterable[Record | Sequence[object]], base_offset: int, base_timestamp: int) -> bytearray:
    """The payload of a magic 2 batch that holds `records` (or tuples like them), relative to the two bases.

    Raises OverflowError for an offset that is 2**31 or more away from the base, or a number beyond 64 bits.
    """
    out = bytearray()
    body = bytearray()
    for record in records:
        offset, timestamp, key, value, headers = record
        assert isinstance(offset, int) and isinstance(timestamp, int)
        body.clear()
        body.append(0)
        _put_varint(body, _wrap(_checked(timestamp) - base_timestamp))
        offset_delta = _checked(offset) - base_offset
        if not -0x80000000 <= offset_delta <= 0x7FFFFFFF:
            raise OverflowError(f"offset {offset} is too far from the base offset {base_offset}")
        _put_varint(body, offset_delta)
        # A tuple like a record is a sequence of objects to type checkers; hence what they must ignore here.
        _put_field(body, key)  # type: ignore[arg-type]
        _put_field(body, value)  # type: ignore[arg-type]
        _put_varint(body, len(headers))  # type: ignore[arg-type]
        for header_key, header_value in headers:  # type: ignore[attr-defined]
            _put_field(body, header_key.encode("utf-8", "replace"))
            _put_field(body, header_value)
        _put_varint(out, len(body))
        out += body
    return out


def _checked(number: int) -> int:
    if not -_MAX_INT64 - 1 <= number <= _MAX_INT64:
        raise OverflowError(f"{number} does not fit 64 bits")
    return number
