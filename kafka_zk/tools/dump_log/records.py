"""The records inside a stored batch, as far as they can be read.

Role        Pure. A valid batch is decoded at once; for any other, the records up to the first unreadable one
            are returned, and then its error is raised, as Apache's iterator does.
Source      Kafka 3.9 DefaultRecordBatch.iterator, AbstractLegacyRecordBatch.DeepRecordsIterator, LegacyRecord.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from kafka_zk.protocol.errors import CorruptMessage, InvalidRecord, UnknownServerError
from kafka_zk.record.batch import HEADER_SIZE, LEGACY_MIN_SIZE, LOG_OVERHEAD, MAGIC_AT, Batch, BatchHeader, batches
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, Codec, codec_for_id, mend_lz4_header
from kafka_zk.record.types import Buffer, Record
from kafka_zk.record.walking import decode
from kafka_zk.tools.dump_log.damaged_records import records_until_bad
from kafka_zk.tools.dump_log.java_file import ILLEGAL_ARGUMENT, KAFKA_EXCEPTION, Damaged
from kafka_zk.tools.dump_log.segment_reader import StoredBatch

_INT32 = struct.Struct(">i")
_OUT_OF_BOUNDS = "java.lang.IndexOutOfBoundsException"
_KEY_SIZE_AT = {0: LOG_OVERHEAD + 6, 1: LOG_OVERHEAD + 14}


def records_of(batch: StoredBatch) -> Iterator[list[Record]]:
    """The records of a magic 2 batch, in one list if all is well.

    Raises InvalidRecord, Damaged after what could be read.
    """
    header = batch.header
    if header.record_count == 0:
        return
    if len(batch.data) < HEADER_SIZE:
        raise Damaged(None, _OUT_OF_BOUNDS)
    payload, start = _payload(batch)
    try:
        records = decode(payload, start, len(payload), header.record_count, header.base_timestamp, header.base_offset)
    except InvalidRecord:
        for record in records_until_bad(payload, start, header):
            yield _stamped([record], header)
    else:
        yield _stamped(records, header)


def _payload(batch: StoredBatch) -> tuple[Buffer, int]:
    """What holds the records, and where they begin."""
    if not batch.header.is_compressed:
        return batch.data, HEADER_SIZE
    return _decompressed(codec_for_id(batch.header.codec_id), batch.data[HEADER_SIZE:]), 0


def _decompressed(codec: Codec, data: Buffer) -> Buffer:
    try:
        return codec.decompress(data, DEFAULT_LIMIT_BYTES)
    except UnknownServerError as error:
        raise Damaged(str(error), KAFKA_EXCEPTION) from error


def _stamped(records: list[Record], header: BatchHeader) -> list[Record]:
    if not header.uses_log_append_time:
        return records
    return [record._replace(timestamp=header.max_timestamp) for record in records]


# --- magic 0 and 1 ---------------------------------------------------------------------------------------------------


class Message(NamedTuple):
    """A record of magic 0 or 1 in its buffer. Sizes are as stored; key and value are checked only when read."""

    offset: int
    timestamp: int
    crc: int
    is_valid: bool
    batch: Batch

    @property
    def key_size(self) -> int:
        return _int32(self.batch, self.key_size_at)

    @property
    def key_size_at(self) -> int:
        return self.batch.position + _KEY_SIZE_AT[self.batch.header.magic]

    @property
    def value_size(self) -> int:
        """Raises Damaged where the key ends beyond the message."""
        return _int32(self.batch, self._value_size_at)

    @property
    def _value_size_at(self) -> int:
        return self.key_size_at + 4 + max(0, self.key_size)

    def record(self) -> Record:
        """Raises Damaged where a size is larger than the message."""
        return Record(self.offset, self.timestamp, _sized(self.batch, self.key_size_at), self.value())

    def value(self) -> bytes | None:
        """Raises Damaged if it does not fit into the message."""
        return _sized(self.batch, self._value_size_at)


def messages_of(batch: StoredBatch) -> Iterator[Message]:
    """The message itself, or what is inside when it is a wrapper. Raises InvalidRecord, CorruptMessage, Damaged.

    The batch must be of a known magic and codec.
    """
    outer = Batch(batch.data, 0, batch.header)
    wrapper = batch.header
    if not wrapper.is_compressed:
        yield _message(outer, wrapper, wrapper.base_offset)
        return
    try:
        inner = list(batches(_unwrapped(outer)))
    except CorruptMessage:
        raise CorruptMessage(f"Record size is less than the minimum record overhead ({LEGACY_MIN_SIZE})") from None
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
    magic = outer.header.magic
    codec = codec_for_id(outer.header.codec_id)
    if codec is Codec.ZSTD:
        raise InvalidRecord(f"Invalid wrapper compressionType found in legacy deep record iterator {magic}")
    packed = _message(outer, outer.header, outer.header.base_offset).value()
    if packed is None:
        raise InvalidRecord(f"Found invalid compressed record set with null value (magic = {magic})")
    if magic == 0 and codec is Codec.LZ4:
        packed = mend_lz4_header(packed)
    return _decompressed(codec, packed)


def _message(batch: Batch, wrapper: BatchHeader, offset: int) -> Message:
    header = batch.header
    stamped_by_wrapper = header.magic == 1 and wrapper.uses_log_append_time
    timestamp = wrapper.max_timestamp if stamped_by_wrapper else header.max_timestamp
    return Message(offset, timestamp, header.crc, header.crc == zlib.crc32(batch.data[MAGIC_AT:]), batch)


def _int32(batch: Batch, position: int) -> int:
    if position + 4 > batch.end:
        raise Damaged(None, _OUT_OF_BOUNDS)
    number: int = _INT32.unpack_from(batch.buffer, position)[0]
    return number


def _sized(batch: Batch, size_at: int) -> bytes | None:
    size = _int32(batch, size_at)
    start = size_at + 4
    if size < 0:
        return None
    if size > batch.end - start:
        raise Damaged(f"newLimit > capacity: ({size} > {batch.end - start})", ILLEGAL_ARGUMENT)
    return bytes(batch.buffer[start : start + size])
