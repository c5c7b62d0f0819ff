"""The whole check-up: all log directories of a broker, with partitions in worker processes.

Role        Acts: starts worker processes for large directories, and ends them. `on_progress` gets the bytes done.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from kafka_zk.log.doctor.findings import PARTITION_TWICE, TOPIC_ID_DIFFERS, Finding, Severity
from kafka_zk.log.doctor.log_dir import FoundPartition, LogDir
from kafka_zk.log.doctor.partition import PartitionReport, PartitionTask, examine_partition
from kafka_zk.log.files.names import PARTITION_METADATA, DirKind
from kafka_zk.log.loading.refusals import second_directory
from kafka_zk.protocol.types import TopicPartition, uuid_to_base64

WORTH_A_PROCESS_BYTES = 128 * 1024 * 1024
WORTH_A_PROCESS_PARTITIONS = 500
"""Below both, starting worker processes takes longer than the work."""


@dataclass(slots=True)
class CheckUp:
    """What was found in all directories."""

    log_dirs: list[LogDir]
    reports: list[PartitionReport] = field(default_factory=list)
    together: list[Finding] = field(default_factory=list)
    """What only shows when directories and partitions are seen together."""

    def findings(self) -> list[Finding]:
        """The most severe first, then by place."""
        every = [*self.together]
        for log_dir in self.log_dirs:
            every += log_dir.findings
        for report in self.reports:
            every += report.findings
        order = list(Severity)
        return sorted(
            every, key=lambda each: (order.index(each.kind.severity), each.log_dir, each.partition, each.file)
        )

    def count(self, severity: Severity) -> int:
        return sum(each.kind.severity is severity for each in self.findings())


def check_up(
    log_dirs: Sequence[LogDir],
    *,
    deep: bool = False,
    index_interval_bytes: int = 4096,
    processes: int | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> CheckUp:
    """Examine every partition. `processes`: None for as many as there are processors, where that pays."""
    result = CheckUp(list(log_dirs))
    tasks = [
        task_of(log_dir, found, deep=deep, index_interval_bytes=index_interval_bytes)
        for log_dir in log_dirs
        for found in log_dir.partitions
    ]
    sizes = {task.directory: _size_of(task.directory) for task in tasks}
    total, done = sum(sizes.values()), 0
    for report in _examined(tasks, sizes, processes):
        result.reports.append(report)
        done += sizes[report.task.directory]
        on_progress(done, total)
    result.reports.sort(key=lambda each: each.task.directory)
    result.together += [*_twice(result), *_unequal_ids(result)]
    return result


def task_of(log_dir: LogDir, found: FoundPartition, *, deep: bool, index_interval_bytes: int) -> PartitionTask:
    return PartitionTask(
        directory=found.directory,
        topic_partition=found.topic_partition,
        is_copy=found.kind is DirKind.FUTURE,
        clean_stop=log_dir.clean_stop,
        knows_recovery_points=log_dir.knows_recovery_points,
        checkpointed=log_dir.checkpointed(found.topic_partition),
        deep=deep,
        index_interval_bytes=index_interval_bytes,
    )


def _examined(tasks: list[PartitionTask], sizes: dict[Path, int], processes: int | None) -> Iterator[PartitionReport]:
    count = min(processes or os.cpu_count() or 1, len(tasks))
    is_small = sum(sizes.values()) < WORTH_A_PROCESS_BYTES and len(tasks) < WORTH_A_PROCESS_PARTITIONS
    if count < 2 or (processes is None and is_small):
        yield from map(examine_partition, tasks)
        return
    # The largest first, so that none runs alone at the end.
    tasks = sorted(tasks, key=lambda task: -sizes[task.directory])
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        for examined in as_completed([pool.submit(examine_partition, task) for task in tasks]):
            yield examined.result()


def _size_of(directory: Path) -> int:
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.name.endswith(".log"))
    except OSError:
        return 0


def _twice(result: CheckUp) -> Iterator[Finding]:
    """A partition in two directories of one broker. Several brokers are distinguished by their ids."""
    brokers = {each.path: each.meta.broker_id if each.meta else None for each in result.log_dirs}
    places: dict[tuple[TopicPartition, int | None], PartitionReport] = {}
    for report in result.reports:
        task = report.task
        if task.is_copy:
            continue
        key = task.topic_partition, brokers[task.directory.parent]
        other = places.setdefault(key, report)
        first = other.task.directory
        if other is not report:
            start = "keeps the one with the newer epoch, or the longer one; deletes the other"
            if other.topic_id != report.topic_id:
                start = f"stops with: {second_directory(task.topic_partition, first, task.directory)}"
            yield Finding(
                PARTITION_TWICE,
                str(task.directory.parent),
                str(task.topic_partition),
                task.directory.name,
                f"also in {first}",
                start,
            )


def _unequal_ids(result: CheckUp) -> Iterator[Finding]:
    by_topic: dict[str, list[PartitionReport]] = defaultdict(list)
    for report in result.reports:
        if report.topic_id is not None:
            by_topic[report.task.topic_partition.topic].append(report)
    for reports in by_topic.values():
        first = reports[0]
        for report in reports:
            if report.topic_id is not None and first.topic_id is not None and report.topic_id != first.topic_id:
                yield Finding(
                    TOPIC_ID_DIFFERS,
                    str(report.task.directory.parent),
                    str(report.task.topic_partition),
                    f"{report.task.directory.name}/{PARTITION_METADATA}",
                    f"topic id {uuid_to_base64(report.topic_id)}, but in {first.task.directory} it is "
                    f"{uuid_to_base64(first.topic_id)}",
                    "returns INCONSISTENT_TOPIC_ID for the one that the controller does not know",
                )
