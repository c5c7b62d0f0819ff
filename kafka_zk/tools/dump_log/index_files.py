""".index and .timeindex, each entry looked up in the log beside it.

Role        Reads and reports. A search takes exactly Kafka's steps: in an unordered index they decide what is found.
Invariants  Nothing is created. Apache's tool creates an empty .index where none exists.
Source      DumpLogSegments.dumpIndex, dumpTimeIndex; AbstractIndex, OffsetIndex, TimeIndex.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable
from typing import NamedTuple

from kafka_zk.log.files import names, offset_index, time_index
from kafka_zk.record.batch import NO_TIMESTAMP
from kafka_zk.tools.common.java_output import JavaError, illegal_argument
from kafka_zk.tools.dump_log.findings import Findings
from kafka_zk.tools.dump_log.java_file import Damaged, JavaFile
from kafka_zk.tools.dump_log.options import MAX_INT32
from kafka_zk.tools.dump_log.records import messages_of, records_of
from kafka_zk.tools.dump_log.report import Report, check_known
from kafka_zk.tools.dump_log.segment_reader import SegmentReader, StoredBatch

_WARM_BYTES = 8192
_CORRUPT_INDEX = "org.apache.kafka.storage.internals.log.CorruptIndexException"


class IndexChecks(NamedTuple):
    """--index-sanity-check, --verify-index-only."""

    sanity_only: bool
    verify_only: bool


class _Index:
    """The entries of an index file, as two numbers each."""

    def __init__(self, file: JavaFile, base_offset: int, entry: struct.Struct) -> None:
        """Raises JavaError."""
        self.file = file
        self.base_offset = base_offset
        self._entry = entry
        try:
            descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise illegal_argument("Invalid max index size: -1") from None
        except OSError as error:
            raise JavaError(f"{file} ({error.strerror})", "java.io.FileNotFoundException") from error
        try:
            self.size_bytes = os.fstat(descriptor).st_size
            self._data = mmap.mmap(descriptor, 0, mmap.MAP_SHARED, mmap.PROT_READ) if self.size_bytes else b""
        except OSError as error:
            raise JavaError(error.strerror, "java.io.IOException") from error
        finally:
            os.close(descriptor)
        self.count = self.size_bytes // entry.size

    def __getitem__(self, slot: int) -> tuple[int, int]:
        first, second = self._entry.unpack_from(self._data, slot * self._entry.size)
        return first, second

    def check_last_offset(self, start: str, end: str, last_offset: int) -> None:
        if last_offset < self.base_offset:
            raise _corrupt(
                f"{start} has non-zero size but the last offset is {last_offset} "
                f"which is less than the {end} {self.base_offset}"
            )

    def check_size(self, start: str) -> None:
        if self.size_bytes % self._entry.size:
            raise _corrupt(
                f"{start} {self.file.absolute} is corrupt, found {self.size_bytes} bytes which is neither positive nor "
                f"a multiple of {self._entry.size}"
            )

    def slot_at_most(self, target: int, key: Callable[[tuple[int, int]], int]) -> int:
        """The slot that Kafka's search ends at for the largest key <= `target`; -1 when there is none."""
        if not self.count:
            return -1
        first_warm = max(0, self.count - 1 - _WARM_BYTES // self._entry.size)
        if key(self[first_warm]) < target:
            low, high = first_warm, self.count - 1
        elif key(self[0]) > target:
            return -1
        else:
            low, high = 0, first_warm
        while low < high:
            middle = (low + high + 1) >> 1
            found = key(self[middle])
            if found == target:
                return middle
            if found > target:
                high = middle - 1
            else:
                low = middle
        return low


def _corrupt(message: str) -> Damaged:
    return Damaged(message, _CORRUPT_INDEX)


class OffsetIndexReader(_Index):
    """Offsets and positions."""

    def __init__(self, file: JavaFile, base_offset: int) -> None:
        super().__init__(file, base_offset, offset_index.ENTRY)

    def offset(self, slot: int) -> int:
        return self.base_offset + self[slot][0]

    def position_for(self, offset: int) -> int:
        """Where to begin looking for `offset`."""
        slot = self.slot_at_most(offset, lambda entry: self.base_offset + entry[0])
        return 0 if slot < 0 else self[slot][1]

    def sanity_check(self) -> None:
        """Raises JavaError."""
        if self.count:
            start = f"Corrupt index found, index file {self.file.absolute}"
            self.check_last_offset(start, "base offset", self.offset(self.count - 1))
        self.check_size("Index file")


class TimeIndexReader(_Index):
    """Timestamps and offsets."""

    def __init__(self, file: JavaFile, base_offset: int) -> None:
        super().__init__(file, base_offset, time_index.ENTRY)

    def sanity_check(self) -> None:
        """Raises JavaError."""
        if self.count:
            start = f"Corrupt time index found, time index file ({self.file.absolute})"
            first_timestamp, _ = self[0]
            last_timestamp, relative = self[self.count - 1]
            if last_timestamp < first_timestamp:
                raise _corrupt(
                    f"{start} has non-zero size but the last timestamp is {last_timestamp} "
                    f"which is less than the first timestamp {first_timestamp}"
                )
            self.check_last_offset(start, "first offset", self.base_offset + relative)
        self.check_size("Time index file")


def dump_offset_index(
    file: JavaFile, checks: IndexChecks, max_message_size: int, report: Report, findings: Findings
) -> None:
    """Raises JavaError, CorruptMessage where Apache's tool ends."""
    base_offset = file.base_offset()
    with SegmentReader(file.log()) as log:
        index = OffsetIndexReader(file, base_offset)
        if not index.count:
            report.empty_index(file)
            return
        if checks.sanity_only:
            index.sanity_check()
            report.sane_index(file)
            return
        for slot in range(index.count):
            relative, position = index[slot]
            if not relative and slot:
                return  # the preallocated space of an index that was not closed
            end = log.end_of_slice(position, max_message_size)
            header = next(log.headers(position, end), None)
            if header is None:
                kind = Damaged if end == log.size_bytes else JavaError
                raise kind(None, "java.util.NoSuchElementException")
            offset = base_offset + relative
            if header.last_offset != offset:
                findings.index_mismatch(file, offset, header.last_offset)
            if not checks.verify_only:
                report.index_entry(offset, position)


def dump_time_index(file: JavaFile, checks: IndexChecks, report: Report, findings: Findings) -> None:
    """Raises JavaError, BrokerError where Apache's tool ends."""
    base_offset = file.base_offset()
    with SegmentReader(file.log()) as log:
        index = OffsetIndexReader(file.beside(names.OFFSET_INDEX), base_offset)
        times = TimeIndexReader(file, base_offset)
        if checks.sanity_only:
            times.sanity_check()
            report.sane_index(file)
            return
        previous = NO_TIMESTAMP
        for slot in range(times.count):
            timestamp, relative = times[slot]
            if not relative and slot:
                return
            offset = base_offset + relative
            found = _batch_reaching(log, index.position_for(offset), offset)
            if found is None or found.header.last_offset != offset:
                findings.offset_not_found(file, offset, -1 if found is None else found.header.last_offset)
            else:
                in_log = _max_timestamp(found)
                if in_log != timestamp:
                    findings.time_mismatch(file, timestamp, in_log)
                if previous >= timestamp:
                    findings.out_of_order(file, timestamp, previous)
            if not checks.verify_only:
                report.time_index_entry(timestamp, offset)
            previous = timestamp


def _batch_reaching(log: SegmentReader, position: int, offset: int) -> StoredBatch | None:
    end = log.end_of_slice(position, MAX_INT32)
    return next((batch for batch in log.batches(position, end) if batch.header.last_offset >= offset), None)


def _max_timestamp(batch: StoredBatch) -> int:
    check_known(batch.header)
    timestamps = [NO_TIMESTAMP]
    if batch.header.magic >= 2:
        timestamps += (record.timestamp for records in records_of(batch) for record in records)
    else:
        timestamps += (message.timestamp for message in messages_of(batch))
    return max(timestamps)
