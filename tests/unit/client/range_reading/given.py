"""Batches as a log holds them: data, transactions and their markers."""

from __future__ import annotations

from kafka_zk.record import Record, build_batch
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker

T0 = 1_700_000_000_000


def data(base_offset: int, count: int = 1, *, producer_id: int = -1, last_offset: int | None = None) -> bytes:
    """One batch; with a producer id it is part of a transaction."""
    records = [Record(base_offset + index, T0 + base_offset + index, None, b"v") for index in range(count)]
    return bytes(
        build_batch(
            records,
            base_offset=base_offset,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0 if producer_id >= 0 else -1,
            transactional=producer_id >= 0,
            last_offset=last_offset,
        )
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    return bytes(
        build_marker(
            EndTransactionMarker(kind, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp_ms=T0,
            base_offset=offset,
        )
    )
