""".snapshot and .txnindex: the producers, and the transactions that were aborted.

Role        Reads and reports. A snapshot is first read by its schema and then checked, as Apache does, so that the
            error for a torn one is Java's.
Source      DumpLogSegments.dumpProducerIdSnapshot, dumpTxnIndex; ProducerStateManager.readSnapshot, TransactionIndex.
"""

from __future__ import annotations

import struct

from kafka_zk.log.files import producer_snapshot, transaction_index
from kafka_zk.log.files.producer_snapshot import SnapshotEntry
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.record.crc import crc32c
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.dump_log.findings import Findings
from kafka_zk.tools.dump_log.java_file import KAFKA_EXCEPTION, Damaged, JavaFile, java_error
from kafka_zk.tools.dump_log.report import Report

_CRC_FROM = 6
_SNAPSHOT_FIELDS = (("version", ">h"), ("crc", ">I"))
_ENTRY_FIELDS = (
    ("producer_id", ">q"),
    ("epoch", ">h"),
    ("last_sequence", ">i"),
    ("last_offset", ">q"),
    ("offset_delta", ">i"),
    ("timestamp", ">q"),
    ("coordinator_epoch", ">i"),
    ("current_txn_first_offset", ">q"),
)
_ENTRY_SIZE = sum(struct.calcsize(form) for _, form in _ENTRY_FIELDS)
_UNDERFLOW = "java.nio.BufferUnderflowException"


class _NotThere(Exception):
    """The bytes end before the schema is complete."""


def dump_snapshot(file: JavaFile, report: Report, findings: Findings) -> None:
    """Raises JavaError where Apache's tool ends."""
    content = _read(file)
    try:
        entries = _entries(content)
    except producer_snapshot.CorruptSnapshot as error:
        findings.is_corrupt = True
        report.corrupt_snapshot(file, str(error))
        return
    for entry in entries:
        report.producer(entry)


def _entries(content: bytes) -> list[SnapshotEntry]:
    try:
        entries = _by_schema(content)
    except _NotThere as error:
        raise producer_snapshot.CorruptSnapshot(f"Snapshot failed schema validation: {error}") from None
    version, crc = struct.unpack_from(">hI", content)
    if version != producer_snapshot.VERSION:
        raise producer_snapshot.CorruptSnapshot(f"Snapshot contained an unknown file version {version}")
    computed = crc32c(memoryview(content)[_CRC_FROM:])
    if crc != computed:
        raise producer_snapshot.CorruptSnapshot(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    return entries


def _by_schema(content: bytes) -> list[SnapshotEntry]:
    position = 0
    for name, form in _SNAPSHOT_FIELDS:
        position = _require(content, position, name, form)
    array = "Error reading field 'producer_entries': "
    if len(content) - position < 4:
        raise _NotThere(f"{array}{_UNDERFLOW}")
    (count,) = struct.unpack_from(">i", content, position)
    position += 4
    if count < 0:
        raise _NotThere(f"{array}Array size {count} cannot be negative")
    if count > len(content) - position:
        raise _NotThere(f"{array}Error reading array of size {count}, only {len(content) - position} bytes available")
    entries = []
    for _ in range(count):
        if len(content) - position < _ENTRY_SIZE:
            _explain_missing(content, position, array)
        entries.append(producer_snapshot.ENTRY.unpack_from(content, position))
        position += _ENTRY_SIZE
    return [SnapshotEntry(*values) for values in entries]


def _require(content: bytes, position: int, name: str, form: str) -> int:
    end = position + struct.calcsize(form)
    if end > len(content):
        raise _NotThere(f"Error reading field '{name}': {_UNDERFLOW}")
    return end


def _explain_missing(content: bytes, position: int, array: str) -> None:
    try:
        for name, form in _ENTRY_FIELDS:
            position = _require(content, position, name, form)
    except _NotThere as error:
        raise _NotThere(f"{array}{error}") from None


def dump_transaction_index(file: JavaFile, report: Report) -> None:
    """Bytes after the last whole entry are ignored. Raises JavaError where Apache's tool ends."""
    file.base_offset()
    try:
        content = _read(file)
    except JavaError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return
        raise
    entries = []
    whole = len(content) - len(content) % transaction_index.ENTRY_SIZE_BYTES
    for stored_version, *values in transaction_index.ENTRY.iter_unpack(content[:whole]):
        version = stored_version >> 8  # Apache's reader takes the first of the two bytes
        if version > transaction_index.VERSION:
            raise Damaged(
                f"Unexpected aborted transaction version {version} in transaction index {file.absolute}, "
                f"current version is {transaction_index.VERSION}",
                KAFKA_EXCEPTION,
            )
        entries.append((version, AbortedTransaction(*values)))
    for version, entry in entries:
        report.aborted_transaction(version, entry)


def _read(file: JavaFile) -> bytes:
    try:
        with open(file.path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise java_error(error, file) from error
