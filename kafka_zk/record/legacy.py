"""Message sets of magic 0 and 1: reading and writing them.

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
from collections.abc import Sequence
from typing import NamedTuple

from kafka_zk.protocol.errors import CorruptMessage, InvalidRecord
from kafka_zk.record.batch import CODEC_MASK, LOG_OVERHEAD, NO_TIMESTAMP, TIMESTAMP_TYPE_BIT, Batch, batches
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, Codec, codec_for_id, lz4_header, mend_lz4_header
from kafka_zk.record.types import Record

_OVERHEAD = {0: 14, 1: 22}
_KEY_SIZE_AT = {0: LOG_OVERHEAD + 6, 1: LOG_OVERHEAD + 14}
_INT32 = struct.Struct(">i")
_OFFSET_AND_SIZE = struct.Struct(">qi")
_BODY_V0 = struct.Struct(">bb")
_BODY_V1 = struct.Struct(">bbq")


class Message(NamedTuple):
    """One message that is not a wrapper, with its absolute offset."""

    magic: int
    record: Record


def decode_legacy(batch: Batch, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> list[Record]:
    """The records of one message or wrapper. See `messages` for the errors."""
    return [message.record for message in messages(batch, limit_bytes=limit_bytes)]


def messages(batch: Batch, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> list[Message]:
    """The message itself, or what is inside it when it is a wrapper.

    Raises InvalidRecord when a wrapper is not what it should be, CorruptMessage when an inner message is
    not what its size and crc say. The crc of the outer message is the caller's to check.
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
    inner_batches = list(batches(codec.decompress(packed, limit_bytes)))
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
        raise InvalidRecord("Found invalid record structure")
    size = _INT32.unpack_from(batch.buffer, position)[0]
    position += 4
    if size < 0:
        return None, position
    if size > batch.end - position:
        raise InvalidRecord("Found invalid record structure")
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
    relative = magic == 1 and codec is not Codec.NONE
    base_offset = records[0].offset if relative else 0
    inner = bytearray()
    for record in records:
        timestamp = record.timestamp if log_append_time_ms is None else log_append_time_ms
        inner += _message(
            record.offset - base_offset,
            magic,
            timestamp,
            record.key,
            record.value,
            _attributes(magic, log_append_time_ms),
        )
    if codec is Codec.NONE:
        return inner
    packed = codec.compress(inner)
    if magic == 0 and codec is Codec.LZ4:
        header = lz4_header(broken_checksum=True)
        packed = header + packed[len(header) :]
    if log_append_time_ms is None:
        timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    else:
        timestamp = log_append_time_ms
    attributes = _attributes(magic, log_append_time_ms) | (codec & CODEC_MASK)
    return _message(records[-1].offset, magic, max(timestamp, NO_TIMESTAMP), None, packed, attributes)


def _attributes(magic: int, log_append_time_ms: int | None) -> int:
    return TIMESTAMP_TYPE_BIT if magic == 1 and log_append_time_ms is not None else 0


def _message(
    offset: int, magic: int, timestamp: int, key: bytes | None, value: bytes | None, attributes: int
) -> bytearray:
    body = _BODY_V0.pack(0, attributes) if magic == 0 else _BODY_V1.pack(1, attributes, timestamp)
    body = b"".join((body, _sized(key), _sized(value)))
    message = bytearray(_OFFSET_AND_SIZE.pack(offset, len(body) + 4))
    message += zlib.crc32(body).to_bytes(4, "big")
    message += body
    return message


def _sized(field: bytes | None) -> bytes:
    return _INT32.pack(-1) if field is None else _INT32.pack(len(field)) + field
