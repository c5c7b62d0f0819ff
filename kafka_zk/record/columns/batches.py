"""Decodes batches of any magic and codec into columns.

Role        Pure. Decompresses.
Source      Kafka 3.9 CompletedFetch: which records a consumer sees of a batch, and with which timestamp type.
"""

from __future__ import annotations

from kafka_zk.record.batch import HEADER_SIZE, Batch
from kafka_zk.record.columns.building import ColumnBuilder
from kafka_zk.record.compression import DEFAULT_LIMIT_BYTES, codec_for_id
from kafka_zk.record.legacy import messages

NO_TIMESTAMP_TYPE = -1
"""Of magic 0, which has no timestamps."""


def append_batch(
    columns: ColumnBuilder, batch: Batch, *, first_offset: int, end_offset: int, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> None:
    """Append those records of `batch` whose offset is in [first_offset, end_offset); none of a control batch.

    The crc is not checked. Raises InvalidRecord when the records are not what the header says or take more than
    `limit_bytes`, CorruptMessage when a legacy inner message fails its crc, UnknownServerError when the payload does
    not decompress; the columns are then unchanged.
    """
    header = batch.header
    if header.magic < 2:
        _append_legacy(columns, batch, first_offset, end_offset, limit_bytes)
        return
    if header.is_control:
        return
    buffer, start, end = batch.buffer, batch.position + HEADER_SIZE, batch.end
    if header.is_compressed and header.record_count > 0:
        buffer = memoryview(codec_for_id(header.codec_id).decompress(buffer[start:end], limit_bytes))
        start, end = 0, len(buffer)
    columns.append(
        buffer,
        start,
        end,
        header.record_count,
        header.base_offset,
        header.base_timestamp,
        first_offset,
        end_offset,
        1 if header.uses_log_append_time else 0,
        header.max_timestamp,
    )


def _append_legacy(columns: ColumnBuilder, batch: Batch, first_offset: int, end_offset: int, limit_bytes: int) -> None:
    header = batch.header
    timestamp_type = NO_TIMESTAMP_TYPE if header.magic == 0 else int(header.uses_log_append_time)
    for message in messages(batch, limit_bytes=limit_bytes):
        if first_offset <= message.record.offset < end_offset:
            columns.append_record(message.record, timestamp_type)
