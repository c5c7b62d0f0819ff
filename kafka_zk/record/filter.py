"""The inner loops of compaction: offset map and record filter; the pure twin of `_filter.pyx`.

Role        Pure. Both twins have the same functions, answers and errors; tests hold them together. A table is read by
            the twin that filled it: they hash differently.
Layout      A table is a buffer of slots of 24 bytes: 16 of the key's hash | 8 offset + 1, 0 for an empty slot; both as
            the machine has them. Linear probing. The hash is keyed with 16 random bytes a table, so that no client
            can choose keys that collide: an update would then delete another key.
            A selection is one byte a record, 1 for those that stay.
Invariants  A key's offset is the largest one that was put. A table is never filled to its last slot.
Source      Kafka 3.9 SkimpyOffsetMap, Cleaner.buildOffsetMapForSegment, Cleaner.shouldRetainRecord,
            MemoryRecords.filterTo.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from hashlib import blake2b
from typing import NamedTuple

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    BatchHeader,
    has_valid_crc,
    read_header,
)
from kafka_zk.record.compression import codec_for_id
from kafka_zk.record.types import Buffer
from kafka_zk.record.walker import LEFT_OVER, _fields, _put_varint, _wrap, columns

SLOT_BYTES = 24
_SLOT = struct.Struct("=16sq")
_START = struct.Struct("=Q")


class MapRun(NamedTuple):
    """`position`: of the first batch that was not taken. `latest_offset` is -1 when nothing was."""

    position: int
    key_count: int
    latest_offset: int
    is_full: bool
    record_count: int


class Selection(NamedTuple):
    """The part of a payload that stays."""

    mask: bytes
    kept_count: int
    has_tombstones: bool
    keyless_count: int


class FilterRun(NamedTuple):
    """`position`: of the first batch that needs more than to stay or to go; its selection when it must be rewritten.

    `ranges` of the buffer stay as they are. `payload` are the unpacked records of a compressed batch with a selection.
    """

    position: int
    ranges: list[tuple[int, int]]
    read_count: int
    kept_count: int
    keyless_count: int
    selection: Selection | None
    payload: Buffer | None


class Rewritten(NamedTuple):
    payload: bytes
    base_timestamp: int
    max_timestamp: int


def put_key(table: memoryview, seed: bytes, key: Buffer, offset: int) -> bool:
    """Note that `key` is at `offset`; whether the key is new. Raises OverflowError for a table without a free slot."""
    digest = _digest(seed, key)
    position, found = _slot_of(table, digest)
    if offset + 1 > found:
        _SLOT.pack_into(table, position, digest, offset + 1)
    return found == 0


def find_key(table: Buffer, seed: bytes, key: Buffer) -> int:
    """The largest offset that was put for `key`; -1 for none."""
    return _slot_of(table, _digest(seed, key))[1] - 1


def map_run(
    table: memoryview, seed: bytes, key_count: int, limit: int, buffer: Buffer, position: int, start_offset: int
) -> MapRun:
    """Put the keys of consecutive plain batches, from `start_offset` on, into the table, until it has `limit`.

    Plain: magic 2, neither transactional nor control, with the right crc and records. Raises UnknownServerError for a
    batch that does not decompress, TooMuchToDecompress.
    """
    latest_offset, record_count = -1, 0
    while True:
        header = _plain_header(buffer, position)
        if header is None:
            return MapRun(position, key_count, latest_offset, False, record_count)
        end = position + header.size_bytes
        unpacked = _unpacked(buffer, position, header)
        place = (buffer, position + HEADER_SIZE, end) if unpacked is None else (unpacked, 0, len(unpacked))
        try:
            columns(*place, header.record_count, header.base_timestamp)
        except InvalidRecord:
            return MapRun(position, key_count, latest_offset, False, record_count)
        key_count, last_put, is_full, taken = put_keys(
            table, seed, key_count, limit, *place, header.record_count, header.base_offset, start_offset
        )
        record_count += taken
        if is_full:
            return MapRun(position, key_count, max(latest_offset, last_put), True, record_count)
        if header.last_offset >= start_offset:
            latest_offset = header.last_offset
        position = end


def put_keys(
    table: memoryview,
    seed: bytes,
    key_count: int,
    limit: int,
    payload: Buffer,
    position: int,
    end: int,
    count: int,
    base_offset: int,
    start_offset: int,
) -> tuple[int, int, bool, int]:
    """Put the keys of one payload: (how many there are now, the last offset put or -1, full?, records taken).

    Raises InvalidRecord.
    """
    rows = columns(payload, position, end, count, 0)
    last_put = -1
    for index, (delta, key_start, key_size) in enumerate(
        zip(rows.offset_deltas, rows.key_starts, rows.key_sizes, strict=True)
    ):
        offset = base_offset + delta
        if key_size < 0 or offset < start_offset:
            continue
        if key_count >= limit:
            return key_count, last_put, True, index
        key_count += put_key(table, seed, payload[key_start : key_start + key_size], offset)
        last_put = offset
    return key_count, last_put, False, count


def select(
    table: Buffer,
    seed: bytes,
    latest_offset: int,
    keep_tombstones: bool,
    payload: Buffer,
    position: int,
    end: int,
    count: int,
    base_offset: int,
) -> Selection:
    """Which records of a payload stay: those behind `latest_offset`, and the last one of each key.

    Records without a key, and unless `keep_tombstones` those without a value, go. Raises InvalidRecord.
    """
    rows = columns(payload, position, end, count, 0)
    mask = bytearray(count)
    has_tombstones, keyless = False, 0
    for index in range(count):
        offset = base_offset + rows.offset_deltas[index]
        key_size, is_tombstone = rows.key_sizes[index], rows.value_sizes[index] < 0
        if offset <= latest_offset:
            if key_size < 0:
                keyless += 1
                continue
            key_start = rows.key_starts[index]
            if offset < find_key(table, seed, payload[key_start : key_start + key_size]):
                continue
            if is_tombstone and not keep_tombstones:
                continue
        mask[index] = 1
        has_tombstones = has_tombstones or is_tombstone
    return Selection(bytes(mask), mask.count(1), has_tombstones, keyless)


def filter_run(
    table: Buffer,
    seed: bytes,
    latest_offset: int,
    now_ms: int,
    last_of_producers: Container[int],
    buffer: Buffer,
    position: int,
) -> FilterRun:
    """Keep or drop consecutive plain batches as a whole, up to the first that needs something else.

    That is one that is not plain (see `map_run`), must be rewritten, or whose last offset is in `last_of_producers`
    and of which nothing stays. Raises what `map_run` raises.
    """
    ranges: list[tuple[int, int]] = []
    read_count = kept_count = keyless_count = 0
    selection: Selection | None = None
    payload: Buffer | None = None
    while True:
        header = _plain_header(buffer, position)
        if header is None:
            break
        end = position + header.size_bytes
        horizon = header.delete_horizon_ms
        keep_tombstones = horizon is None or now_ms < horizon
        unpacked = _unpacked(buffer, position, header)
        place = (buffer, position + HEADER_SIZE, end) if unpacked is None else (unpacked, 0, len(unpacked))
        try:
            found = select(table, seed, latest_offset, keep_tombstones, *place, header.record_count, header.base_offset)
        except InvalidRecord:
            break
        if found.kept_count:
            if found.kept_count < header.record_count or (found.has_tombstones and horizon is None):
                selection, payload = found, unpacked
                break
            if ranges and ranges[-1][1] == position:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((position, end))
        elif header.producer_id >= 0 and header.last_offset in last_of_producers:
            break
        read_count += header.record_count
        kept_count += found.kept_count
        keyless_count += found.keyless_count
        position = end
    return FilterRun(position, ranges, read_count, kept_count, keyless_count, selection, payload)


def rewrite(
    payload: Buffer,
    position: int,
    end: int,
    mask: bytes,
    base_timestamp: int,
    new_base_timestamp: int | None,
    stamp: int | None,
) -> Rewritten:
    """The records of the mask as a payload of their own, offsets relative to the same base offset.

    Timestamps become relative to `new_base_timestamp`, or to the first record's. With `stamp` that is the timestamp of
    all (LogAppendTime). Raises InvalidRecord.
    """
    out, body = bytearray(), bytearray()
    max_timestamp = -1
    for stays in mask:
        timestamp_delta, offset_delta, key_start, key_size, value_start, value_size, headers, following = _fields(
            payload, position, end
        )
        position = following
        if not stays:
            continue
        timestamp = _wrap(base_timestamp + timestamp_delta) if stamp is None else stamp
        if new_base_timestamp is None:
            new_base_timestamp = timestamp
        max_timestamp = max(max_timestamp, timestamp)
        body.clear()
        body.append(0)
        _put_varint(body, _wrap(timestamp - new_base_timestamp))
        _put_varint(body, offset_delta)
        for start, size in ((key_start, key_size), (value_start, value_size)):
            _put_varint(body, size)
            body += payload[start : start + max(size, 0)]
        body += payload[headers:following]
        _put_varint(out, len(body))
        out += body
    if position != end:
        raise InvalidRecord(LEFT_OVER)
    return Rewritten(bytes(out), -1 if new_base_timestamp is None else new_base_timestamp, max_timestamp)


def _plain_header(buffer: Buffer, position: int) -> BatchHeader | None:
    """None also for a batch that is cut short."""
    if len(buffer) - position < HEADER_SIZE or buffer[position + MAGIC_AT] != 2:
        return None
    length = int.from_bytes(buffer[position + 8 : position + 12], "big", signed=True)
    if length < HEADER_SIZE - LOG_OVERHEAD or position + length + LOG_OVERHEAD > len(buffer):
        return None
    header = read_header(buffer, position)
    if header.is_transactional or header.is_control or header.record_count < 0 or not has_valid_crc(buffer, position):
        return None
    return header


def _unpacked(buffer: Buffer, position: int, header: BatchHeader) -> Buffer | None:
    """The records of a compressed batch; None when they are in the buffer."""
    if not header.is_compressed or not header.record_count:
        return None
    payload = memoryview(buffer)[position + HEADER_SIZE : position + header.size_bytes]
    return codec_for_id(header.codec_id).decompress(payload)


def _digest(seed: bytes, key: Buffer) -> bytes:
    return blake2b(key, digest_size=16, key=seed).digest()


def _slot_of(table: Buffer, digest: bytes) -> tuple[int, int]:
    """The slot of a hash, or the free one where it would go: (position, offset + 1 or 0)."""
    slots = len(table) // SLOT_BYTES
    slot = _START.unpack_from(digest)[0] % slots
    for _ in range(slots):
        position = slot * SLOT_BYTES
        known, offset = _SLOT.unpack_from(table, position)
        if offset == 0 or known == digest:
            return position, offset
        slot = slot + 1 if slot + 1 < slots else 0
    raise OverflowError("the key table is full")
