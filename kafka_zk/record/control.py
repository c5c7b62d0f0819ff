"""Control batches: the markers that end a transaction in a partition.

Role        Pure. The one module of this format.
Layout      One uncompressed record. Key: version 2 (0) | type 2. Value: version 2 (0) | coordinator epoch 4.
            Batch attributes: transactional and control; producer id and epoch of the transaction, no sequence.
            78 bytes in all.
Source      Kafka 3.9 ControlRecordType, EndTransactionMarker, MemoryRecords.withEndTransactionMarker.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from kafka_zk.protocol.errors import InvalidRecord
from kafka_zk.record.batch import NO_LEADER_EPOCH, Batch
from kafka_zk.record.builder import build_batch
from kafka_zk.record.record import decode_records
from kafka_zk.record.types import Record

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_VERSION = 0


class ControlType(IntEnum):
    """What a control record is about. Types of 2 and more belong to KRaft and are passed over."""

    ABORT = 0
    COMMIT = 1
    UNKNOWN = -1


class EndTransactionMarker(NamedTuple):
    """How a transaction ended, and the epoch of the coordinator that said so."""

    control_type: ControlType
    coordinator_epoch: int

    @property
    def is_commit(self) -> bool:
        return self.control_type is ControlType.COMMIT


def control_type_of(key: bytes | None) -> ControlType:
    """Raises InvalidRecord when `key` cannot be that of a control record."""
    if key is None or len(key) < _KEY.size:
        size = 0 if key is None else len(key)
        raise InvalidRecord(
            f"Invalid value size found for end control record key. Must have at least {_KEY.size} bytes, "
            f"but found only {size}"
        )
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise InvalidRecord(f"Invalid version found for control record: {version}. May indicate data corruption")
    return ControlType(number) if number in (0, 1) else ControlType.UNKNOWN


def decode_marker(record: Record) -> EndTransactionMarker | None:
    """The marker in a control record; None for a type that is not a marker. Raises InvalidRecord."""
    control_type = control_type_of(record.key)
    if control_type is ControlType.UNKNOWN:
        return None
    size = 0 if record.value is None else len(record.value)
    if record.value is None or size < _VALUE.size:
        raise InvalidRecord(
            f"Invalid value size found for end transaction marker. Must have at least {_VALUE.size} bytes, "
            f"but found only {size}"
        )
    version, coordinator_epoch = _VALUE.unpack_from(record.value)
    if version < 0:
        raise InvalidRecord(
            f"Invalid version found for end transaction marker: {version}. May indicate data corruption"
        )
    return EndTransactionMarker(control_type, coordinator_epoch)


def marker_of(batch: Batch) -> EndTransactionMarker | None:
    """The marker that a control batch holds; None when it holds none (emptied by the cleaner, or not a marker)."""
    records = decode_records(batch)
    return decode_marker(records[0]) if records else None


def build_marker(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """The batch that ends a transaction of (producer_id, producer_epoch)."""
    key = _KEY.pack(_VERSION, marker.control_type)
    value = _VALUE.pack(_VERSION, marker.coordinator_epoch)
    return build_batch(
        [Record(base_offset, timestamp_ms, key, value)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        leader_epoch=leader_epoch,
        transactional=True,
        control=True,
    )
