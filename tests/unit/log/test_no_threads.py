"""Where the system gives no more threads, processes or memory, nothing stays half done."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gevent
import gevent.threadpool
import pytest

from kafka_zk.log.files.disk import MachineDisk
from kafka_zk.log.files.segment_file import SegmentFile
from kafka_zk.log.helper import process
from kafka_zk.log.helper.process import HelperProcess, HelperUnavailable
from kafka_zk.log.local.local_log import POOLED_BYTES
from kafka_zk.log.pools import SYNC_THREADS, LogPools, _Task
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.record import Record, build_batch
from tests.unit.log.given import T0, Place, produced, topic_config, values

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


def test_an_append_that_is_refused_for_want_of_a_thread_is_not_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools, disk = LogPools(), SlowDisk()
    for name in ("busy", "other"):
        (tmp_path / name).mkdir()
    other = Place(tmp_path / "other", pools=pools, disk=disk)
    first, second = Place(tmp_path / "busy", pools=pools, disk=disk).open(), other.open()
    waiting = gevent.spawn(first.append_as_leader, produced(LARGE), leader_epoch=0)
    with gevent.Timeout(PATIENCE_S):
        while not disk.is_reached.is_set():
            gevent.sleep(0.001)
    with monkeypatch.context() as patch:
        refuse_threads(patch)
        with pytest.raises(RuntimeError, match=NO_THREAD):
            second.append_as_leader(produced(LARGE), leader_epoch=0)
    assert second.append_as_leader(produced("small"), leader_epoch=0).first_offset == 0
    disk.may_go_on.set()
    waiting.get(timeout=PATIENCE_S)
    # Whatever is queued behind it has been looked at when a later task is done.
    pools.run_to_end(pools.append, len, ())
    assert values(second) == ["small"]
    other.crash(second)
    assert values(other.open()) == ["small"]


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

    def fails_at_first(pool: Any, sync: Callable[[Path], None], path: Path) -> None:
        if path.name.startswith("bad"):
            raise RuntimeError(NO_THREAD)
        sync(path)

    monkeypatch.setattr(pools, "run_to_end", fails_at_first)
    for number in range(SYNC_THREADS):
        pools.sync_soon(Path(f"/bad-{number}"), done.append)
    pools.sync_soon(Path("/good"), done.append)
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
