"""The record batch as bytes: the layout of its header, and how to walk batches in a buffer.

Role        Pure. The one module that knows the header layout of magic 2, and what all magics share: offset at 0,
            length at 8, magic at 16.
Layout      base offset 8 | length 4 | leader epoch 4 | magic 1 | crc 4 | attributes 2 | last offset delta 4 |
            base timestamp 8 | max timestamp 8 | producer id 8 | producer epoch 2 | base sequence 4 | count 4 | records
            All big-endian. The CRC-32C covers byte 21 (attributes) to the end: a leader may write base offset and
            leader epoch without a new crc, but not attributes or max timestamp.
Example     00000000 00000005  0000004c  00000000  02  9775 4cb9 ...: one record at offset 5, 88 bytes in all.
Source      Kafka 3.9 DefaultRecordBatch, LegacyRecord, ByteBufferLogInputStream.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.crc import crc32c
from kafka_zk.record.types import Buffer

# Literals and Final: compiled modules then hold them as constants instead of looking them up.
LOG_OVERHEAD: Final = 12  # offset and length, which the length field does not count
HEADER_SIZE_UP_TO_MAGIC: Final = 17
MAGIC_AT: Final = 16
HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = 61  # HEADER.size
LEADER_EPOCH_AT: Final = 12
CRC_AT: Final = 17
CRC_FROM: Final = 21
ATTRIBUTES_AT: Final = 21
BASE_TIMESTAMP_AT: Final = 27
MAX_TIMESTAMP_AT: Final = 35

LEGACY_MIN_SIZE: Final = 14  # a magic 0 message without key and value; the smallest legal length field of any magic
_LEGACY_V0 = struct.Struct(">qiIbb")
_LEGACY_V1 = struct.Struct(">qiIbbq")
_OFFSET_AND_LENGTH = struct.Struct(">qi")

CODEC_MASK: Final = 0x07
TIMESTAMP_TYPE_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_COUNT: Final = -1  # of a legacy message: only its payload can tell


class BatchHeader(NamedTuple):
    """The header of one batch, in wire order.

    For a legacy message (magic 0 and 1) the fields it lacks hold their "none" value, `base_timestamp` and
    `max_timestamp` are its timestamp, and `base_offset` is its own offset: for a compressed wrapper that is
    the offset of its last record.
    """

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Of the whole batch, header included."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, -1 without sequences. Wraps after 2147483647 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec_id(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def uses_log_append_time(self) -> bool:
        return self.magic > 0 and self.attributes & TIMESTAMP_TYPE_BIT != 0

    @property
    def is_transactional(self) -> bool:
        return self.magic > 1 and self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.magic > 1 and self.attributes & CONTROL_BIT != 0

    @property
    def has_delete_horizon(self) -> bool:
        return self.magic > 1 and self.attributes & DELETE_HORIZON_BIT != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers of this batch may be removed; stored in place of the base timestamp."""
        return self.base_timestamp if self.has_delete_horizon else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID


class Batch(NamedTuple):
    """One whole batch inside a buffer."""

    buffer: memoryview
    position: int
    header: BatchHeader

    @property
    def end(self) -> int:
        return self.position + self.header.length + LOG_OVERHEAD

    @property
    def size_bytes(self) -> int:
        return self.header.length + LOG_OVERHEAD

    @property
    def data(self) -> memoryview:
        """The batch's own bytes, header included; a view, not a copy."""
        return self.buffer[self.position : self.end]

    @property
    def payload(self) -> memoryview:
        """What follows the header of a magic 2 batch: its records, compressed when a codec is set."""
        return self.buffer[self.position + HEADER_SIZE : self.end]

    def is_valid(self) -> bool:
        """Whether the stored crc matches the bytes."""
        return self.header.crc == computed_crc(self.buffer, self.position, self.header)


def batch_size(buffer: Buffer, position: int = 0, end: int | None = None) -> int | None:
    """Size in bytes of the batch that starts at `position`; None when fewer than 17 bytes are left.

    Raises CorruptMessage for a length no batch can have or an unknown magic.
    Source: ByteBufferLogInputStream.nextBatchSize.
    """
    remaining = (len(buffer) if end is None else end) - position
    if remaining < LOG_OVERHEAD:
        return None
    length: int = _OFFSET_AND_LENGTH.unpack_from(buffer, position)[1]
    if length < LEGACY_MIN_SIZE:
        raise CorruptMessage(f"Record size {length} is less than the minimum record overhead ({LEGACY_MIN_SIZE})")
    if remaining < HEADER_SIZE_UP_TO_MAGIC:
        return None
    magic = buffer[position + MAGIC_AT]
    if magic > 2:
        raise CorruptMessage(f"Invalid magic found in record: {magic - 256 if magic > 127 else magic}")
    return length + LOG_OVERHEAD


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`, of any magic.

    Raises CorruptMessage when the bytes are too few for the header of their magic, the length is less than that
    header, or the magic is unknown. The crc is not checked.
    """
    try:
        magic = buffer[position + MAGIC_AT]
        if magic == 2:
            header: BatchHeader = tuple.__new__(BatchHeader, HEADER.unpack_from(buffer, position))
            if header.length < HEADER_SIZE - LOG_OVERHEAD:
                raise CorruptMessage(f"Record batch size {header.length + LOG_OVERHEAD} is less than {HEADER_SIZE}")
            return header
        return _read_legacy_header(buffer, position, magic)
    except (struct.error, IndexError) as error:
        raise CorruptMessage(f"Only {len(buffer) - position} bytes are left for a batch header") from error


def _read_legacy_header(buffer: Buffer, position: int, magic: int) -> BatchHeader:
    timestamp = NO_TIMESTAMP
    if magic == 0:
        offset, length, crc, _, attributes = _LEGACY_V0.unpack_from(buffer, position)
    elif magic == 1:
        offset, length, crc, _, attributes, timestamp = _LEGACY_V1.unpack_from(buffer, position)
    else:
        raise CorruptMessage(f"Invalid magic found in record: {magic - 256 if magic > 127 else magic}")
    overhead = LEGACY_MIN_SIZE if magic == 0 else LEGACY_MIN_SIZE + 8
    if length < overhead:
        raise CorruptMessage(f"Record size {length} is less than the minimum record overhead ({overhead})")
    return BatchHeader(
        base_offset=offset,
        length=length,
        partition_leader_epoch=NO_LEADER_EPOCH,
        magic=magic,
        crc=crc,
        attributes=attributes,
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        record_count=NO_COUNT,
    )


def batches(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[Batch]:
    """The whole batches from `position` to `end`, of any magic; a partial one at the end is left out.

    Raises CorruptMessage where the bytes cannot be a batch. Crcs are not checked.
    """
    view = memoryview(buffer)
    limit = len(view) if end is None else end
    while True:
        size = batch_size(view, position, limit)
        if size is None or position + size > limit:
            return
        yield Batch(view, position, read_header(view, position))
        position += size


def computed_crc(buffer: Buffer, position: int, header: BatchHeader) -> int:
    """The crc that the batch at `position` should have."""
    end = position + header.length + LOG_OVERHEAD
    view = memoryview(buffer)
    if header.magic == 2:
        return crc32c(view[position + CRC_FROM : end])
    return zlib.crc32(view[position + MAGIC_AT : end])


def has_valid_crc(buffer: Buffer, position: int = 0) -> bool:
    """Whether the crc of the batch at `position` matches its bytes. The whole batch must be in the buffer."""
    header = read_header(buffer, position)
    return header.crc == computed_crc(buffer, position, header)


def increment_sequence(sequence: int, by: int) -> int:
    """`sequence` moved on by `by`; after 2147483647 comes 0."""
    return (sequence + by) & 0x7FFFFFFF
