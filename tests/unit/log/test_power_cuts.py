"""What the random lives of tests/crash found, one rule each: no promise depends on luck when the power goes."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import clean_shutdown, names
from kafka_zk.log.files.checkpoint import MalformedCheckpoint, read_offsets
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.files.leader_epoch_file import decode_epochs
from kafka_zk.log.local.flusher import Flusher
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.record.walking import assign_offsets
from tests.crash.forgetful_disk import Fate, ForgetfulDisk, PowerCut
from tests.crash.forgetful_helper import ForgetfulHelper
from tests.crash.inline_pools import InlinePools
from tests.unit.log.cleaner.given import clean
from tests.unit.log.given import T0, TP, Place, WatchedDisk, manager_on, produced, topic_config, values

CONFIG = topic_config(segment_bytes=400, index_interval_bytes=100)


class Machine:
    """A broker's logs on a disk that forgets what was not synced."""

    def __init__(self, path: Path, config: LogConfig = CONFIG) -> None:
        path.mkdir()
        self.path, self.config = path, config
        self.disk = ForgetfulDisk(path)

    def start(self) -> UnifiedLog:
        self.manager: LogManager = manager_on(
            self.path,
            configs={TP.topic: self.config},
            disk=self.disk,
            properties={"log.cleaner.enable": "false", "transaction.partition.verification.enable": "false"},
        )
        self.manager.startup()
        log = self.manager.get_log(TP) or self.manager.get_or_create_log(TP, topic_id=UUID(int=1), is_new=True)
        self.manager.wait_for_syncs()
        return log

    def lose_process(self) -> None:
        """Everything stays as it is, synced or not."""
        for log in self.manager.all_logs():
            log.flusher.wait()
            log.close_files()
        self.manager.release()

    def lose_power(self) -> None:
        """Nothing stays that was not synced."""
        self.disk.is_off = True
        self.lose_process()
        self.disk = self.disk.after_power_cut(Fate.LOST, random.Random(0))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "log")


def fill(log: UnifiedLog, count: int = 20) -> None:
    for number in range(log.log_end_offset, log.log_end_offset + count):
        log.append_as_leader(produced(str(number), timestamp=T0 + number), leader_epoch=number // 7)


def texts(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def assert_every_time_is_found(log: UnifiedLog) -> None:
    for number in range(log.log_end_offset):
        found = log.offset_for_timestamp(T0 + number)
        assert found is not None and found.offset == number


def files_of(machine: Machine) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in machine.path.glob("t-0/*")}


def test_a_clean_stop_leaves_nothing_to_a_power_cut(machine: Machine) -> None:
    log = machine.start()
    fill(log)
    log.flush()  # The indexes are completed later than this.
    machine.manager.shutdown()
    left = files_of(machine)
    machine.lose_power()
    assert files_of(machine) == left
    log = machine.start()
    assert values(log) == texts(20)
    assert_every_time_is_found(log)
    assert {path.stat().st_size < 100 for path in machine.path.glob("t-0/*index")} == {True}
    machine.manager.shutdown()


def test_a_segment_whose_records_were_synced_before_its_roll_is_completed(machine: Machine) -> None:
    log = machine.start()
    while len(log.segments) < 3:
        fill(log, 1)
        log.flush()
    machine.manager.checkpoints.write_recovery_points(machine.manager._dirs[0])
    end = log.log_end_offset
    machine.lose_power()
    log = machine.start()
    assert log.log_end_offset == end
    assert_every_time_is_found(log)
    assert all(segment.is_complete() for segment in list(log.segments)[:-1])
    machine.manager.shutdown()


def test_a_removed_clean_marker_stays_away_although_the_start_was_cut_off(machine: Machine) -> None:
    machine.start()
    machine.manager.shutdown()
    machine.disk.arm(random.Random(0), cut_at=1)
    with pytest.raises(PowerCut):
        clean_shutdown.delete(machine.path, machine.disk)
    machine.disk.arm(random.Random(0))  # The process alone had died.
    fill(machine.start(), 3)
    machine.lose_power()
    assert not clean_shutdown.exists(machine.path)


def test_the_epochs_below_the_recovery_point_are_on_the_disk(machine: Machine) -> None:
    log = machine.start()
    log.epochs.sync_soon = lambda path: None  # The background is slower than the flush.
    fill(log)
    log.flush()
    machine.lose_power()
    (entries,) = (decode_epochs(path.read_bytes(), path) for path in machine.path.glob(f"t-0/{names.LEADER_EPOCHS}"))
    assert entries == [(0, 0), (1, 7), (2, 14)]


def test_epochs_that_a_killed_process_left_are_synced_before_the_recovery_point_passes_them(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Flusher, "in_background", lambda *task: None)
    log = machine.start()
    fill(log, 6)
    log.flush()
    machine.manager.checkpoints.write_recovery_points(machine.manager._dirs[0])
    log.epochs.sync_soon = lambda path: None  # The background never comes to it.
    fill(log, 14)
    machine.lose_process()
    log = machine.start()
    log.epochs.sync_soon = lambda path: None
    log.flush()
    machine.lose_power()
    (entries,) = (decode_epochs(path.read_bytes(), path) for path in machine.path.glob(f"t-0/{names.LEADER_EPOCHS}"))
    assert entries == [(0, 0), (1, 7), (2, 14)]


def test_room_of_an_index_that_came_back_behind_a_clean_marker_is_no_entry(place: Place) -> None:
    log = place.open(CONFIG)
    fill(log)
    log.close()
    for path in place.partition.glob("*.index"):
        os.truncate(path, path.stat().st_size + 800)
    log = place.open(CONFIG, clean=True, recovery_point=20)
    fill(log, 5)
    assert values(log) == texts(25)
    for segment in log.segments:
        segment.load_times()
        entries = segment.indexes.offset.entries()
        assert all(entry.position for entry in entries), f"{segment}: {entries}"
        assert [entry.offset for entry in entries] == sorted({entry.offset for entry in entries})


def test_what_a_cleaning_removes_records_for_is_synced_before_they_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Flusher, "in_background", lambda *task: None)
    disk = WatchedDisk()
    place = Place(tmp_path, disk=disk, pools=InlinePools(random.Random(0)))
    log = place.open(topic_config(segment_bytes=400, index_interval_bytes=100, cleanup_policy="compact"))
    for number in range(20):
        log.append_as_leader(produced(str(number), keys=[b"k"]), leader_epoch=0)
    log.update_high_watermark(20)
    assert log.recovery_point == 0
    synced_up_to: list[int] = []
    disk.before = lambda change: synced_up_to.append(log.recovery_point) if change == "rename" else None
    assert clean(log) == log.active.base_offset
    assert set(synced_up_to) == {log.log_end_offset}


def test_the_cleaner_removes_nothing_for_the_sake_of_what_is_in_memory_only(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "log", topic_config(cleanup_policy="compact"))
    log = machine.start()
    log.append_as_leader(produced("old"), leader_epoch=0)
    log.flush()
    log.append_as_leader(produced("new", producer_id=1, epoch=0, sequence=0, transactional=True), leader_epoch=0)
    log.roll()
    log.flush()
    marker = build_marker(EndTransactionMarker(ControlType.COMMIT, 0), producer_id=1, producer_epoch=0, timestamp_ms=T0)
    log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)
    log.update_high_watermark(log.log_end_offset)
    clean(log, helper=ForgetfulHelper(machine.disk))
    assert values(log) == ["new"]
    machine.lose_power()
    log = machine.start()
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == 3, "the transaction is open again, and what it replaced is gone"
    machine.manager.shutdown()


def test_a_new_partition_is_there_for_good_before_anybody_answers_for_it(machine: Machine) -> None:
    machine.start()
    machine.lose_power()
    assert (machine.path / str(TP) / names.PARTITION_METADATA).stat().st_size == 43


def test_a_truncation_below_the_checkpointed_recovery_point_lowers_that_at_once(machine: Machine) -> None:
    log = machine.start()
    fill(log)
    log.flush()
    machine.manager.checkpoints.write_recovery_points(machine.manager._dirs[0])
    assert read_offsets(machine.path / names.RECOVERY_POINTS) == {TP: 20}
    log.truncate_to(10)
    machine.lose_power()
    assert read_offsets(machine.path / names.RECOVERY_POINTS) == {TP: 10}
    assert values(machine.start()) == texts(10)
    machine.manager.shutdown()


@pytest.mark.parametrize("behind", [4, 12], ids=["that ends below it", "that ends above it"])
@pytest.mark.parametrize("cut", [UnifiedLog.truncate_to, UnifiedLog.truncate_fully_and_start_at])
def test_after_a_truncation_below_the_checkpointed_log_start_a_kill_takes_nothing_appended_since(
    machine: Machine, cut: Callable[[UnifiedLog, int], object], behind: int
) -> None:
    log = machine.start()
    fill(log)
    log.update_high_watermark(20)
    log.increment_log_start_offset(15)
    machine.manager.checkpoints.write_log_start_offsets(machine.manager._dirs[0])
    cut(log, 8)
    fill(log, behind)
    log.flush()
    appended = texts(8 + behind)[8:]
    assert values(log, 8) == appended
    machine.lose_process()
    log = machine.start()
    assert log.log_start_offset == 8
    assert values(log) == appended
    machine.manager.shutdown()


def test_a_start_that_finds_less_than_was_checkpointed_lowers_the_checkpoint(machine: Machine) -> None:
    log = machine.start()
    fill(log)
    log.flush()
    machine.manager.checkpoints.write_recovery_points(machine.manager._dirs[0])
    machine.lose_power()
    for path in machine.path.glob("t-0/*.log"):
        if int(path.stem) >= 10:
            machine.disk.unlink(path)
    machine.disk.sync_path(machine.path / "t-0")
    end = machine.start().log_end_offset
    machine.lose_power()
    assert read_offsets(machine.path / names.RECOVERY_POINTS) == {TP: end}


def test_a_truncation_removes_the_newest_segment_first_and_cuts_last(tmp_path: Path) -> None:
    class WatchedDisk(Disk):
        done: list[tuple[str, int]] = []

        def rename(self, source: str | Path, target: Path) -> None:  # type: ignore[override]
            if Path(source).suffix == names.LOG:
                self.done.append(("gone", int(Path(source).stem)))
            os.rename(source, target)

        def ftruncate(self, descriptor: int, size: int) -> None:  # type: ignore[override]
            if Path(os.readlink(f"/proc/self/fd/{descriptor}")).suffix == names.LOG:
                self.done.append(("cut", size))
            os.ftruncate(descriptor, size)

    place = Place(tmp_path, disk=WatchedDisk())
    log = place.open(CONFIG)
    fill(log)
    log.flusher.wait()
    WatchedDisk.done.clear()
    bases = [segment.base_offset for segment in log.segments]
    log.truncate_to(bases[1] + 1)
    assert WatchedDisk.done[:-1] == [("gone", base) for base in reversed(bases[2:])]
    assert WatchedDisk.done[-1][0] == "cut"


@pytest.mark.parametrize(("policy", "kept"), [("delete", 0), ("compact", 20)])
def test_behind_a_lost_segment_nothing_is_kept_unless_gaps_are_normal(tmp_path: Path, policy: str, kept: int) -> None:
    place = Place(tmp_path)
    config = topic_config(segment_bytes=400, index_interval_bytes=100, cleanup_policy=policy)
    log = place.open(config)
    fill(log)
    place.crash(log)
    os.truncate(log.segments.first.file.path, 0)
    assert place.open(config).log_end_offset == kept


def test_where_a_gap_is_known_recovery_is_told_at_once_not_to_look_there(machine: Machine) -> None:
    log = machine.start()
    fill(log, 1)
    log.append_as_leader(produced("1", "2", "3"), leader_epoch=0)
    log.truncate_to(2)  # Into the batch: it goes, and the log goes on at 2 all the same.
    log.append_as_leader(produced("x" * 320), leader_epoch=1)
    log.flusher.wait()
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    assert read_offsets(machine.path / names.RECOVERY_POINTS) == {TP: 2}
    machine.manager.shutdown()


def test_records_that_a_truncation_had_taken_come_back_with_their_own_epochs(place: Place) -> None:
    log = place.open(CONFIG)
    fill(log)
    place.crash(log)
    log.epochs.cache.truncate_from_end(10)
    log.epochs.assign(5, 10)
    log = place.open(CONFIG)
    assert log.leader_epochs.entries == [(0, 0), (1, 7), (2, 14)]


def test_records_before_a_forgotten_log_start_come_back_with_their_epochs(place: Place) -> None:
    log = place.open(CONFIG)
    fill(log)
    log.update_high_watermark(20)
    log.increment_log_start_offset(9)
    place.crash(log)
    log = place.open(CONFIG, recovery_point=20)
    assert (log.log_start_offset, log.leader_epochs.entries) == (0, [(0, 0), (1, 7), (2, 14)])


def test_a_number_whose_digits_were_torn_off_is_not_believed() -> None:
    whole = b"0\n2\n0 0\n1 14\n"
    assert decode_epochs(whole, Path("x")) == [(0, 0), (1, 14)]
    for size in range(1, len(whole)):
        with pytest.raises(MalformedCheckpoint):
            decode_epochs(whole[:size], Path("x"))


def test_a_torn_epoch_file_of_a_running_log_is_made_again_from_the_batches(place: Place) -> None:
    log = place.open(CONFIG)
    fill(log)
    log.close()
    (place.partition / names.LEADER_EPOCHS).write_bytes(b"0\n3\n0 0\n")
    log = place.open(CONFIG, clean=True, recovery_point=20)
    assert log.leader_epochs.entries == [(0, 0), (1, 7), (2, 14)]


def test_a_rebuilt_index_that_is_full_rolls_the_segment(place: Place) -> None:
    config = topic_config(index_interval_bytes=0, segment_index_bytes=60)
    log = place.open(config)
    data = b"".join(_placed(number) for number in range(12))
    log.append_as_follower(memoryview(bytearray(data)))
    place.crash(log)
    log = place.open(config)
    assert log.append_as_leader(produced("12"), leader_epoch=0).first_offset == 12
    assert [segment.base_offset for segment in log.segments] == [0, 12]


def test_a_truncation_does_not_forget_the_largest_timestamp_that_stays(place: Place) -> None:
    log = place.open(topic_config(index_interval_bytes=1 << 20))
    fill(log, 10)
    log.truncate_to(8)
    found = log.offset_for_timestamp(T0 + 7)
    assert found is not None and found.offset == 7


def _placed(offset: int) -> bytes:
    batch = produced(str(offset), timestamp=T0 + offset)
    batch[:8], batch[12:16] = offset.to_bytes(8), bytes(4)
    return bytes(batch)


@pytest.mark.parametrize("content", [b"", bytes(100), b"torn"])
def test_what_a_power_cut_took_of_a_compacted_log_is_no_gap_before_an_empty_segment(
    tmp_path: Path, content: bytes
) -> None:
    """The records before it were not synced. A replica that kept the segment would fetch behind them."""
    config = topic_config(cleanup_policy="compact")
    place = Place(tmp_path)
    log = place.open(config)
    for number in range(3):
        log.append_as_leader(produced(str(number), keys=[b"k"]), leader_epoch=0)
    place.crash(log)
    (place.partition / names.offset_file_name(5, names.LOG)).write_bytes(content)
    log = place.open(config)
    assert (log.log_end_offset, log.active.base_offset) == (3, 0)


def test_a_gap_before_a_batch_of_a_compacted_log_is_no_loss(tmp_path: Path) -> None:
    """A follower copies it from a cleaned log; recovery points may know of it only later."""
    config = topic_config(cleanup_policy="compact", segment_bytes=150)
    place = Place(tmp_path)
    log = place.open(config)
    for offset in (0, 80):
        batch = bytearray(produced("x" * 60, keys=[b"k"]))
        assign_offsets(batch, offset, 0)
        log.append_as_follower(batch)
    place.crash(log)
    log = place.open(config)
    assert (log.log_end_offset, log.active.base_offset) == (81, 80)
