"""Checks that the records inside a batch match its header (--deep)."""

from __future__ import annotations

from kafka_zk.log.doctor.findings import BAD_RECORDS, Notes
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.record.batch import Batch
from kafka_zk.record.control import decode_marker
from kafka_zk.record.record import decode_records


class Records:
    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def meet(self, file: str, position: int, batch: Batch | None) -> None:
        """Decompress and walk one batch; None is one too large to hold."""
        if batch is None:
            self._notes.add(BAD_RECORDS, file, f"the batch at byte {position} is too large to be checked")
            return
        try:
            what = _fault_of(batch)
        except BrokerError as error:
            what = str(error)
        if what:
            self._notes.add(BAD_RECORDS, file, f"the batch at byte {position}: {what}")


def _fault_of(batch: Batch) -> str:
    """What is wrong, empty for nothing. Raises BrokerError."""
    header = batch.header
    records = decode_records(batch)
    previous = header.base_offset - 1 if header.magic >= 2 else -1
    for record in records:
        if record.offset <= previous or record.offset > header.last_offset:
            return f"offset {record.offset} follows {previous}, and the batch ends with {header.last_offset}"
        previous = record.offset
    if header.magic >= 2 and records:
        latest = max(record.timestamp for record in records)
        if latest > header.max_timestamp:
            return f"a record has timestamp {latest}, above the batch's maximum of {header.max_timestamp}"
        if header.is_control:
            decode_marker(records[0])
    return ""
