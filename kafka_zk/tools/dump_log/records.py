"""The records inside a stored batch, as far as they can be read.

Role        Pure. A batch in order is decoded at once; of another one the records up to the first that cannot be read
            are given, and then its error is raised, as Apache's iterator does.
Source      Kafka 3.9 DefaultRecordBatch.RecordIterator, AbstractLegacyRecordBatch.DeepRecordsIterator.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from kafka_zk.protocol.errors import CorruptMessage, InvalidRecord, UnknownServerError
from kafka_zk.record.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC_AT, Batch, BatchHeader, batches
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, Codec, codec_for_id, mend_lz4_header
from kafka_zk.record.types import Buffer, Record
from kafka_zk.record.walker import LEFT_OVER
from kafka_zk.record.walking import decode
from kafka_zk.tools.dump_log.segment_reader import StoredBatch

_INT32 = struct.Struct(">i")
_KEY_SIZE_AT = {0: LOG_OVERHEAD + 6, 1: LOG_OVERHEAD + 14}
UNREADABLE = (InvalidRecord, CorruptMessage, UnknownServerError)
"""What the functions here raise."""


class Message(NamedTuple):
    """A record of magic 0 or 1, with the crc it carries."""

    record: Record
    crc: int
    is_valid: bool


def records_of(batch: StoredBatch) -> Iterator[list[Record]]:
    """The records of a magic 2 batch, in one list if all is well. Raises UNREADABLE after what could be read."""
    header = batch.header
    count = header.record_count
    if count == 0:
        return
    if len(batch.data) < HEADER_SIZE:
        raise InvalidRecord(f"Record batch size {len(batch.data)} is less than {HEADER_SIZE}")
    payload, start = _payload(batch)
    try:
        records = decode(payload, start, len(payload), count, header.base_timestamp, header.base_offset)
    except InvalidRecord:
        yield from _one_by_one(payload, start, header)
    else:
        yield _stamped(records, header)


def _payload(batch: StoredBatch) -> tuple[Buffer, int]:
    """What holds the records, and where they begin."""
    if not batch.header.is_compressed:
        return batch.data, HEADER_SIZE
    codec = codec_for_id(batch.header.codec_id)
    return codec.decompress(batch.data[HEADER_SIZE:], DEFAULT_LIMIT_BYTES), 0


def _stamped(records: list[Record], header: BatchHeader) -> list[Record]:
    if not header.uses_log_append_time:
        return records
    return [record._replace(timestamp=header.max_timestamp) for record in records]


def _one_by_one(payload: Buffer, position: int, header: BatchHeader) -> Iterator[list[Record]]:
    if header.record_count < 0:
        raise InvalidRecord(f"Found invalid record count {header.record_count} in magic v{header.magic} batch")
    for left in range(header.record_count, 0, -1):
        end = _end_of_record(payload, position)
        records = decode(payload, position, end, 1, header.base_timestamp, header.base_offset)
        position = end
        if left == 1 and position != len(payload):
            raise InvalidRecord(LEFT_OVER)
        yield _stamped(records, header)


def _end_of_record(payload: Buffer, position: int) -> int:
    """Where its length says that it ends; the end of the payload when that cannot be, so that decoding tells why."""
    size = shift = 0
    for at in range(position, min(position + 5, len(payload))):
        size |= (payload[at] & 0x7F) << shift
        if payload[at] < 0x80:
            size &= 0xFFFFFFFF
            end = at + 1 + ((size >> 1) ^ -(size & 1))
            return end if at < end <= len(payload) else len(payload)
        shift += 7
    return len(payload)


# --- magic 0 and 1 ---------------------------------------------------------------------------------------------------


def messages_of(batch: StoredBatch) -> Iterator[Message]:
    """The message itself, or what is inside when it is a wrapper. Raises UNREADABLE."""
    outer = Batch(batch.data, 0, batch.header)
    if not batch.header.is_compressed:
        yield _message(outer, batch.header, batch.header.base_offset)
        return
    wrapper = batch.header
    inner = list(batches(_unwrapped(outer)))
    if not inner:
        raise InvalidRecord("Found invalid compressed record set with no inner records")
    base_offset = 0
    if wrapper.magic == 1 and wrapper.base_offset != 0:
        base_offset = wrapper.base_offset - inner[-1].header.base_offset
        if base_offset < 0:
            raise InvalidRecord(
                f"Found invalid wrapper offset in compressed v1 message set, wrapper offset '{wrapper.base_offset}' "
                f"is less than the last inner message offset '{inner[-1].header.base_offset}' and it is not zero."
            )
    for each in inner:
        if each.header.is_compressed:
            raise InvalidRecord("Inner messages must not be compressed")
        yield _message(each, wrapper, base_offset + each.header.base_offset)


def _unwrapped(outer: Batch) -> Buffer:
    codec = codec_for_id(outer.header.codec_id)
    if codec is Codec.ZSTD:
        raise InvalidRecord("Invalid wrapper compressionType for legacy record: zstd")
    _, position = _field(outer, outer.position + _KEY_SIZE_AT[outer.header.magic])
    packed, _ = _field(outer, position)
    if packed is None:
        raise InvalidRecord(f"Found invalid compressed record set with null value (magic = {outer.header.magic})")
    if outer.header.magic == 0 and codec is Codec.LZ4:
        packed = mend_lz4_header(packed)
    return codec.decompress(packed, DEFAULT_LIMIT_BYTES)


def _message(batch: Batch, wrapper: BatchHeader, offset: int) -> Message:
    header = batch.header
    key, position = _field(batch, batch.position + _KEY_SIZE_AT[0 if header.magic == 0 else 1])
    value, _ = _field(batch, position)
    stamped_by_wrapper = header.magic == 1 and wrapper.uses_log_append_time
    timestamp = wrapper.max_timestamp if stamped_by_wrapper else header.max_timestamp
    is_valid = header.crc == zlib.crc32(batch.data[MAGIC_AT:])
    return Message(Record(offset, timestamp, key, value), header.crc, is_valid)


def _field(batch: Batch, position: int) -> tuple[bytes | None, int]:
    if position + 4 > batch.end:
        raise InvalidRecord("Found invalid record structure")
    size = _INT32.unpack_from(batch.buffer, position)[0]
    position += 4
    if size < 0:
        return None, position
    if size > batch.end - position:
        raise InvalidRecord("Found invalid record structure")
    return bytes(batch.buffer[position : position + size]), position + size
