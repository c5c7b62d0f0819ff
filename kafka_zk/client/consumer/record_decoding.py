"""Decodes a magic 2 batch into consumer records: the pure twin of `_record_decoding`.

Role        Pure. One call a batch; `decoding.py` chooses which twin runs.
"""

from __future__ import annotations

from kafka_zk.client.consumer.records import ConsumerRecord
from kafka_zk.record.timestamp_type import TimestampType
from kafka_zk.record.types import Buffer
from kafka_zk.record.walking import decode


def decode_batch(
    buffer: Buffer,
    position: int,
    end: int,
    count: int,
    topic: str,
    partition: int,
    base_offset: int,
    base_timestamp: int,
    append_timestamp: int | None,
    timestamp_type: TimestampType,
    leader_epoch: int | None,
    first_offset: int,
) -> list[ConsumerRecord]:
    """The records from `first_offset` on. `append_timestamp` replaces all timestamps under LogAppendTime.

    Raises InvalidRecord when the bytes are not `count` records.
    """
    return [
        ConsumerRecord(
            topic,
            partition,
            record.offset,
            record.timestamp if append_timestamp is None else append_timestamp,
            timestamp_type,
            record.key,
            record.value,
            record.headers,
            leader_epoch,
        )
        for record in decode(buffer, position, end, count, base_timestamp, base_offset)
        if record.offset >= first_offset
    ]
