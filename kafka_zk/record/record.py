"""Decodes the records of a batch.

Role        Pure. Decompresses, so large batches belong in a pool.
Source      Kafka 3.9 DefaultRecordBatch.iterator, AbstractLegacyRecordBatch.DeepRecordsIterator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from kafka_zk.record.batch import HEADER_SIZE, Batch
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, codec_for_id
from kafka_zk.record.legacy import decode_legacy
from kafka_zk.record.types import Buffer, Header, Record
from kafka_zk.record.walking import columns, decode

__all__ = ["Header", "Record", "decode_records", "times_of"]


def decode_records(batch: Batch, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> list[Record]:
    """All records of a batch of any magic, decompressed, with absolute offsets.

    With LogAppendTime each carries the batch's max timestamp. The batch's own crc is not checked (`Batch.is_valid`).
    Raises InvalidRecord when the records are not what the header says or take more than `limit_bytes`,
    CorruptMessage when a legacy inner message fails its crc, UnknownServerError when the payload does not decompress.
    """
    header = batch.header
    if header.magic < 2:
        return decode_legacy(batch, limit_bytes=limit_bytes)
    if header.is_compressed and header.record_count > 0:
        plain = codec_for_id(header.codec_id).decompress(batch.payload, limit_bytes)
        records = decode(plain, 0, len(plain), header.record_count, header.base_timestamp, header.base_offset)
    else:
        start = batch.position + HEADER_SIZE
        records = decode(batch.buffer, start, batch.end, header.record_count, header.base_timestamp, header.base_offset)
    if header.uses_log_append_time:
        timestamp = header.max_timestamp
        return [record._replace(timestamp=timestamp) for record in records]
    return records


def times_of(batch: Batch) -> Iterator[tuple[int, int]]:
    """(timestamp, offset) of each record of a batch of any magic, without the records: four times as quick.

    It is decompressed and checked before this returns. Raises what `decode_records` raises.
    """
    header = batch.header
    if header.magic < 2:
        return ((record.timestamp, record.offset) for record in decode_legacy(batch))
    if header.is_compressed and header.record_count > 0:
        payload: Buffer = codec_for_id(header.codec_id).decompress(batch.payload)
        place = (payload, 0, len(payload))
    else:
        place = (batch.buffer, batch.position + HEADER_SIZE, batch.end)
    rows = columns(*place, header.record_count, header.base_timestamp)
    timestamps: Iterable[int] = repeat(header.max_timestamp) if header.uses_log_append_time else rows.timestamps
    return zip(timestamps, map(header.base_offset.__add__, rows.offset_deltas), strict=False)
