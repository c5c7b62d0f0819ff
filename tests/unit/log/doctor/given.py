"""A data directory to be damaged, and what the doctor and a start make of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafka_zk.clock import SystemClock
from kafka_zk.log.doctor.checkup import CheckUp, check_up, task_of
from kafka_zk.log.doctor.log_dir import look_at
from kafka_zk.log.doctor.partition import start_of
from kafka_zk.log.doctor.partition_files import read_sparse
from kafka_zk.log.doctor.rehearsal import CUT, DELETED, MADE, RENAMED, REWRITTEN, Fate, rehearse
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import encode_offsets
from kafka_zk.log.manager import LogManager
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.builder import build_batch
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.types import Record
from kafka_zk.tools.log_doctor.__main__ import main
from tests.unit.log.given import T0, manager_on, topic_config

PLAIN, OTHER, TXN = TopicPartition("plain", 0), TopicPartition("plain", 1), TopicPartition("txn", 0)
INTERVAL = 100
CONFIG = topic_config(segment_bytes=1000, index_interval_bytes=INTERVAL)
IDS = {"plain": UUID(int=7 << 70), "txn": UUID(int=8 << 70)}
BROKER_ID, CLUSTER_ID = 3, "1eQ2ZjQIQfiwVojgCAGIug"


def started_on(*directories: Path) -> LogManager:
    manager = manager_on(*directories, configs=dict.fromkeys(IDS, CONFIG), clock=SystemClock())
    manager.startup()
    return manager


def batch_at(offset: int, *values: str, timestamp: int, **options: Any) -> memoryview:
    records = [Record(offset + at, timestamp + at, b"k", value.encode()) for at, value in enumerate(values)]
    return memoryview(build_batch(records, base_offset=offset, leader_epoch=0, **options))


def make(directory: Path) -> Path:
    """Three partitions of several segments, stopped cleanly; txn-0 has an aborted and two committed transactions."""
    manager = started_on(directory)
    for topic_partition in (PLAIN, OTHER):
        log = manager.get_or_create_log(topic_partition, topic_id=IDS["plain"], is_new=True)
        for number in range(20):
            values = [f"{number}-{index}" * 10 for index in range(3)]
            log.append_as_follower(batch_at(3 * number, *values, timestamp=T0 + number * 1000))
    log = manager.get_or_create_log(TXN, topic_id=IDS["txn"], is_new=True)
    for number in range(12):
        producer = {"producer_id": 5, "producer_epoch": 0}
        offset, timestamp, value = log.log_end_offset, T0 + number * 1000, f"{number}" * 60
        options = {**producer, "base_sequence": 2 * number, "transactional": True}
        log.append_as_follower(batch_at(offset, value, value, timestamp=timestamp, **options))
        if number % 4 == 3:
            marker = EndTransactionMarker(ControlType.ABORT if number == 3 else ControlType.COMMIT, 0)
            built = build_marker(
                marker, base_offset=offset + 2, timestamp_ms=timestamp + 500, leader_epoch=0, **producer
            )
            log.append_as_follower(memoryview(built))
    ends = {each.topic_partition: each.log_end_offset for each in manager.all_logs()}
    manager.lock_and_read_identities()
    manager.write_identities(broker_id=BROKER_ID, cluster_id=CLUSTER_ID)
    manager.shutdown()
    (directory / names.LOCK).unlink()
    (directory / names.HIGH_WATERMARKS).write_bytes(encode_offsets(ends))
    return directory


def crash(directory: Path, *, recovery_point: int = 0) -> None:
    """Let it look as if the broker had been killed."""
    (directory / names.CLEAN_SHUTDOWN).unlink()
    for path in [*directory.glob("plain-*/*60.snapshot"), *directory.glob("txn-0/*27.snapshot")]:
        path.unlink()
    rows = [f"{each.topic} {each.partition} {recovery_point}\n" for each in (PLAIN, OTHER, TXN)]
    (directory / names.RECOVERY_POINTS).write_text(f"0\n{len(rows)}\n{''.join(rows)}")


def examined(*directories: Path, deep: bool = False, processes: int | None = 1) -> CheckUp:
    found = [look_at(path) for path in directories]
    return check_up(found, deep=deep, index_interval_bytes=INTERVAL, processes=processes)


def concerns(result: CheckUp) -> set[str]:
    """The kinds of the findings that somebody should look at."""
    return {each.kind.name for each in result.findings() if each.kind.severity.value != "info"}


def kinds(result: CheckUp) -> set[str]:
    return {each.kind.name for each in result.findings()}


def the_start(result: CheckUp, kind: str) -> str:
    """What a start does about the only finding of a kind."""
    (found,) = (each for each in result.findings() if each.kind.name == kind)
    return found.start


def fates(directory: Path) -> dict[Path, dict[str, Fate]]:
    """What a start is said to do to the files of each partition."""
    log_dir = look_at(directory)
    found = {}
    for each in log_dir.partitions:
        task = task_of(log_dir, each, deep=False, index_interval_bytes=INTERVAL)
        start = start_of(task, is_compacted=task.checkpointed.first_dirty_offset is not None)
        found[each.directory] = rehearse(start).fates
    return found


def assert_a_start_does_what_was_said(directory: Path, scratch: Path) -> LogManager:
    """Start on a copy, and look at every file of every partition. The manager still runs."""
    said = fates(directory)
    copy = scratch / "started"
    shutil.copytree(directory, copy)
    manager = started_on(copy)
    for partition, fate_of in said.items():
        for before in sorted(partition.iterdir()):
            if names.parse_offset_file(before.name) is None and before.name != names.LEADER_EPOCHS:
                continue
            after, fate = copy / partition.name / before.name, fate_of.get(before.name)
            _assert_met(before, after, fate)
        for name, fate in fate_of.items():
            if fate.action == MADE:
                assert not (partition / name).exists() and (copy / partition.name / name).exists(), name
    return manager


def _assert_met(before: Path, after: Path, fate: Fate | None) -> None:
    if fate is None:
        assert _content(after) == _content(before), f"{before} was to stay as it is"
    elif fate.action == CUT:
        assert after.read_bytes() == before.read_bytes()[: fate.size_bytes], f"{before} was to be cut"
    elif fate.action == DELETED:
        assert not after.exists(), f"{before} was to go"
    elif fate.action == RENAMED:
        assert after.with_name(fate.becomes).read_bytes() == before.read_bytes()
    else:
        assert fate.action == REWRITTEN
        assert _content(after) != _content(before), f"{before} was to be written anew"


def _content(path: Path) -> bytes:
    return read_sparse(path)[0] if path.suffix in names.INDEXES else path.read_bytes()


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one run of the command."""
    capsys.readouterr()
    code = main([*map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def as_document(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    code, out, _ = printed(capsys, "--json", *arguments)
    return code, json.loads(out)


def tree(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file and directory: mode, time of the last change, content."""
    found = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        stat = path.lstat()
        found[str(path)] = (stat.st_mode, stat.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
    return found


Damage = Callable[[Path], None]
