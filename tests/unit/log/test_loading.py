"""How a start opens the logs of all directories: what it says in which order, in how many threads, and what ends it."""

from __future__ import annotations

import errno
import logging
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
import pytest

from kafka_zk.clock import SimClock
from kafka_zk.log.closing import MANY_LOGS
from kafka_zk.log.directory.data_dir import DataDir
from kafka_zk.log.files import clean_shutdown, names, partition_metadata
from kafka_zk.log.files.checkpoint import read_offsets
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.file_system import can_sync_at_once
from kafka_zk.log.loading.directory_load import DirectoryLoad
from kafka_zk.log.loading.loader import LogLoader
from kafka_zk.log.loading.opening import LogOpener
from kafka_zk.log.loading.refusals import InvalidLogDirectory
from kafka_zk.log.manager import LogManager
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.metrics.registry import MetricsRegistry
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.protocol.types import TopicPartition
from tests.unit.log.given import T0, manager_on, produced, values

ID = UUID(int=5)


def given_logs(count: int, *paths: Path, marked_clean: bool = True, disk: Disk | None = None) -> None:
    """`count` partitions with a record each, spread over the directories, left by a clean stop or a crash."""
    manager = manager_on(*paths, **({"disk": disk} if disk else {}))
    manager.startup()
    for index in range(count):
        log = manager.get_or_create_log(TopicPartition("t", index), topic_id=ID, is_new=True)
        log.append_as_leader(produced("one"), leader_epoch=0)
    manager.shutdown()
    for path in () if marked_clean else paths:
        clean_shutdown.delete(path)
        (path / names.RECOVERY_POINTS).unlink()


def start(*paths: Path, **options: Any) -> LogManager:
    manager = manager_on(*paths, **options)
    manager.startup()
    return manager


def lines_of(caplog: pytest.LogCaptureFixture, logger: str = "kafka.log.LogManager") -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == logger]


@pytest.fixture(autouse=True)
def every_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


# What Apache Kafka 3.9.1 wrote for the same directories.


def test_a_new_directory_has_no_logs_to_load(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    start(tmp_path / "1", tmp_path / "2").shutdown()
    found = [line for line in lines_of(caplog) if "oad" in line]
    assert found[:3] == [
        f"Loading logs from log dirs ArrayBuffer({tmp_path}/1, {tmp_path}/2)",
        f"No logs found to be loaded in {tmp_path}/1",
        f"No logs found to be loaded in {tmp_path}/2",
    ]
    assert re.fullmatch(r"Loaded 0 logs in \d+ms", found[3])


def test_after_a_clean_stop_recovery_is_skipped_and_each_log_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given_logs(2, tmp_path)
    caplog.clear()
    start(tmp_path).shutdown()
    found = [line for line in lines_of(caplog) if "load" in line.lower() or "ecover" in line]
    assert found[1] == f"Skipping recovery of 2 logs from {tmp_path} since clean shutdown file was found"
    assert re.fullmatch(
        rf"Completed load of Log\(dir={tmp_path}/t-0, topicId=AAAAAAAAAAAAAAAAAAAABQ, topic=t, partition=0, "
        r"highWatermark=0, lastStableOffset=0, logStartOffset=0, logEndOffset=1\) with 1 segments, "
        rf"local-log-start-offset 0 and log-end-offset 1 in \d+ms \(1/2 completed in {tmp_path}\)",
        found[2],
    )
    assert found[3].endswith(f"(2/2 completed in {tmp_path})")
    assert re.fullmatch(r"Loaded 2 logs in \d+ms", found[4])


def test_after_a_crash_each_segment_is_told_before_its_log_is_complete(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given_logs(2, tmp_path, marked_clean=False)
    caplog.clear()
    start(tmp_path).shutdown()
    assert f"Recovering 2 logs from {tmp_path} since no clean shutdown file was found" in lines_of(caplog)
    told = [record.getMessage() for record in caplog.records]
    begun = [f"[LogLoader partition=t-{n}, dir={tmp_path}] Recovering unflushed segment 0. 0/1 recovered for t-{n}."
             for n in range(2)]  # fmt: skip
    completed = [next(line for line in told if line.startswith("Completed load") and f"partition={n}," in line)
                 for n in range(2)]  # fmt: skip
    one_thread = [begun[0], completed[0], begun[1], completed[1]]
    assert [line for line in told if line in one_thread] == one_thread
    loaded = next(line for line in lines_of(caplog) if line.startswith("Loaded"))
    assert re.fullmatch(rf"Loaded 2 logs in \d+ms \(unclean log dirs = ArrayBuffer\({tmp_path}\)\)", loaded)


# Side by side


class Meeting:
    """Lets `count` threads wait for one another inside LogOpener.open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.threads: set[int] = set()
        self.barrier = threading.Barrier(count)
        opened = LogOpener.open

        def meet(opener: LogOpener, *arguments: Any, **options: Any) -> Any:
            if threading.get_ident() not in self.threads:
                self.threads.add(threading.get_ident())
                self.barrier.wait(timeout=20)
            return opened(opener, *arguments, **options)

        monkeypatch.setattr(LogOpener, "open", meet)


def test_each_directory_has_as_many_threads_as_configured_and_all_load_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = tmp_path / "1", tmp_path / "2"
    given_logs(12, *paths, marked_clean=False)
    meeting = Meeting(monkeypatch, 2 * 3)
    manager = start(*paths, properties={"num.recovery.threads.per.data.dir": "3"})
    assert len(meeting.threads) == 6
    assert not meeting.barrier.broken
    assert {log.topic_partition.partition: values(log) for log in manager.all_logs()} == {n: ["one"] for n in range(12)}
    manager.shutdown()


def test_no_file_is_open_when_everything_is_loaded(tmp_path: Path) -> None:
    given_logs(5, tmp_path, marked_clean=False)
    manager = start(tmp_path)
    assert not any(segment.is_open for log in manager.all_logs() for segment in log.segments)
    manager.shutdown()


# How far it is


def test_while_logs_are_loaded_gauges_tell_what_is_left_of_each_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under Apache's names and tags, of each thread; afterwards they are gone."""
    given_logs(3, tmp_path, marked_clean=False)
    metrics = MetricsRegistry(SimClock(wall_ms=T0))
    seen: list[dict[str, object]] = []
    recover = LogLoader._recover

    def shown() -> dict[str, object]:
        return {
            str(name).removeprefix("kafka.log:type=LogManager,name="): metric.attributes()["Value"]
            for name, metric in metrics.snapshot()
            if "ToRecover" in str(name)
        }

    def look(loader: LogLoader, segment: LogSegment) -> int:
        seen.append(shown())
        return recover(loader, segment)

    monkeypatch.setattr(LogLoader, "_recover", look)
    start(tmp_path, metrics=metrics, properties={"num.recovery.threads.per.data.dir": "1"}).shutdown()
    assert seen == [
        {
            f'remainingLogsToRecover,dir="{tmp_path}"': left,
            f'remainingSegmentsToRecover,dir="{tmp_path}",threadNum=0': 1,
        }
        for left in (3, 2, 1)
    ]
    assert shown() == {}


# What ends a load


def failing_in(directory: Path) -> Callable[..., Any]:
    opened = LogOpener.open

    def fail(opener: LogOpener, data_dir: Any, path: Path, *arguments: Any, **options: Any) -> Any:
        if path.parent == directory:
            raise OSError(errno.EIO, "Input/output error")
        return opened(opener, data_dir, path, *arguments, **options)

    return fail


def test_a_directory_that_fails_while_it_is_loaded_goes_offline_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = tmp_path / "1", tmp_path / "2"
    given_logs(6, bad, good)
    monkeypatch.setattr(LogOpener, "open", failing_in(bad))
    failed: list[str] = []
    manager = start(bad, good, on_failure=failed.append)
    assert failed == manager.offline_log_dirs() == [str(bad)]
    assert {log.directory.parent for log in manager.all_logs()} == {good}
    assert any(f"Error while loading log dir {bad}" in record.getMessage() for record in caplog.records)
    manager.shutdown()
    assert clean_shutdown.exists(good)
    assert not clean_shutdown.exists(bad)


def test_without_any_directory_left_the_start_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given_logs(2, tmp_path)
    monkeypatch.setattr(LogOpener, "open", failing_in(tmp_path))
    with pytest.raises(KafkaStorageError, match="have failed"):
        start(tmp_path)


def test_a_name_that_is_no_partition_stops_the_start_before_any_log_is_touched(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    given_logs(2, first, second, marked_clean=False)
    (second / "rubbish").mkdir()
    before = {path: path.stat().st_mtime_ns for path in first.rglob("*.index")}
    with pytest.raises(InvalidLogDirectory, match="'rubbish' is not in the form of topic-partition"):
        start(first, second)
    assert {path: path.stat().st_mtime_ns for path in first.rglob("*.index")} == before


@pytest.mark.parametrize("late", ["1", "2"])
def test_two_topics_logs_of_one_partition_stop_the_start_with_apaches_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """The words name the directories as log.dirs does, whichever was loaded first."""
    first, second = tmp_path / "1", tmp_path / "2"
    take_in = LogManager._take_in

    def take_in_late(manager: LogManager, load: DirectoryLoad) -> None:
        if load.data_dir.path.name == late:
            while not manager._logs:
                gevent.sleep(0.001)
        take_in(manager, load)

    monkeypatch.setattr(LogManager, "_take_in", take_in_late)
    for path, topic_id in ((first, UUID(int=1)), (second, UUID(int=2))):
        (path / "t-0").mkdir(parents=True)
        partition_metadata.write(path / "t-0" / names.PARTITION_METADATA, topic_id)
    with pytest.raises(InvalidLogDirectory) as refused:
        start(first, second)
    assert str(refused.value) == (
        f"Duplicate log directories for t-0 are found in both {second}/t-0 and {first}/t-0. It is likely because log "
        "directory failure happened while broker was replacing current replica with future replica. Recover broker "
        "from this failure by manually deleting one of the two directories for this partition. It is recommended to "
        "delete the partition in the log directory that is known to have failed recently."
    )
    assert f"There was an error in one of the threads during logs loading: {refused.value}" in lines_of(caplog)


def test_a_fault_of_ours_in_one_directory_ends_the_load_of_the_others_and_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    given_logs(40, first, second)
    open_one = LogOpener.open

    def open_or_fail(opener: LogOpener, data_dir: DataDir, path: Path, *arguments: Any, **options: Any) -> UnifiedLog:
        assert path != first / "t-0", "a fault of ours"
        return open_one(opener, data_dir, path, *arguments, **options)

    monkeypatch.setattr(LogOpener, "open", open_or_fail)
    loads: list[DirectoryLoad] = []
    run = DirectoryLoad.run
    monkeypatch.setattr(DirectoryLoad, "run", lambda load, count: (loads.append(load), run(load, count))[1])
    with pytest.raises(AssertionError, match="a fault of ours"):
        start(first, second)
    assert all(load._is_stopping for load in loads)


def test_a_swap_that_is_no_log_takes_its_directory_offline_and_touches_nothing(tmp_path: Path) -> None:
    first, second, failed = tmp_path / "1", tmp_path / "2", list[str]()
    given_logs(2, first, second)
    (swap := first / "t-0" / f"{names.offset_file_name(0, names.LOG)}{names.SWAP}").write_bytes(b"noise" * 20)
    before = {path: path.read_bytes() for path in (first / "t-0").iterdir()}
    manager = manager_on(first, second, on_failure=failed.append)
    manager.startup()
    assert (failed, manager.live_log_dirs()) == ([str(first)], [str(second)])
    manager.shutdown()
    assert {path: path.read_bytes() for path in before} == before
    assert swap.exists()


def test_a_stray_directory_is_named_and_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stray = tmp_path / f"t-0.{'ab' * 16}-stray"
    stray.mkdir(parents=True)
    manager = start(tmp_path)
    assert not list(manager.all_logs())
    manager.shutdown()
    assert list(stray.iterdir()) == []
    assert f"Found stray log: {stray}" in lines_of(caplog)


# Many logs


class OneSync(Disk):
    """Says that it can sync everything at once, and notes whether it did."""

    def __init__(self) -> None:
        self.synced_at_once = 0
        self.synced_alone: list[int] = []
        self.fails = False

    def can_sync_at_once(self, path: Path) -> bool:
        return True

    def sync_at_once(self, descriptor: int) -> None:
        self.synced_at_once += 1
        if self.fails:
            raise OSError(errno.EIO, "Input/output error")

    def fsync(self, descriptor: int) -> None:  # type: ignore[override]
        self.synced_alone.append(descriptor)


def test_many_logs_are_synced_by_one_call_when_they_stop(tmp_path: Path) -> None:
    disk = OneSync()
    manager = start(tmp_path, disk=disk)
    for index in range(MANY_LOGS):
        log = manager.get_or_create_log(TopicPartition("t", index), topic_id=ID, is_new=True)
        log.append_as_leader(produced("one"), leader_epoch=0)
    manager.wait_for_syncs()
    disk.synced_alone.clear()
    manager.shutdown()
    assert disk.synced_at_once == 1
    # The checkpoints and the marker are left: a file and its name each.
    assert len(disk.synced_alone) < 12
    assert set(read_offsets(tmp_path / names.RECOVERY_POINTS).values()) == {1}
    assert clean_shutdown.exists(tmp_path)


def test_a_sync_of_everything_that_fails_leaves_no_clean_marker(tmp_path: Path) -> None:
    disk = OneSync()
    manager = start(tmp_path, disk=disk)
    for index in range(MANY_LOGS):
        log = manager.get_or_create_log(TopicPartition("t", index), topic_id=ID, is_new=True)
        log.append_as_leader(produced("one"), leader_epoch=0)
    disk.fails = True
    manager.shutdown()
    assert not clean_shutdown.exists(tmp_path)
    assert 1 not in read_offsets(tmp_path / names.RECOVERY_POINTS).values()


def test_a_kind_of_file_system_that_promises_nothing_is_not_relied_upon() -> None:
    assert not can_sync_at_once(Path("/proc"))


def test_a_directory_that_fails_later_names_its_partitions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad, good = tmp_path / "1", tmp_path / "2"
    given_logs(4, bad, good)
    manager = start(bad, good)
    lost = [log for log in manager.all_logs() if log.directory.parent == bad]
    caplog.clear()
    lost[0].log_dir.fail("A disk failed", OSError(errno.EIO, "Input/output error"))
    partitions = ",".join(str(log.topic_partition) for log in lost)
    offline = f"Logs for partitions {partitions} are offline and logs for future partitions  are offline"
    assert lines_of(caplog) == [
        f"Stopping serving logs in dir {bad}",
        f"{offline} due to failure on log directory {bad}",
    ]
    assert {log.directory.parent for log in manager.all_logs()} == {good}
    manager.shutdown()
