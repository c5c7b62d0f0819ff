"""Builds a magic 2 batch from records, byte for byte as the Java producer and broker do.

Role        Pure. Used by producers, by the coordinators, and by the leader when it must rebuild what a client sent.
Source      Kafka 3.9 MemoryRecordsBuilder, DefaultRecordBatch.writeHeader.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Sequence

from kafka_zk.record.batch import (
    CONTROL_BIT,
    CRC_AT,
    CRC_FROM,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
)
from kafka_zk.record.compression import Codec
from kafka_zk.record.crc import crc32c
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.types import Record
from kafka_zk.record.walking import encode


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    log_append_time_ms: int = NO_TIMESTAMP,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = NO_LEADER_EPOCH,
    transactional: bool = False,
    control: bool = False,
    last_offset: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytearray:
    """One batch holding `records`, whose offsets are absolute and not below `base_offset`.

    With LOG_APPEND_TIME the header's max timestamp is `log_append_time_ms`; the records keep theirs. The cleaner
    passes `last_offset` to keep the original one after it removed records, and `delete_horizon_ms`, which then
    becomes the base of the timestamps. Without records the batch is the bare header.
    """
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    else:
        base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        max_timestamp = log_append_time_ms
    else:
        max_timestamp = NO_TIMESTAMP
        for record in records:
            if record.timestamp > max_timestamp:
                max_timestamp = record.timestamp
    if last_offset is None:
        last_offset = records[-1].offset if records else base_offset
    payload: bytes | bytearray = encode(records, base_offset, base_timestamp)
    if codec is not Codec.NONE and records:
        payload = codec.compress(payload, level)
    return assemble(
        payload,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=codec
        | (TIMESTAMP_TYPE_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
        | (DELETE_HORIZON_BIT if delete_horizon_ms is not None else 0),
        last_offset_delta=last_offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=len(records),
    )


def build_empty_batch(
    *,
    base_offset: int,
    last_offset: int,
    timestamp_type: TimestampType,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    leader_epoch: int,
    transactional: bool,
    control: bool,
) -> bytearray:
    """The bare header that the cleaner leaves so that a live producer's last sequence survives.

    Source: DefaultRecordBatch.writeEmptyHeader.
    """
    return assemble(
        b"",
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=(TIMESTAMP_TYPE_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0),
        last_offset_delta=last_offset - base_offset,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=0,
    )


def assemble(
    payload: bytes | bytearray,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    count: int,
) -> bytearray:
    """A header with its crc in front of a ready payload."""
    batch = bytearray(HEADER_SIZE + len(payload))
    batch[HEADER_SIZE:] = payload
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LOG_OVERHEAD,
        leader_epoch,
        2,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    batch[CRC_AT:CRC_FROM] = crc32c(memoryview(batch)[CRC_FROM:]).to_bytes(4, "big")
    return batch
