"""The dump as JSON lines: one object a line, for programs.

Role        Formats and writes. Everything goes to stdout, findings and errors too.
Layout      Each object has a `type`: file, batch, record, indexEntry, timeIndexEntry, abortedTransaction, producer,
            index (its check), finding, error. Names are those of Kafka's text; numbers are numbers, none is null.
            A key or value that is no text is {"base64": "..."}. The table is in docs/compat.md.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from kafka_zk.log.files.producer_snapshot import SnapshotEntry
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.types import Record
from kafka_zk.tools.common.kafka_json import json_text
from kafka_zk.tools.dump_log.control_text import marker_or_type
from kafka_zk.tools.dump_log.decoders import MessageParser
from kafka_zk.tools.dump_log.findings import Findings
from kafka_zk.tools.dump_log.java_file import JavaFile
from kafka_zk.tools.dump_log.output import Output
from kafka_zk.tools.dump_log.records import Message
from kafka_zk.tools.dump_log.report import CODEC_NAMES, Content, check_known
from kafka_zk.tools.dump_log.text_report import add_sequence, subtract_sequence, timestamp_type


def text_or_base64(data: bytes) -> Any:
    """What the default decoder returns for bytes, without loss."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


class JsonReport:
    """Objects on stdout."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def _tell(self, kind: str, **fields: Any) -> None:
        self._output.write(json_text({"type": kind, **fields}) + "\n")

    def say(self, line: str) -> None:
        """Left out: these lines are not data."""

    def file(self, file: JavaFile) -> None:
        self._tell("file", file=str(file))

    def log_start(self, base_offset: int) -> None:
        self._tell("log", startOffset=base_offset)

    def batch(self, position: int, header: BatchHeader, is_valid: bool) -> None:
        check_known(header)
        fields: dict[str, Any] = {
            "position": position,
            "size": header.size_bytes,
            "magic": header.magic,
            "compression": CODEC_NAMES[header.codec_id],
            "crc": header.crc,
            "isValid": is_valid,
            "timestampType": timestamp_type(header),
            "maxTimestamp": header.max_timestamp,
            "lastOffset": header.last_offset,
        }
        if header.magic >= 2:
            has_sequence = header.base_sequence != -1
            fields |= {
                "baseOffset": header.base_offset,
                "count": header.record_count,
                "baseSequence": header.base_sequence,
                "lastSequence": add_sequence(header.base_sequence, header.last_offset_delta) if has_sequence else -1,
                "producerId": header.producer_id,
                "producerEpoch": header.producer_epoch,
                "partitionLeaderEpoch": header.partition_leader_epoch,
                "isTransactional": header.is_transactional,
                "isControl": header.is_control,
                "deleteHorizonMs": header.delete_horizon_ms,
            }
        self._tell("batch", **fields)

    def records(self, header: BatchHeader, records: Sequence[Record], content: Content) -> None:
        for record in records:
            fields: dict[str, Any] = {}
            if not content.skips_metadata:
                fields = _metadata(record)
                fields["sequence"] = -1
                if header.base_sequence >= 0:
                    fields["sequence"] = add_sequence(header.base_sequence, record.offset - header.base_offset)
                fields["headers"] = [{"key": key, "value": _maybe(value)} for key, value in record.headers]
                if header.is_control:
                    fields |= _control(record)
            if content.parser is not None and not header.is_control:
                fields |= _data(content.parser, record)
            self._tell("record", **fields)

    def message(self, header: BatchHeader, message: Message, content: Content) -> None:
        fields: dict[str, Any] = {}
        if not content.skips_metadata:
            fields = {**_metadata(message.record()), "isValid": message.is_valid, "crc": message.crc}
        if content.parser is not None:
            fields |= _data(content.parser, message.record())
        self._tell("record", **fields)

    def invalid_bytes(self, file: JavaFile, count: int) -> None:
        self._tell("finding", problem="invalidBytesAtTheEnd", file=file.absolute, bytes=count)

    def index_entry(self, offset: int, position: int) -> None:
        self._tell("indexEntry", offset=offset, position=position)

    def time_index_entry(self, timestamp: int, offset: int) -> None:
        self._tell("timeIndexEntry", timestamp=timestamp, offset=offset)

    def empty_index(self, file: JavaFile) -> None:
        self._tell("index", file=str(file), isEmpty=True)

    def sane_index(self, file: JavaFile) -> None:
        self._tell("index", file=str(file), isSane=True)

    def aborted_transaction(self, version: int, entry: AbortedTransaction) -> None:
        self._tell(
            "abortedTransaction",
            version=version,
            producerId=entry.producer_id,
            firstOffset=entry.first_offset,
            lastOffset=entry.last_offset,
            lastStableOffset=entry.last_stable_offset,
        )

    def producer(self, entry: SnapshotEntry) -> None:
        has_batch = entry.last_offset >= 0
        first_offset = entry.current_txn_first_offset
        self._tell(
            "producer",
            producerId=entry.producer_id,
            producerEpoch=entry.producer_epoch,
            coordinatorEpoch=entry.coordinator_epoch,
            currentTxnFirstOffset=first_offset if first_offset >= 0 else None,
            lastTimestamp=entry.timestamp,
            firstSequence=subtract_sequence(entry.last_sequence, entry.offset_delta) if has_batch else None,
            lastSequence=entry.last_sequence if has_batch else None,
            lastOffset=entry.last_offset if has_batch else None,
            offsetDelta=entry.offset_delta if has_batch else None,
        )

    def corrupt_snapshot(self, file: JavaFile, reason: str) -> None:
        self._tell("finding", problem="corruptSnapshot", file=file.absolute, message=reason)

    def unknown_file(self, file: JavaFile) -> None:
        self._tell("finding", problem="unknownFile", file=str(file))

    def error(self, trace: str) -> None:
        self._tell("error", message=trace.strip())

    def findings(self, findings: Findings) -> None:
        for finding in findings.all():
            for pair in finding.pairs:
                numbers = dict(zip(finding.fields, pair, strict=True))
                self._tell("finding", problem=finding.problem, file=finding.file, **numbers)

    def flush(self) -> None:
        self._output.flush()


def _metadata(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }


def _maybe(data: bytes | None) -> Any:
    return None if data is None else text_or_base64(data)


def _data(parser: MessageParser, record: Record) -> dict[str, Any]:
    key, value = parser.values(record)
    return {"key": key, "value": value}


def _control(record: Record) -> dict[str, Any]:
    found = marker_or_type(record)
    if isinstance(found, str):
        return {"controlType": found}
    return {"controlType": found.control_type.name, "coordinatorEpoch": found.coordinator_epoch}
