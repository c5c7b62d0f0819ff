"""Moves between log directories that meet a failing disk, a deletion and a topic made anew of the same name."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from uuid import NAMESPACE_URL, UUID, uuid5

import gevent
import pytest
from gevent.event import Event

from kafka_zk.log.files.disk import MachineDisk
from kafka_zk.log.local.flusher import Flusher
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record import Record, build_batch
from kafka_zk.replication.throttle import UNLIMITED
from tests.unit.log.given import all_records

from .broker import Broker, answered, produce_request
from .moving import LITTLE, log_of, made_in, move, names_in, read_all, throttle, wait_for_a_part, wait_until

OLD, NEW = uuid5(NAMESPACE_URL, "old"), uuid5(NAMESPACE_URL, "new")
BROKEN = OSError(errno.EIO, "planted")


class BadDisk(MachineDisk):
    """Renames no copy of a log while it `fails`."""

    fails = False

    def rename(self, source: Path, target: Path) -> None:
        if self.fails and "-future" in str(source):
            raise BROKEN
        super().rename(source, target)


def lead(broker: Broker, topic_id: UUID, epoch: int = 0, *, is_new: bool = True) -> int:
    broker.update_metadata({"t": {0: 1}}, id_of_topic=topic_id)
    return broker.order("t", 0, id_of_topic=topic_id, epoch=epoch, is_new=is_new)


def begin_move_of_the_old_topic(broker: Broker, folder: Path) -> None:
    assert lead(broker, OLD) == 0
    for _ in range(9):
        broker.produce(3)
    throttle(broker, LITTLE)
    assert move(broker, folder) == 0
    wait_for_a_part(broker)


def produce_new(broker: Broker) -> None:
    batch = build_batch([Record(index, index, None, b"new") for index in range(3)])
    assert answered(broker.call(produce_request(memoryview(batch)), 9)).error_code == 0


def values_of(log: UnifiedLog) -> list[bytes | None]:
    return [record.value for record in all_records(log)]


def left_behind(folder: Path) -> None:
    """A copy in b of a topic that was deleted while b had failed."""
    broker = made_in(folder)
    begin_move_of_the_old_topic(broker, folder / "b")
    broker.log_manager.future.all()[0].log_dir.fail("planted", BROKEN)
    gevent.sleep(0.01)
    assert not broker.log_manager.future.all()
    assert broker.stop_replica() == 0
    broker.close()


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Broker]:
    left_behind(tmp_path)
    broker = made_in(tmp_path)
    yield broker
    broker.close()


def test_a_copy_of_a_deleted_topic_never_takes_the_place_of_the_next_one(tmp_path: Path) -> None:
    broker = made_in(tmp_path)
    begin_move_of_the_old_topic(broker, tmp_path / "b")
    broker.log_manager.future.all()[0].log_dir.fail("planted", BROKEN)
    gevent.sleep(0.01)
    assert broker.stop_replica() == 0
    assert lead(broker, NEW) == 0
    for _ in range(9):
        produce_new(broker)
    broker.close()
    broker = made_in(tmp_path)
    try:
        assert not broker.log_manager.future.all()
        assert lead(broker, NEW, is_new=False) == 0
        gevent.sleep(0.2)
        log = log_of(broker)
        assert (log.topic_id, log.log_dir.path.name, log.log_end_offset) == (NEW, "a", 27)
        assert read_all(broker) == list(range(27))
        assert values_of(log) == [b"new"] * 27
    finally:
        broker.close()


def test_what_a_start_made_of_a_deleted_topic_s_copy_makes_room_for_the_next_one(restarted: Broker) -> None:
    assert lead(restarted, NEW) == 0
    assert log_of(restarted).topic_id == NEW
    assert log_of(restarted).log_end_offset == 0
    assert answered(restarted.produce(3)).error_code == 0


def test_a_log_that_had_its_name_at_the_start_is_not_set_aside(tmp_path: Path) -> None:
    broker = made_in(tmp_path)
    assert lead(broker, OLD) == 0
    broker.close()
    broker = made_in(tmp_path)
    assert lead(broker, NEW) == 103
    broker.close()


def test_a_log_is_deleted_though_the_directory_of_its_copy_fails(tmp_path: Path) -> None:
    disk = BadDisk()
    broker = made_in(tmp_path, disk=disk)
    begin_move_of_the_old_topic(broker, tmp_path / "b")
    disk.fails = True
    broker.stop_replica()
    disk.fails = False
    assert all("-delete" in name for name in names_in(tmp_path / "a"))
    assert lead(broker, NEW) == 0
    broker.close()


def test_a_log_whose_copy_was_lost_at_the_end_of_the_move_is_free_for_the_cleaner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = made_in(tmp_path, cleanup_policy="compact")
    broker.lead()
    for _ in range(9):
        broker.produce(3)
    log = log_of(broker)
    waits, goes_on, wait = Event(), Event(), Flusher.wait

    def wait_for_its_flush(self: Flusher) -> None:
        if self is log.flusher and log.turn.is_taken:
            waits.set()
            goes_on.wait()
        wait(self)

    monkeypatch.setattr(Flusher, "wait", wait_for_its_flush)
    assert move(broker, tmp_path / "b") == 0
    assert waits.wait(30)
    broker.log_manager.future.all()[0].log_dir.fail("planted", BROKEN)
    goes_on.set()
    wait_until(lambda: not broker.log_manager.future.all(), "the copy is forgotten")
    wait_until(lambda: not broker.manager.moves._running, "the move has ended")
    assert log_of(broker) is log
    assert not log.is_copied
    broker.close()


def test_a_move_that_always_fails_keeps_no_other_from_moving(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    broker = Broker(folders[0], {"log.dirs": ",".join(map(str, folders)), "num.replica.alter.log.dirs.threads": "1"})
    broker.update_metadata({"t": {0: 1, 1: 1}})
    for index in (0, 1):
        assert broker.order("t", index) == 0
        for _ in range(5):
            broker.produce(3, index=index)
    logs = [broker.partition("t", index).log for index in (0, 1)]
    assert logs[0] is not None and logs[1] is not None
    with open(logs[0].segments.first.file.path, "r+b") as damaged:
        damaged.seek(200)
        damaged.write(b"\xff" * 8)
    for index, log in enumerate(logs):
        assert log is not None
        assert move(broker, folders[1 - folders.index(log.log_dir.path)], index=index) == 0
    wait_until(lambda: broker.partition("t", 1).log is not logs[1], "the other one has moved")
    assert broker.partition("t", 0).log is logs[0]
    broker.close()


def test_a_deletion_takes_the_copy_of_a_log_whose_directory_is_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = made_in(tmp_path)
    begin_move_of_the_old_topic(broker, tmp_path / "b")
    broker.close()
    (tmp_path / "a").rename(tmp_path / "broken")
    (tmp_path / "a").write_text("")
    monkeypatch.setattr(Broker, "manager", SimpleNamespace(handle_log_dir_failure=lambda _: None), raising=False)
    broker = made_in(tmp_path)
    broker.stop_replica()
    assert not broker.log_manager.future.all()
    throttle(broker, UNLIMITED)
    assert lead(broker, NEW) == 0
    for epoch in (1, 2):
        assert answered(broker.produce(3)).error_code == 0
        broker.order("t", 0, id_of_topic=NEW, epoch=epoch, partition_epoch=epoch)
        gevent.sleep(0.1)
    assert log_of(broker).topic_id == NEW
    assert sorted(Path(folder).name for folder in broker.log_manager.live_log_dirs()) == ["b", "c"]
    broker.close()
