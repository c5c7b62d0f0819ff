"""What a dump reports, whatever the output format.

Role        The seam between reading the files and writing text or JSON.
Invariants  Calls come in the order of the file. A batch is followed by its records, if they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kafka_zk.log.files.producer_snapshot import SnapshotEntry
from kafka_zk.log.files.transaction_index import AbortedTransaction
from kafka_zk.record.batch import BatchHeader
from kafka_zk.record.types import Record
from kafka_zk.tools.dump_log.decoders import MessageParser
from kafka_zk.tools.dump_log.findings import Findings
from kafka_zk.tools.dump_log.java_file import ILLEGAL_ARGUMENT, Damaged, JavaFile
from kafka_zk.tools.dump_log.records import Message

CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")


def check_known(header: BatchHeader) -> None:
    """Raises Damaged for a magic or a codec that Java has no name for."""
    if header.magic < 0:
        raise Damaged(f"Invalid magic used in LegacyRecord: {header.magic}", ILLEGAL_ARGUMENT)
    if header.codec_id >= len(CODEC_NAMES):
        raise Damaged(f"Unknown compression type id: {header.codec_id}", ILLEGAL_ARGUMENT)


class Content(Protocol):
    """Which parts of records are shown: `parser` is None if keys and values are not."""

    @property
    def parser(self) -> MessageParser | None: ...

    @property
    def skips_metadata(self) -> bool: ...


class Report(Protocol):
    """Numbers are Kafka's; -1 stands for none."""

    def say(self, line: str) -> None: ...

    def file(self, file: JavaFile) -> None: ...

    def log_start(self, base_offset: int) -> None: ...

    def batch(self, position: int, header: BatchHeader, is_valid: bool) -> None:
        """Raises JavaError for an unknown codec, in the middle of the output."""

    def records(self, header: BatchHeader, records: Sequence[Record], content: Content) -> None:
        """Of a magic 2 batch. Raises InvalidRecord or JavaError in the middle of the output."""

    def message(self, header: BatchHeader, message: Message, content: Content) -> None:
        """Of magic 0 and 1."""

    def invalid_bytes(self, file: JavaFile, count: int) -> None: ...

    def index_entry(self, offset: int, position: int) -> None: ...

    def time_index_entry(self, timestamp: int, offset: int) -> None: ...

    def empty_index(self, file: JavaFile) -> None: ...

    def sane_index(self, file: JavaFile) -> None: ...

    def aborted_transaction(self, version: int, entry: AbortedTransaction) -> None: ...

    def producer(self, entry: SnapshotEntry) -> None: ...

    def corrupt_snapshot(self, file: JavaFile, reason: str) -> None: ...

    def unknown_file(self, file: JavaFile) -> None: ...

    def error(self, trace: str) -> None:
        """An exception ended the file."""

    def findings(self, findings: Findings) -> None: ...

    def flush(self) -> None: ...
