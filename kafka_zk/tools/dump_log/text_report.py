"""The dump as Apache's tool prints it.

Role        Formats and writes. Text is buffered and written in large pieces; stderr is written at once.
Invariants  Everything reported before an exception is printed.
Source      DumpLogSegments.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_zk.log.files.producer_snapshot import SnapshotEntry
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.types import Record
from kafka_zk.tools.dump_log.control_text import control_text
from kafka_zk.tools.dump_log.decoders import MessageParser
from kafka_zk.tools.dump_log.findings import Findings
from kafka_zk.tools.dump_log.java_file import JavaFile
from kafka_zk.tools.dump_log.output import Output
from kafka_zk.tools.dump_log.records import Message
from kafka_zk.tools.dump_log.report import CODEC_NAMES, Content, check_known

MAX_SEQUENCE = 2**31 - 1


class TextReport:
    """Lines on stdout, findings on stderr."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._write = output.write

    def say(self, line: str) -> None:
        self._write(f"{line}\n")

    def file(self, file: JavaFile) -> None:
        self._write(f"Dumping {file}\n")

    def log_start(self, base_offset: int) -> None:
        self._write(f"Log starting offset: {base_offset}\n")

    def batch(self, position: int, header: BatchHeader, is_valid: bool) -> None:
        (
            base_offset,
            length,
            leader_epoch,
            magic,
            crc,
            attributes,
            last_offset_delta,
            _,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        ) = header
        if magic >= 2:
            horizon = header.delete_horizon_ms
            start = (
                f"baseOffset: {base_offset} lastOffset: {base_offset + last_offset_delta} count: {count} "
                f"baseSequence: {base_sequence} "
                f"lastSequence: {-1 if base_sequence == -1 else add_sequence(base_sequence, last_offset_delta)} "
                f"producerId: {producer_id} producerEpoch: {producer_epoch} partitionLeaderEpoch: {leader_epoch} "
                f"isTransactional: {'true' if attributes & 16 else 'false'} "
                f"isControl: {'true' if attributes & 32 else 'false'} "
                f"deleteHorizonMs: {_optional(horizon)}"
            )
        else:
            start = f"offset: {base_offset}"
        codec = attributes & 7
        if magic < 0 or codec >= len(CODEC_NAMES):
            self._write(start)
            check_known(header)
        self._write(
            f"{start} position: {position} {timestamp_type(header)}: {max_timestamp} size: {length + 12} "
            f"magic: {magic} compresscodec: {CODEC_NAMES[codec]} crc: {crc} "
            f"isvalid: {'true' if is_valid else 'false'}\n"
        )

    def records(self, header: BatchHeader, records: Sequence[Record], content: Content) -> None:
        lines: list[str] = []
        try:
            if content.skips_metadata:
                _add_data(lines, header, records, content.parser)
            else:
                _add_records(lines, header, records, content.parser)
        finally:
            self._write("".join(lines))

    def message(self, header: BatchHeader, message: Message, content: Content) -> None:
        prefix = "| "
        if not content.skips_metadata:
            self._write(
                f"| offset: {message.offset} {timestamp_type(header)}: {message.timestamp} "
                f"keySize: {message.key_size} valueSize: {message.value_size} "
                f"isValid: {'true' if message.is_valid else 'false'} crc: {message.crc}}}"
            )
            prefix = " "
        if content.parser is not None:
            self._write(_data(content.parser.text(message.record()), prefix))
        self._write("\n")

    def invalid_bytes(self, file: JavaFile, count: int) -> None:
        self._write(f"Found {count} invalid bytes at the end of {file.name}\n")

    def index_entry(self, offset: int, position: int) -> None:
        self._write(f"offset: {offset} position: {position}\n")

    def time_index_entry(self, timestamp: int, offset: int) -> None:
        self._write(f"timestamp: {timestamp} offset: {offset}\n")

    def empty_index(self, file: JavaFile) -> None:
        self._write(f"{file} is empty.\n")

    def sane_index(self, file: JavaFile) -> None:
        self._write(f"{file} passed sanity check.\n")

    def aborted_transaction(self, version: int, entry: AbortedTransaction) -> None:
        self._write(
            f"version: {version} producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
            f"lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}\n"
        )

    def producer(self, entry: SnapshotEntry) -> None:
        first_offset = entry.current_txn_first_offset
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {_optional(first_offset if first_offset >= 0 else None)} "
            f"lastTimestamp: {entry.timestamp} "
        )
        if entry.last_offset >= 0:
            line += (
                f"firstSequence: {subtract_sequence(entry.last_sequence, entry.offset_delta)} "
                f"lastSequence: {entry.last_sequence} lastOffset: {entry.last_offset} "
                f"offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
            )
        self._write(f"{line}\n")

    def corrupt_snapshot(self, file: JavaFile, reason: str) -> None:
        self._complain(reason)

    def unknown_file(self, file: JavaFile) -> None:
        self._complain(f"Ignoring unknown file {file}")

    def error(self, trace: str) -> None:
        self._output.flush()
        sys.stderr.write(f'Exception in thread "main" {trace}')

    def findings(self, findings: Findings) -> None:
        for finding in findings.all():
            for line in finding.lines():
                self._complain(line)

    def flush(self) -> None:
        self._output.flush()

    def _complain(self, line: str) -> None:
        self._output.flush()
        print(line, file=sys.stderr)


def _add_records(
    lines: list[str], header: BatchHeader, records: Sequence[Record], parser: MessageParser | None
) -> None:
    """Add a line for each record. Most of a deep dump's cost is here. Lines added before an error are printed."""
    is_control = header.is_control
    texts = None if parser is None or is_control else parser.text
    stamp = timestamp_type(header)
    base = header.base_sequence
    shift = base - header.base_offset
    sequence = -1
    add = lines.append
    for record in records:
        offset, timestamp, key, value, headers = record
        if base >= 0:
            sequence = offset + shift
            if sequence > MAX_SEQUENCE:
                sequence -= MAX_SEQUENCE + 1
        add(
            f"| offset: {offset} {stamp}: {timestamp} keySize: {-1 if key is None else len(key)} "
            f"valueSize: {-1 if value is None else len(value)} sequence: {sequence} "
            f"headerKeys: [{','.join([name for name, _ in headers]) if headers else ''}]"
        )
        if texts is not None:
            key_text, payload = texts(record)
            if key_text is None:
                add("\n" if payload is None else f" payload: {payload}\n")
            else:
                add(f" key: {key_text}\n" if payload is None else f" key: {key_text} payload: {payload}\n")
        else:
            add(f"{control_text(record)}\n" if is_control else "\n")


def _add_data(lines: list[str], header: BatchHeader, records: Sequence[Record], parser: MessageParser | None) -> None:
    """Add only keys and payloads; an empty line where nothing is shown."""
    if parser is None or header.is_control:
        lines.append("\n" * len(records))
        return
    lines += (f"{_data(parser.text(record), '| ')}\n" for record in records)


def timestamp_type(header: BatchHeader) -> str:
    if header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if header.attributes & 8 else "CreateTime"


def add_sequence(sequence: int, increment: int) -> int:
    """A sequence number, which restarts at 0 after 2147483647.

    Damaged headers may hold negative numbers: these wrap around in 32 bits as in Java.
    """
    if sequence > _int32(MAX_SEQUENCE - increment):
        return _int32(increment - (MAX_SEQUENCE - sequence) - 1)
    return _int32(sequence + increment)


def subtract_sequence(sequence: int, decrement: int) -> int:
    return sequence - decrement if sequence >= decrement else sequence - decrement + MAX_SEQUENCE + 1


def _int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _optional(number: int | None) -> str:
    return "OptionalLong.empty" if number is None else f"OptionalLong[{number}]"


def _data(key_and_payload: tuple[str | None, str | None], prefix: str) -> str:
    key, payload = key_and_payload
    return ("" if key is None else f"{prefix}key: {key}") + ("" if payload is None else f" payload: {payload}")
