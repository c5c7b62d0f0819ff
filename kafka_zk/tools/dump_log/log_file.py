""".log: the batches, and the records inside them.

Role        Reads and reports.
Invariants  An error in the middle of a batch is raised after everything before it was reported.
Source      DumpLogSegments.dumpLog.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_zk.record.types import Record
from kafka_zk.tools.dump_log.decoders import MessageParser
from kafka_zk.tools.dump_log.findings import Findings
from kafka_zk.tools.dump_log.java_file import JavaFile
from kafka_zk.tools.dump_log.options import MAX_INT32
from kafka_zk.tools.dump_log.records import messages_of, records_of
from kafka_zk.tools.dump_log.report import Report
from kafka_zk.tools.dump_log.segment_reader import SegmentReader, StoredBatch

_NOT_SEEN = -1


@dataclass(frozen=True, slots=True)
class LogContent:
    """How deep to look: `parser` shows keys and values, if set."""

    is_deep: bool
    parser: MessageParser | None
    skips_metadata: bool
    max_bytes: int


class OffsetGaps:
    """Pairs of offsets that are neighbours in the file but not consecutive."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int]] = []
        self._last = _NOT_SEEN

    def see(self, offset: int) -> None:
        if self._last not in (_NOT_SEEN, offset - 1):
            self.pairs.append((self._last, offset))
        self._last = offset

    def see_all(self, records: Sequence[Record]) -> None:
        first, last = records[0].offset, records[-1].offset
        offsets = [record[0] for record in records]
        if offsets == list(range(first, last + 1)):
            self.see(first)
            self._last = last
        else:
            for offset in offsets:
                self.see(offset)


def dump_log(file: JavaFile, content: LogContent, report: Report, findings: Findings) -> None:
    """Raises JavaError, BrokerError where Apache's tool ends."""
    report.log_start(file.base_offset())
    with SegmentReader(file) as reader:
        end = reader.end_of_slice(0, content.max_bytes)
        gaps = OffsetGaps()
        valid_bytes = 0
        try:
            for batch in reader.batches(0, end):
                is_valid = batch.is_valid
                if not is_valid:
                    findings.is_corrupt = True
                report.batch(valid_bytes, batch.header, is_valid)
                if content.is_deep:
                    _dump_records(batch, content, report, gaps)
                valid_bytes += len(batch.data)
        finally:
            findings.non_consecutive(file, gaps.pairs)
        if valid_bytes < end and content.max_bytes == MAX_INT32:
            findings.is_corrupt = True
            report.invalid_bytes(file, end - valid_bytes)


def _dump_records(batch: StoredBatch, content: LogContent, report: Report, gaps: OffsetGaps) -> None:
    if batch.header.magic >= 2:
        for records in records_of(batch):
            gaps.see_all(records)
            report.records(batch.header, records, content)
        return
    for message in messages_of(batch):
        gaps.see(message.offset)
        report.message(batch.header, message, content)
