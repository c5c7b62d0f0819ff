"""The text of a control record.

Role        Pure. Markers are decoded; records that only KRaft writes show their type.
Source      DumpLogSegments.dumpLog, ControlRecordType, EndTransactionMarker.
"""

from __future__ import annotations

from kafka_zk.record.control import EndTransactionMarker, control_type_of, decode_marker
from kafka_zk.record.types import Record
from kafka_zk.tools.dump_log.java_file import Damaged

_OTHER_TYPES = {
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}


def marker_or_type(record: Record) -> EndTransactionMarker | str:
    """The marker; for every other type its name and number. Raises InvalidRecord, Damaged."""
    if record.key is None:
        raise Damaged(None, "java.lang.NullPointerException")
    control_type_of(record.key)
    marker = decode_marker(record)
    if marker is not None:
        return marker
    number = int.from_bytes(record.key[2:4], "big", signed=True)
    return f"{_OTHER_TYPES.get(number, 'UNKNOWN')}({number})"


def control_text(record: Record) -> str:
    """The text after the record's metadata. Raises InvalidRecord, Damaged."""
    found = marker_or_type(record)
    if isinstance(found, str):
        return f" controlType: {found}"
    return f" endTxnMarker: {found.control_type.name} coordinatorEpoch: {found.coordinator_epoch}"
