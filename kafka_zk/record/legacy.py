"""Reads and writes message sets of magic 0 and 1.

Role        Pure. The one module of this format's payload; the header part is in batch.py.
Layout      offset 8 | size 4 | crc-32 4 (of what follows) | magic 1 | attributes 1 | timestamp 8 (magic 1 only) |
            key size 4, key | value size 4, value. Size -1 is null. There are no headers, producer ids or epochs.
Wrappers    A compressed set is one message with a null key whose value is the packed inner set. Its offset is that of
            the last inner message. Inner offsets are absolute under magic 0, relative (last = wrapper's) under magic 1.
            The timestamp of a magic 1 wrapper is the inner maximum, or with LogAppendTime that of all inner messages.
Source      Kafka 3.9 AbstractLegacyRecordBatch, LegacyRecord, MemoryRecordsBuilder.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from kafka_zk.protocol.errors import CorruptMessage, InvalidRecord, UnknownServerError
from kafka_zk.record.batch import CODEC_MASK, LOG_OVERHEAD, NO_TIMESTAMP, TIMESTAMP_TYPE_BIT, Batch, batches
from kafka_zk.record.compression import (
    DEFAULT_LIMIT_BYTES,
    RECORD_OBJECT_BYTES,
    Codec,
    check_record_count,
    codec_for_id,
    lz4_header,
    mend_lz4_header,
)
from kafka_zk.record.types import Record

MESSAGE_HEAD_BYTES = {0: LOG_OVERHEAD + 14, 1: LOG_OVERHEAD + 22}
"""A message without key and value, by magic."""

_KEY_SIZE_AT = {0: LOG_OVERHEAD + 6, 1: LOG_OVERHEAD + 14}
_INT32 = struct.Struct(">i")
_OFFSET_SIZE_CRC = struct.Struct(">qiI")
_HEAD_V0 = struct.Struct(">bbi")  # magic, attributes, size of the key
_HEAD_V1 = struct.Struct(">bbqi")
_NULL = _INT32.pack(-1)
_LIES = "A key or a value ends behind its message"
"""For a message with a right crc. The code is Kafka's, which runs into the end of a buffer there."""


class Message(NamedTuple):
    """One message that is not a wrapper, with its absolute offset."""

    magic: int
    record: Record


def decode_legacy(batch: Batch, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> list[Record]:
    """The records of one message or wrapper. See `messages` for the errors."""
    return [message.record for message in messages(batch, limit_bytes=limit_bytes)]


def messages(batch: Batch, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> list[Message]:
    """The message itself, or what is inside it when it is a wrapper.

    Raises InvalidRecord when a wrapper is not what it should be, UnknownServerError when a key or value is longer than
    its message, CorruptMessage when an inner message is not what its size and crc say. The crc of the
    outer message is the caller's to check.
    """
    if not batch.header.is_compressed:
        key, value = _key_and_value(batch)
        header = batch.header
        return [Message(header.magic, Record(header.base_offset, header.max_timestamp, key, value))]
    return _unwrap(batch, limit_bytes)


def _unwrap(wrapper: Batch, limit_bytes: int) -> list[Message]:
    header = wrapper.header
    codec = codec_for_id(header.codec_id)
    if codec is Codec.ZSTD:
        raise InvalidRecord("Invalid wrapper compressionType for legacy record: zstd")
    packed = _value(wrapper)
    if packed is None:
        raise InvalidRecord(f"Found invalid compressed record set with null value (magic = {header.magic})")
    if header.magic == 0 and codec is Codec.LZ4:
        packed = memoryview(mend_lz4_header(packed))
    inner_batches = list(islice(batches(codec.decompress(packed, limit_bytes)), limit_bytes // RECORD_OBJECT_BYTES + 1))
    check_record_count(len(inner_batches), limit_bytes)
    if not inner_batches:
        raise InvalidRecord("Found invalid compressed record set with no inner records")
    base_offset = _base_of_inner_offsets(header.magic, header.base_offset, inner_batches[-1].header.base_offset)
    return [_inner(batch, wrapper, base_offset) for batch in inner_batches]


def _base_of_inner_offsets(magic: int, wrapper_offset: int, last_inner_offset: int) -> int:
    if magic == 0 or wrapper_offset == 0:
        return 0  # some versions of librdkafka leave the wrapper's offset at 0 when they produce
    if wrapper_offset < last_inner_offset:
        raise InvalidRecord(
            f"Found invalid wrapper offset in compressed v1 message set, wrapper offset '{wrapper_offset}' is less "
            f"than the last inner message offset '{last_inner_offset}' and it is not zero."
        )
    return wrapper_offset - last_inner_offset


def _inner(batch: Batch, wrapper: Batch, base_offset: int) -> Message:
    header = batch.header
    if header.magic > 1:
        raise InvalidRecord(
            f"Compressed message magic {header.magic} does not match wrapper magic {wrapper.header.magic}"
        )
    if header.is_compressed:
        raise InvalidRecord("Inner messages must not be compressed")
    if not batch.is_valid():
        computed = zlib.crc32(batch.data[16:])
        raise CorruptMessage(f"Record is corrupt (stored crc = {header.crc}, computed crc = {computed})")
    stamped_by_wrapper = header.magic == 1 and wrapper.header.uses_log_append_time
    timestamp = wrapper.header.max_timestamp if stamped_by_wrapper else header.max_timestamp
    key, value = _key_and_value(batch)
    return Message(header.magic, Record(base_offset + header.base_offset, timestamp, key, value))


def _key_and_value(batch: Batch) -> tuple[bytes | None, bytes | None]:
    position = batch.position + _KEY_SIZE_AT[batch.header.magic]
    key, position = _field(batch, position)
    value, _ = _field(batch, position)
    return (None if key is None else bytes(key)), (None if value is None else bytes(value))


def _value(batch: Batch) -> memoryview | None:
    _, position = _field(batch, batch.position + _KEY_SIZE_AT[batch.header.magic])
    return _field(batch, position)[0]


def _field(batch: Batch, position: int) -> tuple[memoryview | None, int]:
    if position + 4 > batch.end:
        raise UnknownServerError(_LIES)
    size = _INT32.unpack_from(batch.buffer, position)[0]
    position += 4
    if size < 0:
        return None, position
    if size > batch.end - position:
        raise UnknownServerError(_LIES)
    return batch.buffer[position : position + size], position + size


def build_message_set(
    records: Sequence[Record],
    *,
    magic: int,
    codec: Codec = Codec.NONE,
    log_append_time_ms: int | None = None,
) -> bytearray:
    """`records`, which keep their offsets, as messages of magic 0 or 1; with a codec as one wrapper around them.

    Headers are dropped: the format has none. Set `log_append_time_ms` for LogAppendTime.
    """
    return message_set_of(
        [record.offset for record in records],
        [record.timestamp for record in records],
        [record.key for record in records],
        [record.value for record in records],
        magic=magic,
        codec=codec,
        log_append_time_ms=log_append_time_ms,
    )


def message_set_of(
    offsets: Sequence[int],
    timestamps: Sequence[int],
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
    *,
    magic: int,
    codec: Codec = Codec.NONE,
    log_append_time_ms: int | None = None,
) -> bytearray:
    """The same from columns, one entry a record: half the time where there are many."""
    attributes = TIMESTAMP_TYPE_BIT if magic == 1 and log_append_time_ms is not None else 0
    if log_append_time_ms is not None:
        timestamps = [log_append_time_ms] * len(offsets)
    if codec is Codec.NONE:
        return _messages(offsets, timestamps, keys, values, magic, attributes)
    base_offset = offsets[0] if magic == 1 else 0
    inner = _messages([offset - base_offset for offset in offsets], timestamps, keys, values, magic, attributes)
    packed = codec.compress(inner)
    if magic == 0 and codec is Codec.LZ4:
        header = lz4_header(broken_checksum=True)
        packed = header + packed[len(header) :]
    timestamp = max(max(timestamps), NO_TIMESTAMP)
    return _messages((offsets[-1],), (timestamp,), (None,), (packed,), magic, attributes | (codec & CODEC_MASK))


def _messages(
    offsets: Iterable[int],
    timestamps: Iterable[int],
    keys: Iterable[bytes | None],
    values: Iterable[bytes | None],
    magic: int,
    attributes: int,
) -> bytearray:
    # This loop is what down-conversion costs. Joining a few bytes is cheaper here than packing into a buffer.
    head = _HEAD_V1.pack if magic else _HEAD_V0.pack
    crc32, join, size_of = zlib.crc32, b"".join, _INT32.pack
    parts: list[bytes] = []
    add = parts.append
    for offset, timestamp, key, value in zip(offsets, timestamps, keys, values, strict=True):
        key_size = -1 if key is None else len(key)
        start = head(1, attributes, timestamp, key_size) if magic else head(0, attributes, key_size)
        body = join((start, key or b"", _NULL if value is None else size_of(len(value)), value or b""))
        add(_OFFSET_SIZE_CRC.pack(offset, len(body) + 4, crc32(body)))
        add(body)
    return bytearray().join(parts)
