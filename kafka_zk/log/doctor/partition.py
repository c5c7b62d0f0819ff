"""Examines one partition: all checks in one pass, then what a start would do about each finding.

Role        Plain; run in a worker process for large directories, so what goes in and comes out can be pickled.
Invariants  Memory is bounded by one read, one batch and the indexes of one segment. Nothing in the directory changes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from kafka_zk.log.doctor.checks.batches import OffsetOrder
from kafka_zk.log.doctor.checks.epochs import Epochs
from kafka_zk.log.doctor.checks.leftovers import check_leftovers
from kafka_zk.log.doctor.checks.offset_index import NOWHERE, OffsetIndexCheck
from kafka_zk.log.doctor.checks.offsets import Checkpointed, check_offsets
from kafka_zk.log.doctor.checks.producers import OpenTransaction, Producers
from kafka_zk.log.doctor.checks.records import Records
from kafka_zk.log.doctor.checks.time_index import TimeIndexCheck
from kafka_zk.log.doctor.findings import (
    BAD_BATCH,
    BAD_CRC,
    START_FAILS,
    TOPIC_ID_MALFORMED,
    TOPIC_ID_MISSING,
    TORN_TAIL,
    UNREADABLE,
    Finding,
    Notes,
)
from kafka_zk.log.doctor.partition_files import PartitionFiles, SegmentOnDisk, list_partition
from kafka_zk.log.doctor.prognosis import prognosis
from kafka_zk.log.doctor.rehearsal import Rehearsal, Start, rehearse
from kafka_zk.log.doctor.walk import Ordinary, Walked, is_zero, next_batch, walk
from kafka_zk.log.files import names, partition_metadata
from kafka_zk.log.files.partition_metadata import MalformedPartitionMetadata
from kafka_zk.log.loading.gaps import is_emptied
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.batch import LOG_OVERHEAD


class PartitionTask(NamedTuple):
    """What is to be examined. `is_copy`: a -future directory, which the checkpoints do not speak of."""

    directory: Path
    topic_partition: TopicPartition
    is_copy: bool
    clean_stop: bool
    knows_recovery_points: bool
    checkpointed: Checkpointed
    deep: bool
    index_interval_bytes: int


@dataclass(slots=True)
class PartitionReport:
    """`end_offset`: behind the last batch that can be read; `end_after_start` what a start makes of it.

    `latest_epoch` of file and batches, -1 for none. `last_timestamp_ms`: the largest of any batch, -1 for none.
    `failure`: why a start could not open it, empty otherwise.
    """

    task: PartitionTask
    findings: list[Finding] = field(default_factory=list)
    size_bytes: int = 0
    segment_count: int = 0
    log_start_offset: int = 0
    end_offset: int = 0
    end_after_start: int = 0
    failure: str = ""
    latest_epoch: int = -1
    topic_id: UUID | None = None
    largest_producer_id: int = -1
    was_compacted: bool = False
    last_timestamp_ms: int = -1
    open_transactions: list[OpenTransaction] = field(default_factory=list)


def examine_partition(task: PartitionTask) -> PartitionReport:
    """Raises nothing: what cannot be read is a finding."""
    notes, report = Notes(), PartitionReport(task)
    files, rehearsal = PartitionFiles(task.directory), None
    try:
        files = list_partition(task.directory)
        examination = Examination(task, files, notes, report)
        examination.run()
        rehearsal = rehearse(start_of(task, is_compacted=report.was_compacted))
        examination.conclude(rehearsal)
    except OSError as error:
        notes.add(UNREADABLE, _below(task.directory, error.filename), str(error.strerror or error))
    if rehearsal is None:
        rehearsal = Rehearsal(failure="it cannot be read")
    elif rehearsal.failure:
        notes.add(START_FAILS, "", rehearsal.failure)
    report.end_after_start, report.failure = rehearsal.log_end_offset, rehearsal.failure
    for kind, file, what in notes.all():
        start = prognosis(kind, file, files, rehearsal, clean_stop=task.clean_stop)
        path = f"{task.directory.name}/{file}" if file else task.directory.name
        report.findings.append(Finding(kind, str(task.directory.parent), str(task.topic_partition), path, what, start))
    return report


def start_of(task: PartitionTask, *, is_compacted: bool) -> Start:
    return Start(
        task.directory,
        str(task.topic_partition),
        task.clean_stop,
        task.checkpointed.recovery_point or 0,
        task.checkpointed.log_start_offset or 0,
        task.index_interval_bytes,
        task.knows_recovery_points,
        is_compacted,
        task.checkpointed.first_dirty_offset or 0,
    )


class Examination:
    """The pass over one partition."""

    def __init__(self, task: PartitionTask, files: PartitionFiles, notes: Notes, report: PartitionReport) -> None:
        self._task = task
        self._files = files
        self._notes = notes
        self._report = report
        self._order = OffsetOrder(notes, task.checkpointed.first_dirty_offset)
        self._epochs = Epochs(notes, files, task.checkpointed.log_start_offset or 0)
        self._producers = Producers(notes, files, self._order)
        self._records = Records(notes) if task.deep else None

    def run(self) -> None:
        """Raises OSError."""
        notes, report, task = self._notes, self._report, self._task
        check_leftovers(notes, self._files)
        self._check_topic_id()
        segments = self._files.segments
        report.segment_count = len(segments)
        first_offset = segments[0].base_offset if segments else 0
        end_offset = first_offset
        for segment in segments:
            end_offset = max(end_offset, self._examine_segment(segment))
        self._order.end()
        self._epochs.end(end_offset)
        self._producers.end(end_offset, segments)
        report.end_offset = end_offset
        report.log_start_offset = max(task.checkpointed.log_start_offset or 0, first_offset)
        report.largest_producer_id = self._producers.largest_id
        report.was_compacted = self._order.was_compacted
        report.open_transactions = self._producers.open_transactions()

    def conclude(self, rehearsal: Rehearsal) -> None:
        """Compare what was found with what a start arrives at."""
        report, task = self._report, self._task
        report.latest_epoch = max([self._epochs.latest, -1, *(entry.epoch for entry in rehearsal.epochs)])
        if not task.is_copy:
            check_offsets(
                self._notes,
                task.checkpointed,
                log_start_offset=report.log_start_offset,
                end_offset=report.end_offset,
                end_after_start=rehearsal.log_end_offset,
                clean_stop=task.clean_stop and not rehearsal.failure,
            )

    def _check_topic_id(self) -> None:
        try:
            self._report.topic_id = partition_metadata.read(self._task.directory / names.PARTITION_METADATA)
        except MalformedPartitionMetadata as error:
            self._notes.add(TOPIC_ID_MALFORMED, names.PARTITION_METADATA, str(error))
            return
        if self._report.topic_id is None:
            self._notes.add(TOPIC_ID_MISSING, names.PARTITION_METADATA, "has no topic id")

    def _examine_segment(self, segment: SegmentOnDisk) -> int:
        """The offset behind its last readable batch; its base offset when there is none. Raises OSError."""
        self._report.size_bytes += segment.size_bytes
        self._order.begin(segment)
        if segment.next_base_offset is not None and is_emptied(partial(self._files.size_of, segment.base_offset)):
            self._order.was_compacted = True
        self._producers.begin(segment)
        run = SegmentRun(self._notes, self._files, segment, crashed=self._is_recovered(segment))
        descriptor = os.open(self._files.path(segment.base_offset, names.LOG), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)
            position: int | None = 0
            while position is not None and position < segment.size_bytes:
                try:
                    self._walk(run, descriptor, position)
                    reason = "the file ends inside this batch"
                except CorruptMessage as error:
                    reason = str(error)
                position = self._behind_damage(run, descriptor, reason)
        finally:
            os.close(descriptor)
        run.end()
        self._producers.end_segment()
        self._report.last_timestamp_ms = max(self._report.last_timestamp_ms, run.max_timestamp)
        return run.next_offset

    def _is_recovered(self, segment: SegmentOnDisk) -> bool:
        """Whether a start reads the whole segment: what a crash leaves is normal there."""
        behind = segment.next_base_offset
        recovery_point = self._task.checkpointed.recovery_point or 0
        return not self._task.clean_stop and (behind is None or behind > recovery_point)

    def _walk(self, run: SegmentRun, descriptor: int, begin: int) -> None:
        """Feed the checks with batches up to the end or to what is none. Raises CorruptMessage, OSError.

        Ordinary batches are only counted, others go to the checks; most of these need few, and say which.
        """
        ordinary = run.ordinary if self._records is None else None
        run.position = run.ordinary.position = begin
        self._expect(run)
        try:
            for walked in walk(descriptor, begin, run.segment.size_bytes, ordinary):
                self._take_in(run)
                run.position = walked.position + walked.header.length + LOG_OVERHEAD
                self._meet(run, walked)
                self._expect(run)
        finally:
            self._take_in(run)

    def _meet(self, run: SegmentRun, walked: Walked) -> None:
        position, header, is_intact, _, _ = walked
        if not is_intact:
            self._notes.add(
                BAD_CRC,
                run.file,
                f"the batch at byte {position} ({header.size_bytes} bytes, offsets {header.base_offset} to "
                f"{header.last_offset} by its header) has a wrong checksum",
            )
            run.stop_indexes()
            self._order.skip_damage()
            return
        if self._records is not None:
            self._records.meet(run.file, position, walked.batch())
        self._order.meet(position, header)
        if position >= run.offset_index.next_position:
            run.offset_index.meet(position, header)
        before = run.max_timestamp
        run.max_timestamp = max(before, header.max_timestamp)
        if header.last_offset >= run.time_index.next_offset:
            run.time_index.meet(header.last_offset, before, run.max_timestamp)
        if header.magic >= 2:
            epochs = self._epochs
            if header.partition_leader_epoch != epochs.epoch or header.base_offset >= epochs.until:
                epochs.meet(run.file, position, header)
            if header.producer_id >= 0:
                self._producers.meet(header, walked.batch() if header.is_control else None)
        run.next_offset = header.next_offset

    def _expect(self, run: SegmentRun) -> None:
        """Say which batches are ordinary from here on."""
        ordinary, expected = run.ordinary, self._order.next_offset
        ordinary.next_offset = -1 if expected is None or expected < run.segment.base_offset else expected
        ordinary.until_offset = min(run.time_index.next_offset, self._epochs.until, self._order.highest_offset + 1)
        ordinary.index_position = run.offset_index.next_position
        ordinary.leader_epoch = self._epochs.epoch
        ordinary.max_timestamp = run.max_timestamp
        ordinary.position = run.position

    def _take_in(self, run: SegmentRun) -> None:
        """Learn what the ordinary batches told that were passed over."""
        ordinary = run.ordinary
        if ordinary.position > run.position:
            run.position, run.max_timestamp = ordinary.position, ordinary.max_timestamp
            run.next_offset = self._order.next_offset = ordinary.next_offset

    def _behind_damage(self, run: SegmentRun, descriptor: int, reason: str) -> int | None:
        """Note what is at `run.position`; returns where batches continue after it."""
        position, end = run.position, run.segment.size_bytes
        if position >= end:
            return None
        left = end - position
        if is_zero(descriptor, position, end):
            what = f"{left} zero bytes from byte {position}"
            found = None
        else:
            found = next_batch(descriptor, position, end, run.next_offset)
            what = f"no batch at byte {position}: {reason}; " + (
                f"{left} bytes to the end" if found is None else f"the next one is at byte {found}"
            )
        run.stop_indexes()
        self._order.skip_damage()
        is_end_of_crash = found is None and run.segment.next_base_offset is None and not self._task.clean_stop
        self._notes.add(TORN_TAIL if is_end_of_crash else BAD_BATCH, run.file, what)
        return found


class SegmentRun:
    """Where the pass is in one segment, and what it has seen of it."""

    def __init__(self, notes: Notes, files: PartitionFiles, segment: SegmentOnDisk, *, crashed: bool) -> None:
        """Raises OSError."""
        self.segment = segment
        self.file = segment.name()
        self.offset_index = OffsetIndexCheck(notes, files, segment, crashed=crashed)
        self.time_index = TimeIndexCheck(notes, files, segment, crashed=crashed)
        self.position = 0
        self.next_offset = segment.base_offset
        self.max_timestamp = -1
        self.ordinary = Ordinary()
        self.is_damaged = False

    def stop_indexes(self) -> None:
        """What an index says at and behind damage cannot be judged."""
        self.is_damaged = True
        self.offset_index.next_position = NOWHERE
        self.time_index.next_offset = NOWHERE

    def end(self) -> None:
        if not self.is_damaged:
            self.offset_index.end(self.next_offset)
            self.time_index.end(self.max_timestamp)


def _below(directory: Path, filename: object) -> str:
    """The name of a file, empty for the directory itself."""
    path = Path(str(filename or directory))
    return "" if path == directory else path.name
