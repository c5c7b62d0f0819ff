"""Where the system gives no more threads, processes or memory, nothing stays half done."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
import gevent.threadpool
import pytest

from kafka_zk.clock import SimClock
from kafka_zk.log.checkpoints import for_each_dir
from kafka_zk.log.directory import deletion
from kafka_zk.log.directory.deletion import delete_later, unlink_later
from kafka_zk.log.files.disk import MachineDisk
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.helper import process
from kafka_zk.log.helper.process import HelperProcess, HelperUnavailable
from kafka_zk.log.local import flusher
from kafka_zk.log.local.local_log import POOLED_BYTES
from kafka_zk.log.pools import SYNC_THREADS, LogPools, _Task
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.record import Record, build_batch
from tests.unit.log.given import T0, TP, Place, killed, manager_on, produced, topic_config, values

pytestmark = pytest.mark.interpreted

PATIENCE_S = 30
LARGE = "x" * POOLED_BYTES
NO_THREAD = "can't start new thread"


def refuse_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """pids.max or ulimit -u is reached."""

    def refused(*_: Any) -> None:
        raise RuntimeError(NO_THREAD)

    monkeypatch.setattr(gevent.threadpool, "start_new_thread", refused)


class SlowDisk(MachineDisk):
    """The first large write waits."""

    def __init__(self) -> None:
        self.is_reached, self.may_go_on = threading.Event(), threading.Event()

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        if len(data) >= POOLED_BYTES and not self.is_reached.is_set():
            self.is_reached.set()
            assert self.may_go_on.wait(PATIENCE_S)
        return super().pwrite(descriptor, data, position)


def test_an_append_waits_for_a_thread_where_the_system_gives_no_further_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools, disk = LogPools(), SlowDisk()
    for name in ("busy", "other"):
        (tmp_path / name).mkdir()
    first = Place(tmp_path / "busy", pools=pools, disk=disk).open()
    second = Place(tmp_path / "other", pools=pools, disk=disk).open()
    appends = [gevent.spawn(first.append_as_leader, produced(LARGE), leader_epoch=0)]
    with gevent.Timeout(PATIENCE_S):
        while not disk.is_reached.is_set():
            gevent.sleep(0.001)
    refuse_threads(monkeypatch)
    appends.append(gevent.spawn(second.append_as_leader, produced(LARGE), leader_epoch=0))
    gevent.sleep(0)
    disk.may_go_on.set()
    gevent.joinall(appends, timeout=PATIENCE_S, raise_error=True)
    assert (values(first), values(second)) == ([LARGE], [LARGE])


def test_an_append_that_is_refused_for_want_of_a_thread_is_not_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = LogPools()
    place = Place(tmp_path, pools=pools)
    log = place.open()
    refused = memoryview(produced(LARGE))
    with monkeypatch.context() as patch:
        refuse_threads(patch)
        with pytest.raises(RuntimeError, match=NO_THREAD):
            log.append_as_leader(refused, leader_epoch=0)
    assert log.append_as_leader(produced("small"), leader_epoch=0).first_offset == 0
    # The refused task is queued before this one, and so over when it is done.
    pools.run_to_end(pools.append, len, ())
    assert values(log) == ["small"]
    place.crash(log)
    assert values(place.open()) == ["small"]


def test_a_refused_task_keeps_nothing_of_what_it_was_called_with(monkeypatch: pytest.MonkeyPatch) -> None:
    pools, records = LogPools(), {"large"}
    held = sys.getrefcount(records)
    with monkeypatch.context() as patch:
        refuse_threads(patch)
        with pytest.raises(RuntimeError, match=NO_THREAD):
            pools.run_to_end(pools.append, len, records)
    assert len(pools.append.task_queue._queue) == 1, "the task is still queued"
    assert sys.getrefcount(records) == held


def test_pools_that_were_started_have_a_thread_for_every_kind_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = LogPools()
    pools.start()
    refuse_threads(monkeypatch)
    kinds = (pools.append, pools.read, pools.maintenance, pools.deletion, pools.sync, pools.large)
    assert [pools.run_to_end(pool, len, "abc") for pool in kinds] == [3] * len(kinds)


def test_a_task_that_has_begun_is_waited_for_before_it_counts_as_called_off() -> None:
    may_end, is_begun = threading.Event(), threading.Event()

    def work() -> None:
        is_begun.set()
        assert may_end.wait(PATIENCE_S)

    task = _Task(work, ())
    thread = threading.Thread(target=task)
    thread.start()
    assert is_begun.wait(PATIENCE_S)
    calling_off = gevent.spawn(task.call_off)
    gevent.sleep(0.01)
    assert not calling_off.dead
    may_end.set()
    calling_off.get(timeout=PATIENCE_S)
    thread.join()


def test_syncs_go_on_after_some_of_them_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = LogPools()
    done: list[Path] = []
    told: list[OSError] = []

    def fails_at_first(pool: Any, sync: Callable[[Path], None], path: Path) -> None:
        if path.name.startswith("bad"):
            raise RuntimeError(NO_THREAD)
        sync(path)

    monkeypatch.setattr(pools, "run_to_end", fails_at_first)
    for number in range(SYNC_THREADS):
        pools.sync_soon(Path(f"/bad-{number}"), done.append, told.append)
    pools.sync_soon(Path("/good"), done.append, told.append)
    pools.drain()
    assert done == [Path("/good")]


def batch(offset: int, text: str) -> bytearray:
    return build_batch([Record(offset, T0 + offset, None, text.encode())], base_offset=offset, leader_epoch=0)


def follower_of(place: Place, **config: Any) -> UnifiedLog:
    log = place.open(topic_config(segment_bytes=500, **config))
    for offset in range(20):
        log.append_as_follower(batch(offset, str(offset)))
    log.flusher.wait()
    return log


def test_a_log_that_is_cut_half_way_takes_no_append_until_a_start_makes_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = LogPools()
    log = follower_of(Place(tmp_path, pools=pools))
    run_to_end = pools.run_to_end

    def no_thread_for_names(pool: Any, function: Any, *arguments: Any) -> Any:
        if function == log.log_dir.disk.sync_path:
            raise RuntimeError(NO_THREAD)
        return run_to_end(pool, function, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(pools, "run_to_end", no_thread_for_names)
        with pytest.raises(KafkaStorageError, match="truncating log to offset 8"):
            log.truncate_to(8)
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(produced("lost"), leader_epoch=1)
    log.close_files()
    kept = values(Place(tmp_path).open(topic_config(segment_bytes=500)))
    assert kept == [str(offset) for offset in range(len(kept))] and len(kept) >= 8


def test_what_cannot_be_written_behind_a_gap_takes_the_directory_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = follower_of(Place(tmp_path))

    def no_memory(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(SegmentFile, "write", no_memory)
        with pytest.raises(KafkaStorageError):
            log.append_as_follower(batch(80, "x" * 400))
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(produced("lost"), leader_epoch=1)
    log.close_files()
    assert values(Place(tmp_path).open(topic_config(segment_bytes=500))) == [str(offset) for offset in range(20)]


def refuse_flushes(patch: pytest.MonkeyPatch, pools: LogPools) -> None:
    """No thread can be started for the sync of a segment."""
    run_to_end = pools.run_to_end

    def refused(pool: Any, function: Any, *arguments: Any) -> Any:
        if getattr(function, "__name__", "") == "flush":
            raise RuntimeError(NO_THREAD)
        return run_to_end(pool, function, *arguments)

    patch.setattr(pools, "run_to_end", refused)


def test_a_flush_that_finds_no_thread_leaves_what_was_rolled_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    class WatchedDisk(MachineDisk):
        def fsync(self, descriptor: int) -> None:  # type: ignore[override]
            synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
            super().fsync(descriptor)

    pools = LogPools()
    log = Place(tmp_path, pools=pools, disk=WatchedDisk()).open(topic_config(preallocate="true"))
    log.append_as_leader(produced("a"), leader_epoch=0)
    log.flush()
    with monkeypatch.context() as patch:
        refuse_flushes(patch, pools)
        log.roll()
        log.flusher.wait()
    synced.clear()
    log.flush()
    assert f"{0:020}.log" in synced, "the roll trimmed it"
    synced.clear()
    log.flush()
    assert not synced


def test_a_gap_that_no_thread_was_there_to_flush_is_not_taken_for_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools, clock = LogPools(), SimClock(wall_ms=T0)
    manager = manager_on(tmp_path, clock=clock, pools=pools, configs={TP.topic: topic_config(segment_bytes=500)})
    manager.startup()
    log = manager.get_or_create_log(TP, topic_id=UUID(int=1), is_new=True)
    log.append_as_follower(batch(0, "before"))
    with monkeypatch.context() as patch:
        refuse_flushes(patch, pools)
        log.append_as_follower(batch(500, "x" * 400))
        log.flusher.wait()
    clock.advance(flusher.RETRY_MS)
    log.flusher.wait()
    killed(manager)
    manager = manager_on(tmp_path)
    manager.startup()
    found = manager.get_log(TP)
    assert found is not None and values(found) == ["before", "x" * 400]
    manager.shutdown()


def test_a_helper_that_cannot_be_started_says_nothing_of_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **more: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(process.subprocess, "Popen", refused)
    helper = HelperProcess("a test")
    try:
        with pytest.raises(HelperUnavailable):
            helper.call(len, (1, 2))
    finally:
        helper.stop()


def test_a_deletion_that_fails_for_want_of_a_thread_is_done_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = LogPools()
    place = Place(tmp_path, pools=pools)
    (tmp_path / "file").touch()
    with monkeypatch.context() as patch:
        refuse_threads(patch)
        unlink_later([tmp_path / "file"], place.directory, 1000, lambda: tmp_path)
        place.clock.advance(1000)
    assert (tmp_path / "file").exists()
    place.clock.advance(deletion.RETRY_MS)
    assert not (tmp_path / "file").exists()
    assert not place.directory.is_offline


def test_a_truncation_does_not_wait_for_deletions(tmp_path: Path) -> None:
    clock, may_delete = SimClock(wall_ms=T0), threading.Event()
    manager = manager_on(tmp_path, clock=clock, properties={"log.cleaner.enable": "false"})
    manager.startup()
    log = manager.get_or_create_log(TP, topic_id=UUID(int=5), is_new=True)
    for offset in range(20):
        log.append_as_follower(batch(offset, str(offset)))
    log.flush()
    for_each_dir(manager._placed.live_dirs(), manager.checkpoints.write_recovery_points)

    def delete() -> None:
        assert may_delete.wait(PATIENCE_S)

    deletions = []
    for _ in range(4):
        delete_later(log.log_dir, 0, delete, "cannot delete")
        deletions.append(gevent.spawn(clock.advance, 0))
        gevent.sleep(0)
    with gevent.Timeout(PATIENCE_S / 2):
        log.truncate_to(8)
    assert log.log_dir.path.joinpath("recovery-point-offset-checkpoint").read_text().split() == [
        "0",
        "1",
        "t",
        "0",
        "8",
    ]
    may_delete.set()
    gevent.joinall(deletions, raise_error=True)
    manager.shutdown()


def test_a_deletion_is_reported_on_the_loop_once_its_files_are_gone(tmp_path: Path) -> None:
    place, calls = Place(tmp_path), []

    def noted(what: str) -> Callable[[], None]:
        return lambda: calls.append((what, threading.current_thread() is threading.main_thread()))

    delete_later(place.directory, 1000, noted("delete"), "cannot delete", noted("done"))
    place.clock.advance(1000)
    assert calls == [("delete", False), ("done", True)]


def test_a_flush_that_was_to_run_again_opens_nothing_of_a_log_that_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = LogPools()
    place = Place(tmp_path, pools=pools)
    log = place.open()
    log.append_as_leader(produced("kept"), leader_epoch=0)
    with monkeypatch.context() as patch:
        refuse_flushes(patch, pools)
        log.roll()
        log.flusher.wait()
    log.close()
    place.clock.advance(flusher.RETRY_MS)
    log.flusher.wait()
    assert not place.directory.is_offline
    assert not any(segment.is_open for segment in log.segments)
    assert values(place.open(clean=True, recovery_point=1)) == ["kept"]
