"""--rebuild-indexes: locks the directories, rebuilds wrong indexes, reports the result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack

from kafka_zk.log.doctor.checkup import task_of
from kafka_zk.log.doctor.findings import WRONG_INDEX
from kafka_zk.log.doctor.log_dir import FoundPartition, LogDir, held
from kafka_zk.log.doctor.partition import examine_partition
from kafka_zk.log.doctor.rebuild import Rebuilt, rebuild_indexes
from kafka_zk.tools.log_doctor.options import Wanted


def rebuild(log_dirs: Sequence[LogDir], wanted: Wanted) -> int:
    """The exit code. Raises LogDirInUse, OSError."""
    done: list[Rebuilt] = []
    with ExitStack() as locks:
        for log_dir in log_dirs:
            locks.enter_context(held(log_dir.path))
        for log_dir in log_dirs:
            for found in log_dir.partitions:
                done += _rebuild(log_dir, found, wanted)
    written = [each for each in done if each.written]
    refused = [each for each in done if not each.written]
    if wanted.as_json:
        document = {
            "rebuilt": [str(each.path) for each in written],
            "refused": [{"path": str(each.path), "why": each.why} for each in refused],
        }
        print(json.dumps(document, indent=1))
    else:
        for each in done:
            print(f"rebuilt {each.path}" if each.written else f"skipped {each.path}: {each.why}")
        print(f"{len(written)} indexes rebuilt, {len(refused)} skipped")
    return 2 if refused else 0


def _rebuild(log_dir: LogDir, found: FoundPartition, wanted: Wanted) -> list[Rebuilt]:
    only = None
    if not wanted.all_indexes:
        interval = wanted.index_interval_bytes
        report = examine_partition(task_of(log_dir, found, deep=False, index_interval_bytes=interval))
        wrong = (each for each in report.findings if each.kind in WRONG_INDEX)
        only = frozenset(each.file.partition("/")[2] for each in wrong)
        if not only:
            return []
    return rebuild_indexes(
        found.directory,
        str(found.topic_partition),
        log_start_offset=log_dir.checkpointed(found.topic_partition).log_start_offset or 0,
        index_interval_bytes=wanted.index_interval_bytes,
        only=only,
    )
