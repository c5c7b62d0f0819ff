"""Audits data directories of stopped brokers: the doctor's checks in tasks, then compares replicas.

Role        Lists on the driver, examines in workers; so the directories must be where the workers see them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_zk.log.doctor.checkup import task_of
from kafka_zk.log.doctor.findings import Finding
from kafka_zk.log.doctor.log_dir import LogDirInUse, check_free, look_at
from kafka_zk.log.doctor.partition import PartitionTask, examine_partition
from kafka_zk.log.doctor.partition_files import list_partition
from kafka_zk.log.doctor.walk import walk
from kafka_zk.log.files import names
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.spark.jobs.audit_findings import DIGESTS, SCHEMA, DigestRow, Row, divergence, replica_ranges, replica_row
from kafka_zk.spark.jobs.outcome import JobError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_zk.spark.settings.declaration import Settings

INDEX_INTERVAL_BYTES = 4096


def audit_directories(session: SparkSession, settings: Settings) -> tuple[DataFrame, DataFrame]:
    """Findings, and one row a replica: directory, first and last offset, batches. Raises JobError."""
    tasks, together = plan(settings.texts("log-dirs"), settings.texts("topics"), deep=settings.flag("deep"))
    if not tasks:
        raise JobError(f"no partitions found in {', '.join(settings.texts('log-dirs'))}")
    spread = session.sparkContext.parallelize(tasks, len(tasks))
    found = session.createDataFrame(spread.flatMap(findings_of), SCHEMA)
    if together:
        found = found.unionByName(session.createDataFrame(together, SCHEMA))
    digests = session.createDataFrame(spread.flatMap(digests_of), DIGESTS).cache()
    return found.unionByName(divergence(digests)), replica_ranges(digests)


def plan(directories: list[str], topics: list[str], *, deep: bool) -> tuple[list[PartitionTask], list[Row]]:
    """What is to be examined, and what the directories themselves show. Raises JobError."""
    tasks: list[PartitionTask] = []
    rows: list[Row] = []
    for directory in directories:
        path = Path(directory).absolute()
        try:
            check_free(path)
            log_dir = look_at(path)
        except LogDirInUse as error:
            raise JobError(str(error)) from None
        except OSError as error:
            raise JobError(f"{path}: {error.strerror}") from None
        rows += [_row(finding, None) for finding in log_dir.findings]
        tasks += [
            task_of(log_dir, found, deep=deep, index_interval_bytes=INDEX_INTERVAL_BYTES)
            for found in log_dir.partitions
            if not topics or found.topic_partition.topic in topics
        ]
    return tasks, rows


def findings_of(task: PartitionTask) -> list[Row]:
    """In a worker: the doctor's findings about one partition."""
    return [_row(finding, task) for finding in examine_partition(task).findings]


def _row(finding: Finding, task: PartitionTask | None) -> Row:
    topic, partition = (task.topic_partition.topic, task.topic_partition.partition) if task else ("", None)
    place = f"{finding.log_dir}/{finding.file}" if finding.file else finding.log_dir
    return finding.kind.severity.value, finding.kind.name, topic, partition, place, None, None, finding.what


def digests_of(task: PartitionTask) -> Iterator[DigestRow]:
    """In a worker: every batch that can be read, then the replica. The doctor reports what cannot be read."""
    replica = str(task.directory.parent)
    compacted = (task.checkpointed.first_dirty_offset or 0) > 0
    files = list_partition(task.directory)
    first = files.segments[0].base_offset if files.segments else 0
    start = end = max(first, task.checkpointed.log_start_offset or 0)
    for segment in files.segments:
        end = max(end, segment.base_offset)
        descriptor = os.open(files.path(segment.base_offset, names.LOG), os.O_RDONLY | os.O_CLOEXEC)
        try:
            for walked in walk(descriptor, 0, os.fstat(descriptor).st_size):
                header = walked.header
                yield (
                    *task.topic_partition,
                    replica,
                    header.base_offset,
                    header.last_offset,
                    header.crc,
                    header.partition_leader_epoch,
                    compacted,
                    None,
                )
                end = max(end, header.next_offset)
        except CorruptMessage:
            continue
        finally:
            os.close(descriptor)
    committed = task.checkpointed.high_watermark
    yield replica_row(task.topic_partition, replica, start, end, compacted=compacted, committed=committed)
