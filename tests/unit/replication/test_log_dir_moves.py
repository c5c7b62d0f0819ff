"""Replicas that are moved into another log directory of their broker, while they are in service."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.log import manager
from kafka_zk.log.cleaner.cleaning import Cleaning
from kafka_zk.log.cleaner.errors import CleaningAborted
from kafka_zk.log.cleaner.states import CleanerStates
from kafka_zk.log.copying import append_copied, read_bytes
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import LogDirNotFound, OffsetOutOfRange
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record import Codec
from kafka_zk.record.batch import batches
from kafka_zk.replication import log_dir_moves
from kafka_zk.replication.leadership import CatchUp
from kafka_zk.replication.throttle import UNLIMITED
from tests.unit.log.cleaner.given import clean, cleaning_of, interrupted
from tests.unit.log.given import all_records

from .broker import Broker, answered, offsets_in
from .moving import (
    LITTLE,
    PATIENCE_S,
    TP,
    begin_move,
    log_of,
    made_in,
    move,
    names_in,
    read_all,
    says,
    throttle,
    wait_for_a_part,
    wait_for_move,
    wait_until,
)


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[Broker]:
    """One broker with three log directories, a, b and c; partitions are made in a."""
    made = made_in(tmp_path)
    yield made
    made.close()


def test_a_replica_that_is_moved_has_all_it_had(moving: Broker, tmp_path: Path) -> None:
    moving.lead()
    for _ in range(30):
        moving.produce(3)
    before = log_of(moving)
    assert before.log_dir.path == tmp_path / "a"
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    now = log_of(moving)
    assert (now.log_start_offset, now.high_watermark, now.log_end_offset, now.topic_id) == (0, 90, 90, before.topic_id)
    assert now.leader_epochs.entries == before.leader_epochs.entries
    assert read_all(moving) == list(range(90))
    assert names_in(tmp_path / "b") == ["t-0"]
    (gone,) = names_in(tmp_path / "a")
    assert gone.startswith("t-0.") and gone.endswith("-delete")
    moving.produce(1)
    assert read_all(moving) == list(range(91))


def test_nothing_stays_of_what_a_copy_gave_up(tmp_path: Path) -> None:
    """It begins anew at the log start; what it was before is deleted later, when it has another name."""
    moving = made_in(tmp_path, file_delete_delay_ms="1000")
    moving.lead()
    for _ in range(30):
        moving.produce(3)
    log_of(moving).increment_log_start_offset(31)
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    folder = log_of(moving).directory
    assert any(path.name.endswith(names.DELETED) for path in folder.iterdir())
    moving.clock.advance(1000)
    assert not any(path.name.endswith(names.DELETED) for path in folder.iterdir())
    assert read_all(moving) == list(range(30, 90)), "whole batches"
    moving.close()


def test_the_checkpoints_of_both_directories_follow(moving: Broker, tmp_path: Path) -> None:
    moving.lead()
    moving.produce(9)
    assert move(moving, tmp_path / "c") == 0
    wait_for_move(moving, tmp_path / "c")
    for name in (names.RECOVERY_POINTS, names.HIGH_WATERMARKS):
        wait_until(partial(says, tmp_path / "c" / name, {TP: 9}), f"{name} of c")
        wait_until(partial(says, tmp_path / "a" / name, {}), f"{name} of a")


def test_what_is_produced_while_it_moves_goes_with_it(moving: Broker, tmp_path: Path) -> None:
    moving.lead()
    moving.produce(9)
    answers: list[int] = []

    def write() -> None:
        for _ in range(300):
            answers.append(answered(moving.produce(2)).error_code)
            gevent.sleep(0)

    writing = gevent.spawn(write)
    for folder in ("b", "c", "a", "c"):
        gevent.sleep(0.02)
        assert move(moving, tmp_path / folder) == 0
        wait_for_move(moving, tmp_path / folder)
    writing.join()
    assert set(answers) == {0}
    assert read_all(moving) == list(range(609))


def test_what_waits_for_its_turn_when_a_log_is_replaced_is_appended_to_the_new_one(
    moving: Broker, tmp_path: Path
) -> None:
    moving.lead()
    moving.produce(9)
    before = log_of(moving)
    with before.turn:
        assert move(moving, tmp_path / "b") == 0
        wait_until(lambda: len(before.turn._waiting) == 1, "the copy is about to take the place")
        producing = gevent.spawn(lambda: answered(moving.produce(2)).error_code)
        wait_until(lambda: len(before.turn._waiting) == 2, "a producer waits behind it")
    assert producing.get() == 0
    assert log_of(moving).log_dir.path == tmp_path / "b"
    assert read_all(moving) == list(range(11))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("target", ["producer", "lz4"])
def test_what_waits_while_a_log_is_replaced_is_checked_once(tmp_path: Path, codec: Codec, target: str) -> None:
    """LogAppendTime is written into the batch where it lies; nobody may produce such a batch."""
    broker = made_in(tmp_path, message_timestamp_type="LogAppendTime", compression_type=target, flush_messages="1")
    try:
        broker.lead()
        broker.produce(9)
        before = log_of(broker)
        with before.turn:
            assert move(broker, tmp_path / "b") == 0
            wait_until(lambda: len(before.turn._waiting) == 1, "the copy is about to take the place")
            producing = [
                gevent.spawn(lambda: answered(broker.produce(2, codec=codec))),
                gevent.spawn(
                    lambda: answered(broker.produce(2, codec=codec, producer_id=7, producer_epoch=0, base_sequence=0))
                ),
            ]
            wait_until(lambda: len(before.turn._waiting) == 3, "producers wait behind it")
        answers = [each.get() for each in producing]
        assert [(each.error_code, each.base_offset) for each in answers] == [(0, 9), (0, 11)]
        log = log_of(broker)
        assert log.log_dir.path == tmp_path / "b"
        assert read_all(broker) == list(range(13))
        assert log.recovery_point == log.high_watermark == 13
        headers = [batch.header for batch in batches(read_bytes(log, 0, 1 << 20))]
        assert all(header.uses_log_append_time for header in headers)
    finally:
        broker.close()


@pytest.fixture
def compacted(tmp_path: Path) -> Iterator[Broker]:
    made = made_in(tmp_path, cleanup_policy="compact", delete_retention_ms="0")
    yield made
    made.close()


def test_nothing_is_cleaned_of_a_log_that_is_copied(compacted: Broker, tmp_path: Path) -> None:
    """The copy has the old value already; the tombstone that the cleaner takes would never reach it."""
    begun: list[Cleaning] = []
    compacted.lead()
    for _ in range(9):
        compacted.produce(3)
    log = log_of(compacted)
    begun.append(cleaning_of(log))
    throttle(compacted, LITTLE)
    assert move(compacted, tmp_path / "b") == 0
    wait_for_a_part(compacted)
    for cleaning in (begun[0], cleaning_of(log)):
        with pytest.raises(CleaningAborted):
            cleaning.run()
    assert len(all_records(log)) == 27
    assert move(compacted, tmp_path / "a") == 0, "called off"
    clean(log)
    assert len(all_records(log)) < 27


def cleaner_states(broker: Broker) -> CleanerStates:
    cleaner = broker.log_manager._cleaner
    assert cleaner is not None
    return cleaner._states


def test_nothing_says_that_a_copy_is_clean(compacted: Broker, tmp_path: Path) -> None:
    compacted.lead()
    for _ in range(9):
        compacted.produce(3)
    states, log = cleaner_states(compacted), log_of(compacted)
    for data_dir in compacted.log_manager._dirs:
        states.checkpoints.put(TP, data_dir.directory, 20)
    assert move(compacted, tmp_path / "b") == 0
    wait_for_move(compacted, tmp_path / "b")
    now = log_of(compacted)
    wait_until(lambda: states.checkpoints.get(TP, log.log_dir) is None, "that of a is forgotten")
    assert states.checkpoints.get(TP, now.log_dir) is None
    assert not now.is_copied
    taken = states.take_filthiest()
    assert taken is not None and taken.log is now and taken.offsets.first_dirty_offset == 0


def test_a_copy_of_a_compacted_log_begins_anew_after_a_start(tmp_path: Path) -> None:
    """Where its directory was offline for a while, the log may have been cleaned."""
    before = made_in(tmp_path, cleanup_policy="compact", delete_retention_ms="0")
    begin_move(before, tmp_path / "b")
    wait_for_a_part(before)
    before.close()
    again = made_in(tmp_path, cleanup_policy="compact", delete_retention_ms="0")
    try:
        (copy,) = again.log_manager.future.all()
        assert copy.log_end_offset == 0
        again.lead(partition_epoch=1, epoch=1)
        with pytest.raises(CleaningAborted):
            clean(log_of(again))
        wait_for_move(again, tmp_path / "b")
        assert read_all(again) == list(range(27))
    finally:
        again.close()


def cleaner_looks(broker: Broker) -> None:
    """Its thread has rested long enough."""
    broker.clock.advance(broker.config.log_cleaner_backoff_ms)


def left_of_cleanings(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.*") if path.suffix in (".cleaned", ".swap")]


def test_a_move_that_begins_in_the_middle_of_a_cleaning_ends_it(compacted: Broker, tmp_path: Path) -> None:
    """The cleaner is in the middle of a pass; what it took would be in the copy, and what it took it for would not."""
    compacted.lead()
    for _ in range(27):
        compacted.produce(1)
    log = log_of(compacted)
    copied: list[UnifiedLog] = []

    def interrupt() -> None:
        throttle(compacted, LITTLE)
        assert move(compacted, tmp_path / "b") == 0
        copied.append(wait_for_a_part(compacted))

    interrupted(compacted.log_manager, interrupt)
    cleaner_looks(compacted)
    states = cleaner_states(compacted)
    wait_until(lambda: copied and log not in states._in_hand, "the cleaning is over")
    assert log_of(compacted) is log
    assert 0 < copied[0].log_end_offset < 27
    assert len(all_records(log)) == 27
    assert not left_of_cleanings(tmp_path)
    throttle(compacted, UNLIMITED)
    wait_for_move(compacted, tmp_path / "b")
    assert read_all(compacted) == list(range(27))
    now = log_of(compacted)
    cleaner_looks(compacted)
    wait_until(lambda: states.checkpoints.get(TP, now.log_dir), "it is cleaned where it came to")
    assert len(all_records(now)) < 27
    assert read_all(compacted)[-1] == 26


class SwapsSlowly(Disk):
    """The directory of a log is synced when it is let, where segments are on the point of being replaced."""

    def __init__(self) -> None:
        self.is_swapping, self.may_go_on = threading.Event(), threading.Event()

    def sync_path(self, path: str | Path) -> None:
        if any(Path(path).glob("*.swap")):
            self.is_swapping.set()
            assert self.may_go_on.wait(PATIENCE_S)
        super().sync_path(path)


def test_a_move_begins_when_the_swap_of_a_cleaning_has_ended(tmp_path: Path) -> None:
    disk = SwapsSlowly()
    broker = made_in(tmp_path, disk=disk, cleanup_policy="compact", delete_retention_ms="0")
    try:
        broker.lead()
        for _ in range(27):
            broker.produce(1)
        log = log_of(broker)
        cleaner_looks(broker)
        wait_until(disk.is_swapping.is_set, "segments are being replaced")
        moving = gevent.spawn(move, broker, tmp_path / "b")
        wait_until(lambda: log.is_copied and log.turn._waiting, "the move waits")
        assert not broker.log_manager.future.all()
        throttle(broker, LITTLE)
        disk.may_go_on.set()
        assert moving.get(timeout=PATIENCE_S) == 0
        left = all_records(log)
        assert len(left) < 27
        throttle(broker, UNLIMITED)
        wait_for_move(broker, tmp_path / "b")
        assert all_records(log_of(broker)) == left
        assert not left_of_cleanings(tmp_path)
    finally:
        disk.may_go_on.set()
        broker.close()


class NotingDisk(Disk):
    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def rename(self, source: Path, target: Path) -> None:  # type: ignore[override]
        self.noted.append(("rename", Path(target).name))
        DISK.rename(source, target)

    def sync_path(self, path: str | Path) -> None:
        self.noted.append(("sync", Path(path).name))
        super().sync_path(path)


def test_a_copy_has_its_name_for_good_before_the_log_loses_its_own(tmp_path: Path) -> None:
    disk = NotingDisk()
    broker = made_in(tmp_path, disk=disk)
    try:
        broker.lead()
        broker.produce(9)
        assert move(broker, tmp_path / "b") == 0
        wait_for_move(broker, tmp_path / "b")
        begun = disk.noted.index(("rename", "t-0"))
        (gone,) = (at for at, (what, name) in enumerate(disk.noted) if what == "rename" and name.endswith("-delete"))
        assert ("sync", "b") in disk.noted[begun:gone]
    finally:
        broker.close()


@pytest.mark.parametrize("left", ["both", "future and delete"])
def test_a_start_after_a_move_that_was_cut_off_at_its_end_finds_the_log(tmp_path: Path, left: str) -> None:
    """A power cut keeps of two renames in two directories either, both or none."""
    before = made_in(tmp_path)
    before.lead()
    before.produce(9)
    before.close()
    a, b = tmp_path / "a", tmp_path / "b"
    shutil.copytree(a / "t-0", b / "t-0")
    if left == "both":
        (a / "t-0" / f"{0:020d}.log").write_bytes(b"")  # It lacks what the copy has.
    else:
        (a / "t-0").rename(a / f"t-0.{'0' * 32}-delete")
        (b / "t-0").rename(b / f"t-0.{'1' * 32}-future")
    again = made_in(tmp_path)
    try:
        again.lead(partition_epoch=1, epoch=1)
        assert read_all(again) == list(range(9))
        if left == "both":
            assert log_of(again).log_dir.path == b
            (aside,) = names_in(a)
            assert aside.endswith("-delete")
    finally:
        again.close()


def test_a_copy_is_not_cut_to_a_log_that_was_just_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = made_in(tmp_path)
    begin_move(before, tmp_path / "b")
    end_offset = wait_for_a_part(before).log_end_offset
    before.close()
    shutil.rmtree(tmp_path / "a" / "t-0")
    # As where a directory is offline, which may hold the log.
    monkeypatch.setattr(manager, "put_back", lambda *_: None)
    again = made_in(tmp_path)
    try:
        again.lead(partition_epoch=1, epoch=1)
        (copy,) = again.log_manager.future.all()
        wait_until(lambda: copy not in again.manager.moves._running, "the move is given up")
        assert (log_of(again).log_end_offset, copy.log_end_offset) == (0, end_offset)
    finally:
        again.close()


def test_a_move_begins_though_the_greenlet_of_the_last_one_has_not_ended(moving: Broker, tmp_path: Path) -> None:
    """The checkpoints that follow a swap take their time, and all the broker knows is the new directory."""
    moving.lead()
    moving.produce(9)
    moves = moving.manager.moves
    put_in_place, may_end = moves._put_in_place, Event()

    def put_in_place_and_linger(topic_partition: TopicPartition, catch_up: CatchUp) -> bool:
        is_there = put_in_place(topic_partition, catch_up)
        if log_of(moving).log_dir.path == tmp_path / "b":
            may_end.wait()
        return is_there

    moves._put_in_place = put_in_place_and_linger
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    try:
        assert move(moving, tmp_path / "c") == 0
        wait_for_move(moving, tmp_path / "c")
    finally:
        may_end.set()
    assert read_all(moving) == list(range(9))


def test_a_move_is_called_off_by_naming_the_directory_it_is_in(moving: Broker, tmp_path: Path) -> None:
    begin_move(moving, tmp_path / "b")
    wait_for_a_part(moving)
    assert move(moving, tmp_path / "a") == 0
    assert moving.log_manager.future.all() == []
    assert log_of(moving).log_dir.path == tmp_path / "a"
    assert all(name.endswith("-delete") for name in names_in(tmp_path / "b"))


def test_of_two_orders_the_later_counts(moving: Broker, tmp_path: Path) -> None:
    begin_move(moving, tmp_path / "b")
    wait_for_a_part(moving)
    assert move(moving, tmp_path / "c") == 0
    throttle(moving, UNLIMITED)
    wait_for_move(moving, tmp_path / "c")
    assert read_all(moving) == list(range(27))


def test_rule_43_what_the_log_loses_its_copy_loses_too(moving: Broker, tmp_path: Path) -> None:
    """A follower that has to cut its log takes other records there, and so does the copy."""
    moving.lead(replicas=(1, 2))
    for _ in range(9):
        moving.produce(3)
    throttle(moving, 300)
    assert move(moving, tmp_path / "b") == 0
    future = wait_for_a_part(moving)
    moving.clock.advance(1000)
    wait_until(lambda: future.log_end_offset >= 6, "more is copied than will stay")
    log_of(moving).truncate_to(3)
    assert moving.order(replicas=(1, 2), epoch=5, partition_epoch=1) == 0
    for _ in range(5):
        moving.produce(1, size_bytes=33)
    throttle(moving, UNLIMITED)
    wait_for_move(moving, tmp_path / "b")
    assert log_of(moving) is future
    assert [(entry.epoch, entry.start_offset) for entry in future.leader_epochs.entries] == [(0, 0), (5, 3)]
    assert offsets_in(answered(moving.fetch(0, replica=2, leader_epoch=5))) == list(range(8))


def test_moves_pause_until_the_clock_has_paid_for_their_bytes(moving: Broker) -> None:
    throttle(moving, 1000)
    moves = moving.manager.moves
    moves._hold_rate(1000)
    paused = gevent.spawn(moves._hold_rate, 100)
    gevent.sleep(0.2)
    assert not paused.ready(), "the bytes of a second are used up, and no time has passed"
    moving.clock.advance(100)
    paused.get(timeout=PATIENCE_S)


def test_an_epoch_without_records_goes_with_it(moving: Broker, tmp_path: Path) -> None:
    moving.lead()
    moving.produce(4)
    assert moving.order(epoch=7, partition_epoch=1) == 0
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    assert log_of(moving).latest_epoch == 7


def test_a_log_that_begins_inside_a_batch_is_moved_with_its_start(moving: Broker, tmp_path: Path) -> None:
    moving.lead()
    moving.produce(10)
    moving.produce(10)
    log_of(moving).increment_log_start_offset(4)
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    assert (log_of(moving).log_start_offset, log_of(moving).log_end_offset) == (4, 20)


@pytest.mark.parametrize("has_records", [True, False])
def test_a_log_that_ends_behind_its_last_batch_is_moved_with_its_end(
    moving: Broker, tmp_path: Path, *, has_records: bool
) -> None:
    """The cleaner may remove the last batch before an empty segment; its offsets must not be given again."""
    moving.lead()
    if has_records:
        moving.produce(9)
    log_of(moving).skip_to(40)
    log_of(moving).update_high_watermark(40)
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    assert (log_of(moving).high_watermark, log_of(moving).log_end_offset) == (40, 40)
    assert answered(moving.produce(1)).base_offset == 40
    assert read_all(moving) == [*(range(9) if has_records else ()), 40]


def test_a_move_that_fails_once_is_tried_again(moving: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_dir_moves, "RETRY_S", 0.01)
    refusals = [OffsetOutOfRange("the log begins further up now")]

    def copied(copy: UnifiedLog, data: bytes, end_offset: int) -> None:
        if refusals:
            raise refusals.pop()
        append_copied(copy, data, end_offset)

    monkeypatch.setattr(log_dir_moves, "append_copied", copied)
    moving.lead()
    moving.produce(9)
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    assert refusals == []


def test_a_move_goes_on_after_a_restart(tmp_path: Path) -> None:
    before = made_in(tmp_path)
    begin_move(before, tmp_path / "b")
    wait_for_a_part(before)
    before.close()
    again = made_in(tmp_path)
    try:
        again.lead(partition_epoch=1, epoch=1)
        wait_for_move(again, tmp_path / "b")
        assert read_all(again) == list(range(27))
    finally:
        again.close()


def test_a_topic_that_is_deleted_leaves_no_copy(moving: Broker, tmp_path: Path) -> None:
    begin_move(moving, tmp_path / "b")
    wait_for_a_part(moving)
    assert moving.stop_replica() == 0
    assert moving.log_manager.future.all() == []
    assert all(name.endswith("-delete") for folder in "ab" for name in names_in(tmp_path / folder))


def test_a_partition_that_comes_later_is_made_where_it_was_wanted(moving: Broker, tmp_path: Path) -> None:
    moving.update_metadata({"t": {0: 1}})
    assert move(moving, tmp_path / "c") == 9, "REPLICA_NOT_AVAILABLE"
    moving.lead()
    assert log_of(moving).log_dir.path == tmp_path / "c"


def test_what_cannot_be_moved(moving: Broker, tmp_path: Path) -> None:
    moving.lead()
    assert move(moving, tmp_path / "nowhere") == 57
    assert move(moving, tmp_path / "b", topic="unknown") == 3
    assert move(moving, tmp_path / "b", topic="t" * 249) == 17
    moving.log_manager._placed.live_dir_at(str(tmp_path / "b")).directory.fail("a test", OSError("gone"))
    assert move(moving, tmp_path / "b") == 56
    with pytest.raises(LogDirNotFound):
        moving.log_manager.future.prefer(TP, "b")


def test_a_directory_that_fails_takes_only_the_copy_with_it(moving: Broker, tmp_path: Path) -> None:
    begin_move(moving, tmp_path / "b")
    wait_for_a_part(moving).log_dir.fail("a test", OSError("gone"))
    throttle(moving, UNLIMITED)
    gevent.sleep(0.05)
    moving.produce(1)
    assert read_all(moving) == list(range(28))
    assert moving.log_manager.future.all() == []


def described(broker: Broker) -> list[tuple[str, bool, int]]:
    from kafka_zk.protocol.messages.describe_log_dirs import DescribeLogDirsRequest

    answer: Any = broker.call(DescribeLogDirsRequest(topics=None), 4)
    return [
        (Path(each.log_dir).name, partition.is_future_key, partition.offset_lag)
        for each in answer.results
        for topic in each.topics
        for partition in topic.partitions
    ]


def test_describe_log_dirs_tells_how_far_a_move_is(moving: Broker, tmp_path: Path) -> None:
    begin_move(moving, tmp_path / "b")
    copied = wait_for_a_part(moving).log_end_offset
    assert described(moving) == [("a", False, 0), ("b", True, 27 - copied)]


def test_monitoring_sees_how_far_a_move_is_behind_and_one_that_failed(
    moving: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(name: str) -> Any:
        metric = moving.metrics.find(
            f"kafka.server:type=ReplicaAlterLogDirsManager,clientId=ReplicaAlterLogDirs,name={name}"
        )
        assert metric is not None
        return metric.attributes()["Value"]

    assert [shown(name) for name in ("MaxLag", "MinFetchRate", "FailedPartitionsCount", "DeadThreadCount")] == [0] * 4
    begin_move(moving, tmp_path / "b")
    future = wait_for_a_part(moving)
    assert shown("MaxLag") == 27 - future.log_end_offset > 0
    with monkeypatch.context() as patched:
        patched.setattr(log_dir_moves, "follow_cuts", lambda *_: 1 / 0)
        moving.manager.moves._followed.clear()
        throttle(moving, UNLIMITED)
        wait_until(lambda: shown("FailedPartitionsCount") == 1, "the move failed")
    moving.manager.moves.resume()
    wait_for_move(moving, tmp_path / "b")
    assert (shown("FailedPartitionsCount"), shown("MaxLag")) == (0, 0)


def test_a_move_whose_last_sync_finds_no_thread_leaves_the_copy_its_name_and_continues_when_asked_again(
    moving: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_move(moving, tmp_path / "b")
    pools = log_of(moving).log_dir.pools
    run_to_end = pools.run_to_end

    def no_thread_for_the_new_name(pool: Any, function: Any, *arguments: Any) -> Any:
        if arguments == (tmp_path / "b",):
            raise RuntimeError("can't start new thread")
        return run_to_end(pool, function, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(pools, "run_to_end", no_thread_for_the_new_name)
        throttle(moving, UNLIMITED)
        wait_until(lambda: moving.manager.moves.failed, "the move failed")
    assert log_of(moving).log_dir.path == tmp_path / "a"
    (copy,) = moving.log_manager.future.all()
    assert copy.directory.name.endswith("-future") and copy.directory.is_dir()
    assert not (tmp_path / "b" / "t-0").exists(), "a start without the first directory would serve it"
    moving.produce(3)
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    assert [record.offset for record in all_records(log_of(moving))] == list(range(30))
