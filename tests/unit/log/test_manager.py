from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
import pytest

from kafka_zk.clock import SimClock
from kafka_zk.log.directory.data_dir import DataDir, DirectoryInUse
from kafka_zk.log.files import clean_shutdown, names
from kafka_zk.log.files.checkpoint import read_offsets
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.leader_epoch_file import EpochEntry, encode_epochs
from kafka_zk.log.files.meta_properties import MetaProperties
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.loading.refusals import InvalidLogDirectory
from kafka_zk.log.local.flusher import Flusher
from kafka_zk.log.manager import LogManager
from kafka_zk.log.periodic import Periodic
from kafka_zk.log.pools import SYNC_THREADS
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.metrics import MetricsRegistry
from kafka_zk.protocol.errors import CorruptMessage, InconsistentTopicId, KafkaStorageError
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from tests.unit.log.given import T0, manager_on, produced, topic_config, values

A, B, C = TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("c", 0)
MINUTE = 60_000
PATIENCE_S = 30
ID = UUID(int=5)


def started(*paths: Path, **options: Any) -> LogManager:
    manager = manager_on(*paths, **options)
    manager.startup()
    return manager


def create(
    manager: LogManager, *partitions: TopicPartition, topic_id: UUID = NULL_UUID, leader_epoch: int = -1
) -> None:
    for partition in partitions:
        manager.get_or_create_log(partition, topic_id=topic_id, is_new=True, leader_epoch=leader_epoch)


def append(manager: LogManager, partition: TopicPartition, *texts: str) -> None:
    log = manager.get_log(partition)
    assert log is not None
    for text in texts:
        log.append_as_leader(produced(text), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)


def crash(manager: LogManager) -> None:
    for log in manager.all_logs():
        log.flusher.wait()
        for segment in log.segments:
            segment.close_files()
    manager.release()


def test_what_was_appended_is_there_after_a_clean_restart(tmp_path: Path) -> None:
    manager = started(tmp_path)
    log = manager.get_or_create_log(A, topic_id=ID, is_new=True)
    append(manager, A, "1", "2")
    assert manager.get_or_create_log(A, topic_id=ID, is_new=False) is log
    manager.shutdown()
    assert clean_shutdown.exists(tmp_path)
    assert read_offsets(tmp_path / names.RECOVERY_POINTS) == {A: 2}
    again = started(tmp_path).get_log(A)
    assert again is not None
    assert (again.topic_id, again.high_watermark, values(again)) == (ID, 2, ["1", "2"])
    assert not clean_shutdown.exists(tmp_path)


def test_what_was_appended_is_there_after_a_crash(tmp_path: Path) -> None:
    manager = started(tmp_path)
    create(manager, A, B)
    append(manager, A, "1", "2")
    crash(manager)
    manager = started(tmp_path)
    log = manager.get_log(A)
    assert log is not None
    assert values(log) == ["1", "2"]
    assert {each.topic_partition for each in manager.all_logs()} == {A, B}


def test_a_topic_id_that_contradicts_the_stored_one_is_refused(tmp_path: Path) -> None:
    manager = started(tmp_path)
    manager.get_or_create_log(A, topic_id=ID, is_new=True)
    with pytest.raises(InconsistentTopicId):
        manager.get_or_create_log(A, topic_id=UUID(int=6), is_new=False)


def test_new_partitions_go_to_the_directory_with_the_fewest(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    manager = started(first, second)
    create(manager, A, B, C, TopicPartition("d", 0))
    assert sorted(path.name for path in first.glob("*-0")) == ["a-0", "c-0"]
    assert sorted(path.name for path in second.glob("*-0")) == ["b-0", "d-0"]
    assert manager.live_log_dirs() == [str(first), str(second)]


def test_a_directory_is_used_by_one_process(tmp_path: Path) -> None:
    started(tmp_path)
    code = (
        "import sys; from pathlib import Path; from tests.unit.log.given import manager_on\n"
        "from kafka_zk.log.directory.data_dir import DirectoryInUse\n"
        "try: manager_on(Path(sys.argv[1])).startup()\n"
        "except DirectoryInUse as error: print(error)"
    )
    other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == (
        f"Failed to acquire lock on file .lock in {tmp_path}. A Kafka instance in another process or thread is using "
        "this directory."
    )
    assert issubclass(DirectoryInUse, Exception)


def test_an_identity_is_written_into_every_directory_and_read_back(tmp_path: Path) -> None:
    manager = manager_on(tmp_path / "1", tmp_path / "2")
    assert set(manager.lock_and_read_identities().values()) == {None}
    manager.write_identities(broker_id=4, cluster_id="c")
    assert manager.lock_and_read_identities() == {
        tmp_path / number / names.META_PROPERTIES: MetaProperties(4, "c") for number in ("1", "2")
    }


def test_a_directory_that_takes_no_identity_is_offline_and_the_others_are_used(tmp_path: Path) -> None:
    first, second, failed = tmp_path / "1", tmp_path / "2", list[str]()
    disk = DeadDirectory()
    disk.dead = first
    manager = manager_on(first, second, disk=disk, on_failure=failed.append)
    manager.lock_and_read_identities()
    manager.write_identities(broker_id=4, cluster_id="c")
    assert (failed, manager.live_log_dirs()) == ([str(first)], [str(second)])
    disk.dead = tmp_path
    with pytest.raises(KafkaStorageError, match="have failed"):
        manager.write_identities(broker_id=5, cluster_id="c")
    manager.release()


def test_a_directory_that_is_no_partition_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "stuff").mkdir()
    with pytest.raises(InvalidLogDirectory, match="'stuff' is not in the form of topic-partition"):
        started(tmp_path)


@pytest.mark.parametrize(
    ("file", "content"),
    [("a-0/partition.metadata", "version: 0\ntopic_id: nonsense"), ("meta.properties", "broker.id=one\n")],
)
def test_a_small_file_that_cannot_be_read_takes_its_directory_offline_and_no_other(
    tmp_path: Path, file: str, content: str
) -> None:
    first, second, failed = tmp_path / "1", tmp_path / "2", list[str]()
    manager = started(first, second)
    create(manager, A, B, topic_id=ID)
    manager.shutdown()
    (first / file).write_text(content)
    manager = started(first, second, on_failure=failed.append)
    assert (failed, manager.live_log_dirs()) == ([str(first)], [str(second)])
    assert [each.topic_partition for each in manager.all_logs()] == [B]
    manager.shutdown()
    assert (clean_shutdown.exists(first), clean_shutdown.exists(second)) == (file == "meta.properties", True)
    assert (first / file).read_text() == content


def test_files_and_stray_directories_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    stray = tmp_path / f"a-0.{'0' * 32}-stray"
    stray.mkdir()
    manager = started(tmp_path)
    assert list(manager.all_logs()) == []
    manager.shutdown()
    assert stray.exists()
    assert (tmp_path / "notes.txt").exists()


def test_a_deleted_partition_is_gone_at_once_and_its_files_a_minute_later(tmp_path: Path) -> None:
    clock = SimClock(wall_ms=T0)
    manager = started(tmp_path, clock=clock)
    create(manager, A, B)
    append(manager, A, "old")
    log = manager.get_log(A)
    assert log is not None
    manager.delete_log(A)
    assert manager.get_log(A) is None
    (renamed,) = tmp_path.glob("a-0.*-delete")
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(produced("late"), leader_epoch=0)
    create(manager, A)
    append(manager, A, "new")
    clock.advance(MINUTE - 1)
    assert renamed.exists()
    clock.advance(1)
    assert not renamed.exists()
    assert values(manager.get_log(A)) == ["new"]  # type: ignore[arg-type]


def test_a_deletion_that_a_restart_interrupted_is_finished(tmp_path: Path) -> None:
    manager = started(tmp_path)
    create(manager, A)
    manager.delete_log(A)
    manager.shutdown()
    clock = SimClock(wall_ms=T0)
    manager = started(tmp_path, clock=clock)
    assert list(manager.all_logs()) == []
    clock.advance(MINUTE)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_checkpoints_are_written_on_the_clock(tmp_path: Path) -> None:
    clock = SimClock(wall_ms=T0)
    manager = started(tmp_path, clock=clock)
    create(manager, A)
    append(manager, A, "1", "2", "3")
    log = manager.get_log(A)
    assert log is not None
    log.flush()
    log.increment_log_start_offset(1)
    clock.advance(2 * MINUTE)
    assert read_offsets(tmp_path / names.RECOVERY_POINTS) == {A: 3}
    assert read_offsets(tmp_path / names.LOG_START_OFFSETS) == {A: 1}
    log.update_high_watermark(2)
    manager.write_high_watermarks()
    assert read_offsets(tmp_path / names.HIGH_WATERMARKS) == {A: 2}
    crash(manager)
    log = started(tmp_path).get_log(A)
    assert log is not None
    assert (log.log_start_offset, log.high_watermark, values(log)) == (1, 2, ["2", "3"])


def test_retention_runs_on_the_clock(tmp_path: Path) -> None:
    clock = SimClock(wall_ms=T0)
    manager = started(tmp_path, clock=clock, configs={"a": topic_config(retention_ms=MINUTE)})
    create(manager, A, B)
    append(manager, A, "1")
    append(manager, B, "1")
    clock.advance(10 * MINUTE)
    assert [(str(log.topic_partition), log.log_start_offset) for log in manager.all_logs()] == [("a-0", 1), ("b-0", 0)]


@pytest.mark.parametrize("wall_clock_moves_ms", [0, -86_400_000])
def test_flush_ms_syncs_after_its_time_whatever_the_wall_clock_does(tmp_path: Path, wall_clock_moves_ms: int) -> None:
    clock = SimClock(wall_ms=T0)
    manager = manager_on(tmp_path, clock=clock, configs={"a": topic_config(flush_ms=1000)})
    manager.startup()
    create(manager, A, B)
    append(manager, A, "1")
    append(manager, B, "1")
    clock.set_wall(wall_clock_moves_ms)
    clock.advance(30_000)
    manager.flush_due_logs()
    assert {log.topic_partition: log.recovery_point for log in manager.all_logs()} == {A: 1, B: 0}


def test_flush_ms_opens_nothing_of_a_log_that_went_while_another_was_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimClock(wall_ms=T0)
    manager = manager_on(tmp_path, clock=clock, configs={name: topic_config(flush_ms=1000) for name in "ab"})
    manager.startup()
    create(manager, A, B)
    append(manager, A, "1")
    append(manager, B, "1")
    first, sync = manager.get_log(A), Flusher.sync
    assert first is not None
    clock.advance(5_000)

    def sync_slowly(self: Flusher, segments: Iterable[LogSegment]) -> None:
        if self is first.flusher:
            manager.delete_log(B)
            clock.advance(2 * MINUTE)
            with gevent.Timeout(30):
                while any("-delete" in path.name for path in tmp_path.iterdir()):
                    gevent.sleep(0.001)
        sync(self, segments)

    monkeypatch.setattr(Flusher, "sync", sync_slowly)
    manager.flush_due_logs()
    assert len(manager.live_log_dirs()) == 1
    assert manager.get_log(A) is not None


def test_a_changed_topic_config_holds_from_the_next_append_on(tmp_path: Path) -> None:
    manager = started(tmp_path)
    create(manager, A, B)
    manager.update_topic_config("a", topic_config(segment_bytes=80))
    for partition in (A, B):
        append(manager, partition, "1", "2", "3")
    assert [len(log.segments) for log in manager.all_logs()] == [3, 1]


class CountingDisk(Disk):
    """How many syncs were asked for; those of files called *`meeting` wait until half of the threads are in one."""

    def __init__(self, meeting: str) -> None:
        self.synced: list[str] = []
        self.have_met = False
        self._meeting = meeting
        self._at_once = 0
        self._counting = threading.Condition()

    def fsync(self, descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        with self._counting:
            self.synced.append(path.name)
            if not path.name.endswith(self._meeting):
                return
            self._at_once += 1
            if self._at_once >= SYNC_THREADS // 2:
                self.have_met = True
                self._counting.notify_all()
            # Ends at once when they have met; those who never do wait in vain, and the test says so.
            self._counting.wait_for(lambda: self.have_met, PATIENCE_S)
            self._at_once -= 1

    def times_by_kind(self) -> Counter[str]:
        return Counter(Path(name).suffix or name for name in self.synced)


def many(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for index in range(count)]


def test_a_new_partition_costs_two_syncs_and_many_are_made_at_the_same_time(tmp_path: Path) -> None:
    disk, partitions = CountingDisk(f"{names.PARTITION_METADATA}.tmp"), many("a", 40)
    first, second = tmp_path / "1", tmp_path / "2"
    manager = started(first, second, disk=disk)
    disk.synced.clear()
    manager.do_at_once(partitions, lambda each: create(manager, each, topic_id=ID, leader_epoch=0))
    # Before any record comes, the topic id and the names of all files are there for good.
    assert disk.times_by_kind() == {".tmp": len(partitions)} | {str(partition): 1 for partition in partitions}
    assert disk.have_met
    assert len(os.listdir(first)) == len(os.listdir(second))
    disk.synced.clear()
    for log in manager.all_logs():
        log.assign_epoch_start(0, 0)  # Its first, which is in the file.
        assert (log.directory / names.LEADER_EPOCHS).read_bytes() == encode_epochs([EpochEntry(0, 0)])
    manager.wait_for_syncs()
    assert disk.times_by_kind() == {first.name: 1, second.name: 1}, "the names of all the partitions in them"
    disk.synced.clear()
    for log in manager.all_logs():
        log.assign_epoch_start(1, 0)
    manager.wait_for_syncs()
    epochs = {names.LEADER_EPOCHS: len(partitions)} | {str(each): 1 for each in partitions}
    assert disk.times_by_kind() == epochs
    manager.shutdown()
    again = started(first, second)
    assert {log.topic_partition: log.topic_id for log in again.all_logs()} == dict.fromkeys(partitions, ID)
    again.shutdown()


def test_a_config_that_changes_while_a_partition_is_made_holds_for_it(tmp_path: Path) -> None:
    configs = {A.topic: topic_config()}

    class DiskDuringWhichTheConfigChanges(Disk):
        def sync_path(self, path: str | Path) -> None:
            super().sync_path(path)
            if Path(path).name == str(A):
                configs[A.topic] = topic_config(segment_bytes=12345)
                manager.update_topic_config(A.topic, configs[A.topic])

    manager = started(tmp_path, configs=configs, disk=DiskDuringWhichTheConfigChanges())
    create(manager, A)
    log = manager.get_log(A)
    assert log is not None and log.config.segment_bytes == 12345
    manager.shutdown()


def test_a_stop_syncs_each_dirty_log_once_and_many_logs_at_the_same_time(tmp_path: Path) -> None:
    disk, partitions = CountingDisk(".log"), many("a", 40)
    manager = started(tmp_path, disk=disk)
    create(manager, *partitions)
    for partition in partitions:
        append(manager, partition, "one")
    manager._pools.drain()
    disk.synced.clear()
    manager.shutdown()
    times = disk.times_by_kind()
    assert times[".log"] == times[".index"] == times[".timeindex"] == times[".snapshot"] == len(partitions)
    # The names of new segments, of the epochs and of the snapshot together.
    assert sum(name in {str(partition) for partition in partitions} for name in disk.synced) == len(partitions)
    assert disk.have_met


def test_a_recovery_of_many_logs_syncs_their_snapshots_at_the_same_time_and_before_anybody_is_served(
    tmp_path: Path,
) -> None:
    partitions = many("a", 40)
    manager = started(tmp_path)
    create(manager, *partitions)
    for partition in partitions:
        append(manager, partition, "one", "two")
    crash(manager)
    disk = CountingDisk(".snapshot")
    again = started(tmp_path, disk=disk)
    times = disk.times_by_kind()
    assert times[".snapshot"] == times[".log"] == len(partitions)
    assert times.total() <= 4 * len(partitions) + 1  # With their names, and the clean marker, which stays away.
    assert disk.have_met
    for partition in partitions:
        log = again.get_log(partition)
        assert log is not None and values(log) == ["one", "two"]
    again.shutdown()


class DeadDirectory(Disk):
    """From `die` on every change below a path fails."""

    def __init__(self) -> None:
        self.dead: Path | None = None

    def pwrite(self, descriptor: int, data: bytes, position: int) -> int:  # type: ignore[override]
        if self.dead is not None and Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_relative_to(self.dead):
            raise OSError(errno.EIO, "Input/output error")
        return os.pwrite(descriptor, data, position)


def test_a_failed_directory_takes_its_partitions_along_and_leaves_the_others(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    disk, failed = DeadDirectory(), []
    manager = started(first, second, disk=disk, on_failure=failed.append)
    create(manager, A, B)
    append(manager, A, "1")
    append(manager, B, "1")
    disk.dead = first
    log = manager.get_log(A)
    assert log is not None
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(produced("2"), leader_epoch=0)
    assert failed == [str(first)]
    assert (manager.live_log_dirs(), manager.offline_log_dirs()) == ([str(second)], [str(first)])
    assert manager.get_log(A) is None
    append(manager, B, "2")
    with pytest.raises(KafkaStorageError, match=r"Can not create log for c-0 because log directories .* are offline"):
        manager.get_or_create_log(C, topic_id=NULL_UUID, is_new=False)
    create(manager, C)
    assert (second / "c-0").exists()
    manager.shutdown()
    assert clean_shutdown.exists(second)
    assert not clean_shutdown.exists(first)


def test_a_directory_that_cannot_be_used_at_start_is_offline_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    failed: list[str] = []
    manager = started(tmp_path / "file", tmp_path / "good", on_failure=failed.append)
    assert failed == [str(tmp_path / "file")]
    create(manager, A)
    with pytest.raises(KafkaStorageError, match="none of the specified log dirs"):
        started(tmp_path / "file")


@pytest.mark.parametrize("name", [names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.HIGH_WATERMARKS])
def test_a_checkpoint_that_cannot_be_read_counts_as_empty(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    manager = started(tmp_path)
    create(manager, A)
    append(manager, A, "1", "2")
    manager.shutdown()
    (tmp_path / name).write_text("rubbish")
    log = started(tmp_path).get_log(A)
    assert log is not None
    assert values(log) == ["1", "2"]
    assert f"Error occurred while reading {name}" in caplog.text


def test_metrics_follow_the_logs(tmp_path: Path) -> None:
    metrics = MetricsRegistry(SimClock())
    manager = started(tmp_path, metrics=metrics)
    create(manager, A)
    append(manager, A, "1", "2")
    gauge = metrics.find("kafka.log:type=Log,name=LogEndOffset", topic="a", partition=0)
    assert gauge is not None
    assert gauge.attributes() == {"Value": 2}
    manager.delete_log(A)
    assert metrics.find("kafka.log:type=Log,name=LogEndOffset", topic="a", partition=0) is None


def test_rule_46_a_start_that_failed_half_way_leaves_no_clean_marker(tmp_path: Path) -> None:
    manager = started(tmp_path)
    create(manager, A)
    append(manager, A, "1")
    crash(manager)
    (tmp_path / "stuff").mkdir()
    manager = manager_on(tmp_path)
    with pytest.raises(InvalidLogDirectory):
        manager.startup()
    manager.shutdown()
    assert not (tmp_path / names.CLEAN_SHUTDOWN).exists(), "what was not recovered must be recovered at the next start"
    (tmp_path / "stuff").rmdir()
    manager = started(tmp_path)
    manager.shutdown()
    assert (tmp_path / names.CLEAN_SHUTDOWN).exists()


def test_rule_46_a_stop_before_everything_was_loaded_leaves_the_checkpoints_as_they_are(tmp_path: Path) -> None:
    manager = started(tmp_path)
    create(manager, A)
    append(manager, A, "1", "2")
    log = manager.get_log(A)
    assert log is not None
    log.increment_log_start_offset(1)
    manager.shutdown()
    (tmp_path / "stuff").mkdir()
    manager = manager_on(tmp_path)
    with pytest.raises(InvalidLogDirectory):
        manager.startup()
    manager.shutdown()
    (tmp_path / "stuff").rmdir()
    log = started(tmp_path).get_log(A)
    assert log is not None
    assert (log.log_start_offset, log.high_watermark, values(log)) == (1, 2, ["2"])


def test_rule_53_without_a_delay_files_go_at_once_and_the_stop_waits_for_nothing(tmp_path: Path) -> None:
    clock = SimClock(wall_ms=T0)
    manager = manager_on(tmp_path, clock=clock, properties={"log.segment.delete.delay.ms": "0"})
    manager.startup()
    create(manager, A, B)
    append(manager, A, "old")
    manager.delete_log(A)
    clock.advance(0)
    assert list(tmp_path.glob("a-0*")) == []
    manager.delete_log(B)
    manager.shutdown()
    assert (tmp_path / names.CLEAN_SHUTDOWN).exists()


def test_rule_54_what_lies_below_the_log_start_goes_before_time_and_size_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = started(tmp_path, configs={"a": topic_config(segment_bytes=150, retention_bytes=300)})
    create(manager, A)
    append(manager, A, "x" * 60, "x" * 60, "x" * 60, "x" * 60)
    log = manager.get_log(A)
    assert log is not None
    assert len(log.segments) == 4, "two more than retention.bytes allows"
    log.increment_log_start_offset(2)
    with caplog.at_level("INFO", "kafka.log.UnifiedLog"):
        manager.clean_up_logs()
    assert [segment.base_offset for segment in log.segments] == [2, 3]
    assert [text.partition(" due to ")[2].partition(":")[0] for text in caplog.messages if " due to " in text] == [
        "log start offset 2 breaches"
    ]


@pytest.mark.parametrize(
    ("at", "damage"), [(16, b"\x77"), (8, (3).to_bytes(4, "big"))], ids=["its magic", "its length"]
)
def test_a_damaged_batch_keeps_retention_from_no_segment_and_no_other_log(
    tmp_path: Path, at: int, damage: bytes
) -> None:
    configs = {name: topic_config(segment_bytes=150, retention_ms=MINUTE) for name in "abc"}
    manager = started(tmp_path, configs=configs)
    create(manager, A, B, C)
    for partition in (A, B, C):
        append(manager, partition, "x" * 60, "x" * 60)
    manager.shutdown()
    path = tmp_path / "b-0" / f"{0:020}.log"
    with path.open("r+b") as file:
        file.seek(at)
        file.write(damage)
    for age_ms, kept in ((0, [0, 1]), (MINUTE + 1, [2])):
        manager = started(tmp_path, configs=configs, clock=SimClock(wall_ms=T0 + 10 * MINUTE))
        os.utime(path, ns=((T0 + 10 * MINUTE - age_ms) * 1_000_000,) * 2)
        manager.clean_up_logs()
        left = {log.topic_partition: [each.base_offset for each in log.segments] for log in manager.all_logs()}
        assert left == {A: [2], B: kept, C: [2]}
        manager.shutdown()


def test_what_one_log_raises_ends_neither_retention_nor_flushes_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = topic_config(segment_bytes=150, retention_ms=MINUTE, flush_ms=0)
    clock = SimClock(wall_ms=T0 + 10 * MINUTE)
    manager = started(tmp_path, configs=dict.fromkeys("abc", config), clock=clock)
    create(manager, A, B, C)
    for partition in (A, B, C):
        append(manager, partition, "x" * 60)
    damaged, wait, sync = manager.get_log(B), Flusher.wait, Flusher.sync
    assert damaged is not None

    def fails_for_one(method: Any) -> Any:
        def call(self: Flusher, *arguments: Any) -> None:
            if self is damaged.flusher:
                raise CorruptMessage("a batch")
            method(self, *arguments)

        return call

    monkeypatch.setattr(Flusher, "sync", fails_for_one(sync))
    manager.flush_due_logs()
    assert {log.topic_partition: log.recovery_point for log in manager.all_logs()} == {A: 1, B: 0, C: 1}
    monkeypatch.setattr(Flusher, "wait", fails_for_one(wait))
    manager.clean_up_logs()
    assert {log.topic_partition: log.log_start_offset for log in manager.all_logs()} == {A: 1, B: 0, C: 1}


def test_many_logs_whose_epochs_alone_are_to_be_synced_stop_with_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of new partitions without records."""
    at_once: list[DataDir] = []
    monkeypatch.setattr("kafka_zk.log.closing.MANY_LOGS", 2)
    monkeypatch.setattr(DataDir, "can_sync_at_once", lambda self: True)
    monkeypatch.setattr(DataDir, "sync_at_once", lambda self: at_once.append(self))
    disk = CountingDisk("nobody")
    manager = started(tmp_path, disk=disk)
    create(manager, A, B, leader_epoch=0)
    manager.wait_for_syncs()
    manager.shutdown()
    assert len(at_once) == 1
    assert names.LEADER_EPOCHS not in disk.synced


@pytest.mark.parametrize("many", [1, 1000], ids=["synced at once", "synced one by one"])
def test_a_log_that_cannot_be_completed_leaves_its_directory_to_recovery_and_the_others_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr("kafka_zk.log.closing.MANY_LOGS", many)
    monkeypatch.setattr(DataDir, "can_sync_at_once", lambda self: True)
    paths = [tmp_path / name for name in "de"]
    manager = started(*paths)
    create(manager, A, B, C)
    for partition in (A, B, C):
        append(manager, partition, "1", "2", "3")
    damaged = manager.get_log(A)
    assert damaged is not None
    damaged.truncate_to(2)  # Its times are to be read again.
    active = damaged.active
    found = active.position_of(1)
    assert found is not None
    with active.file.path.open("r+b") as file:
        file.seek(found.position + 16)
        file.write(b"\x77")
    manager.shutdown()
    assert [clean_shutdown.exists(path) for path in paths] == [path != damaged.log_dir.path for path in paths]
    points = {**read_offsets(paths[0] / names.RECOVERY_POINTS), **read_offsets(paths[1] / names.RECOVERY_POINTS)}
    assert (points[B], points[C]) == (3, 3)
    manager = started(*paths)
    assert {each.topic_partition: len(values(each)) for each in manager.all_logs()} == {A: 1, B: 3, C: 3}
    manager.shutdown()


@pytest.mark.interpreted
def test_a_torn_epoch_file_is_rebuilt_in_a_thread_before_the_log_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_loop: list[bool] = []
    headers, loop = SegmentFile.headers, threading.get_ident()

    def watched(self: SegmentFile, *arguments: Any) -> Any:
        in_loop.append(threading.get_ident() == loop)
        return headers(self, *arguments)

    manager = started(tmp_path, configs={"a": topic_config(segment_bytes=150)})
    create(manager, A)
    log = manager.get_log(A)
    assert log is not None
    for epoch in range(4):
        log.append_as_leader(produced("x" * 60), leader_epoch=epoch)
    manager.shutdown()
    (tmp_path / "a-0" / names.LEADER_EPOCHS).write_bytes(b"0\n1\n0 ")
    manager = started(tmp_path)
    monkeypatch.setattr(SegmentFile, "headers", watched)
    log = manager.get_or_create_log(A, topic_id=NULL_UUID, is_new=False)
    assert log.leader_epochs.entries == [(epoch, epoch) for epoch in range(4)]
    assert in_loop == [False] * len(log.segments)
    manager.shutdown()


@pytest.mark.parametrize("period_ms", [0, -1])
def test_a_task_without_a_period_runs_once(period_ms: int) -> None:
    """As in Kafka, where 0 is a valid interval of the checkpoints: else they would be written without a pause."""
    clock, runs = SimClock(), list[int]()

    def run() -> None:
        if len(runs) > 8:
            pytest.fail("without a pause")
        runs.append(clock.monotonic_ms())

    tasks = Periodic(clock)
    tasks.every("checkpoint", period_ms, run, first_after_ms=100)
    clock.advance(1000)
    assert len(runs) == 1
    tasks.every("retention", 400, run, first_after_ms=100)
    clock.advance(1000)
    assert len(runs) == 1 + 3
