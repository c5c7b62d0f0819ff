"""A replica's move between log directories that was cut off at its end: the next start has the whole log in service."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import UUID

import gevent
import pytest

from kafka_zk.log.copying import append_copied, read_bytes
from kafka_zk.log.files import names
from kafka_zk.log.files.disk import DISK, Disk
from kafka_zk.log.files.names import DirKind, marked_dir_name
from kafka_zk.log.loading.refusals import InvalidLogDirectory
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from tests.crash.forgetful_disk import Fate, ForgetfulDisk, PowerCut
from tests.crash.inline_pools import InlinePools
from tests.unit.log.given import TP, manager_on, produced, topic_config, values

TOPIC_ID = UUID(int=1)
CONFIG = topic_config(segment_bytes=400)
COUNT = 12


def started(*paths: Path, disk: Disk = DISK) -> LogManager:
    manager = manager_on(
        *paths,
        configs={TP.topic: CONFIG},
        disk=disk,
        properties={"log.cleaner.enable": "false"},
        pools=InlinePools(random.Random(0)),
    )
    manager.startup()
    return manager


def made(manager: LogManager) -> UnifiedLog:
    return manager.get_or_create_log(TP, topic_id=TOPIC_ID, is_new=True)


def fill(log: UnifiedLog, number: int, *, leader_epoch: int = 0) -> None:
    for _ in range(number):
        log.append_as_leader(produced(str(log.log_end_offset)), leader_epoch=leader_epoch)


def catch_up(log: UnifiedLog, copy: UnifiedLog) -> bool:
    while copy.log_end_offset < log.log_end_offset:
        append_copied(copy, read_bytes(log, copy.log_end_offset, 200), log.log_end_offset)
    return True


def left_by(manager: LogManager) -> None:
    """The process dies."""
    for log in [*manager.all_logs(), *manager.future.all()]:
        log.flusher.wait()
        log.close_files()
    manager.release()


def served(*paths: Path, disk: Disk = DISK) -> list[str]:
    """What the next start has in service."""
    manager = started(*paths, disk=disk)
    log = manager.get_log(TP)
    found = [] if log is None else values(log)
    left_by(manager)
    return found


def directories_of(*paths: Path) -> list[str]:
    return sorted(each.name.split(".")[0] + each.name.rpartition("-")[2] for path in paths for each in path.glob("t-*"))


def two_disks(root: Path) -> tuple[ForgetfulDisk, tuple[Path, Path]]:
    """Each directory forgets on its own what was not synced."""
    disk = ForgetfulDisk(root)
    paths = root / "a", root / "b"
    for each in paths:
        disk.mkdir(each)
    disk.sync_path(root)
    return disk, paths


def texts(number: int) -> list[str]:
    return [str(each) for each in range(number)]


@pytest.mark.parametrize("fate", Fate)
def test_a_power_cut_at_any_step_of_the_end_of_a_move_loses_nothing_that_was_synced(tmp_path: Path, fate: Fate) -> None:
    for cut_at in count(1):
        root = tmp_path / str(cut_at)
        root.mkdir()
        disk, (first, second) = two_disks(root)
        manager = started(first, second, disk=disk)
        log = made(manager)
        place = log.log_dir.path
        fill(log, COUNT)
        log.flush()
        manager.wait_for_syncs()
        manager.future.create(TP, str(second if place == first else first))
        manager.wait_for_syncs()
        disk.arm(random.Random(cut_at), cut_at=cut_at)
        is_cut = False
        try:
            with manager.future.swap(TP) as swap:
                assert swap is not None and catch_up(swap.before, swap.now) and swap.finish()
        except PowerCut:
            is_cut = True
        disk.is_off = True
        left_by(manager)
        disk = disk.after_power_cut(fate, random.Random(cut_at))
        assert served(first, second, disk=disk) == texts(COUNT), f"cut at call {cut_at}"
        if not is_cut:
            assert cut_at > 5
            break


def cut_off(folder: Path, *, copied: int, kept: int = COUNT) -> tuple[Path, Path]:
    """A log of `kept` records in one directory, and a copy of its first `copied` in the other; stopped."""
    first, second = folder / "a", folder / "b"
    manager = started(first, second)
    log = made(manager)
    place = log.log_dir.path
    fill(log, copied)
    copy = manager.future.create(TP, str(second if place == first else first))
    catch_up(log, copy)
    fill(log, kept - copied)
    manager.shutdown()
    return log.directory, copy.directory


@pytest.mark.parametrize("copied", [5, COUNT])
def test_a_log_that_is_marked_deleted_comes_back_where_only_a_copy_is_left(tmp_path: Path, copied: int) -> None:
    """Both renames of a move's end were under way, and the power cut left the second only."""
    log, copy = cut_off(tmp_path, copied=copied)
    log.rename(log.with_name(marked_dir_name(TP, DirKind.DELETED, UUID(int=7))))
    assert served(log.parent, copy.parent) == texts(COUNT)


def test_a_copy_is_the_log_where_nothing_else_is_left(tmp_path: Path) -> None:
    log, copy = cut_off(tmp_path, copied=COUNT)
    shutil.rmtree(log)
    assert served(log.parent, copy.parent) == texts(COUNT)
    assert directories_of(log.parent, copy.parent) == ["t-00"]


def test_a_copy_waits_for_a_log_that_may_be_in_a_directory_that_is_offline(tmp_path: Path) -> None:
    log, copy = cut_off(tmp_path, copied=5)
    shutil.rmtree(log.parent)
    log.parent.write_text("no directory")
    assert served(log.parent, copy.parent) == []
    assert directories_of(copy.parent)[0].endswith("future")


def test_a_deleted_log_of_an_earlier_topic_does_not_come_back(tmp_path: Path) -> None:
    log, copy = cut_off(tmp_path, copied=5)
    (log / names.PARTITION_METADATA).write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAACQ")
    log.rename(log.with_name(marked_dir_name(TP, DirKind.DELETED, UUID(int=7))))
    assert served(log.parent, copy.parent) == texts(5)


@pytest.mark.parametrize("copied", [5, COUNT])
def test_of_two_logs_the_one_that_reaches_further_stays(tmp_path: Path, copied: int) -> None:
    log, copy = cut_off(tmp_path, copied=copied)
    copy.rename(copy.with_name("t-0"))
    assert served(log.parent, copy.parent) == texts(COUNT)
    assert directories_of(log.parent, copy.parent) == ["t-00", "t-0delete"]


def test_of_two_logs_the_one_with_the_newer_epoch_stays(tmp_path: Path) -> None:
    """A directory failed at a move's end. The other went on, was truncated, and led again."""
    log, copy = cut_off(tmp_path, copied=COUNT)
    copy.rename(copy.with_name("t-0"))
    shutil.rmtree(copy.with_name("t-0"))
    shutil.copytree(log, copy.with_name("t-0"))
    manager = started(copy.parent)
    longer = manager.get_log(TP)
    assert longer is not None
    longer.truncate_to(4)
    fill(longer, 2, leader_epoch=3)
    manager.shutdown()
    assert served(log.parent, copy.parent) == texts(6)
    assert directories_of(log.parent, copy.parent) == ["t-00", "t-0stray"]


def test_two_logs_of_different_topics_stop_the_start(tmp_path: Path) -> None:
    log, copy = cut_off(tmp_path, copied=COUNT)
    (copy / names.PARTITION_METADATA).write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAACQ")
    copy.rename(copy.with_name("t-0"))
    manager = manager_on(log.parent, copy.parent)
    with pytest.raises(InvalidLogDirectory, match="Duplicate log directories for t-0 are found in both"):
        manager.startup()
    manager.release()


def test_a_partition_that_is_deleted_while_its_copy_takes_its_place_stays_deleted(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    manager = started(first, second)
    log = made(manager)
    fill(log, COUNT)
    copy = manager.future.create(TP, str(second if log.log_dir.path == first else first))
    deleted: list[gevent.Greenlet[..., None]] = []
    sync = copy.log_dir.disk.sync_path

    class Deletes(Disk):
        """The controller's order comes while the copy's new name is synced."""

        def sync_path(self, path: str | Path) -> None:
            if Path(path) == copy.log_dir.path and copy.directory.name == "t-0" and not deleted:
                deleted.append(gevent.spawn(manager.delete_log, TP))
                gevent.sleep(0)
            sync(path)

    copy.log_dir.disk = Deletes()
    with suppress(KafkaStorageError), manager.future.swap(TP) as swap:
        assert swap is not None and catch_up(swap.before, swap.now) and not swap.finish()
    gevent.joinall(deleted, raise_error=True)
    assert deleted
    assert manager.get_log(TP) is None
    assert all(name.endswith("delete") for name in directories_of(first, second))
    manager.shutdown()


def test_a_copy_goes_for_good_before_its_log_is_deleted(tmp_path: Path) -> None:
    """Else the next start takes the copy for the log of a topic that is gone."""
    disk, (first, second) = two_disks(tmp_path)
    manager = started(first, second, disk=disk)
    log = made(manager)
    fill(log, 3)
    copy = manager.future.create(TP, str(second if log.log_dir.path == first else first))
    catch_up(log, copy)
    manager.wait_for_syncs()
    renamed: list[bool] = []
    rename = disk.rename

    def noted(source: Path, target: Path) -> None:
        if source == log.directory:
            renamed.append(bool(disk._parent_of(copy.directory)[0].pending))
        rename(source, target)

    disk.rename = noted  # type: ignore[method-assign]
    manager.delete_log(TP)
    assert renamed == [False]
    manager.shutdown()
