"""What reads, moves or is written while a log is truncated."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import gevent
import pytest

from kafka_zk import giving_way
from kafka_zk.log.copying import read_bytes
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import read_offsets
from kafka_zk.log.files.disk import MachineDisk
from kafka_zk.log.segments.segment import LogSegment
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import CorruptMessage
from kafka_zk.record.batch import batches
from tests.unit.replication.broker import Broker
from tests.unit.replication.moving import PATIENCE_S, TP, log_of

from .given import T0, Place, manager_on, produced, topic_config


class SlowDisk(MachineDisk):
    """Stops at the next sync of a directory, or at the next write of the recovery points, until it may go on."""

    def __init__(self) -> None:
        self.stops_at = ""
        self.is_reached = threading.Event()
        self.may_go_on = threading.Event()

    def sync_path(self, path: Path) -> None:
        if path.is_dir():
            self._stop("directories")
        super().sync_path(path)

    def replace_file(self, path: Path, content: bytes | str, *, durable: bool = True) -> None:
        self._stop(path.name)
        super().replace_file(path, content, durable=durable)

    def _stop(self, place: str) -> None:
        if place == self.stops_at:
            self.stops_at = ""
            self.is_reached.set()
            assert self.may_go_on.wait(PATIENCE_S)

    def wait_until_reached(self) -> None:
        """The loop runs meanwhile."""
        with gevent.Timeout(PATIENCE_S):
            while not self.is_reached.is_set():
                gevent.sleep(0.001)


def fill(log: UnifiedLog, to: int, epoch: int, *texts: str) -> None:
    while log.log_end_offset < to:
        log.append_as_leader(produced(*texts, timestamp=T0), leader_epoch=epoch)


def test_who_reads_while_a_log_is_cut_remembers_nothing_of_its_old_end(tmp_path: Path) -> None:
    disk = SlowDisk()
    log = Place(tmp_path, disk=disk).open(topic_config(segment_bytes=1 << 20))
    fill(log, 20, 0, "x")
    log.roll()
    fill(log, 25, 0, "x")
    log.flush()
    disk.stops_at = "directories"
    cut = gevent.spawn(log.truncate_to, 5)
    disk.wait_until_reached()
    # As a move does whose copy ends there.
    read_bytes(log, 2, 1 << 20)
    disk.may_go_on.set()
    cut.get()
    for end in (35, 95):
        fill(log, end, 1, *"abcdefghij")
        log.update_high_watermark(end)
        for _ in range(2):
            read = log.read(25, max_bytes=1 << 20, up_to=end, min_one=True)
            data = b"".join(piece.read() for piece in read.slices)
            assert next(iter(batches(data))).header.base_offset == 25


class Checkpointed(NamedTuple):
    """A partition of a broker whose recovery points are written slowly."""

    broker: Broker
    disk: SlowDisk
    log: UnifiedLog

    def begin_to_write(self) -> gevent.Greenlet[..., None]:
        (data_dir,) = self.broker.log_manager._dirs
        return gevent.spawn(self.broker.log_manager.checkpoints.write_recovery_points, data_dir)

    def begin_to_cut(self, offset: int) -> gevent.Greenlet[..., bool]:
        """A truncation that is over, or waits with a checkpoint of its own behind those under way."""
        (data_dir,) = self.broker.log_manager._dirs
        before = len(data_dir.on_the_way)
        cut = gevent.spawn(self.log.truncate_to, offset)
        with gevent.Timeout(PATIENCE_S):
            while not cut.dead and len(data_dir.on_the_way) == before:
                gevent.sleep(0.001)
        return cut


@pytest.fixture
def checkpointed(tmp_path: Path) -> Iterator[Checkpointed]:
    disk = SlowDisk()
    broker = Broker(tmp_path, disk=disk)
    broker.lead()
    yield Checkpointed(broker, disk, log_of(broker))
    broker.close()


def test_a_checkpoint_that_is_written_while_a_log_is_cut_promises_no_more_than_there_is(
    checkpointed: Checkpointed, tmp_path: Path
) -> None:
    disk, log = checkpointed.disk, checkpointed.log
    fill(log, 40, 0, "x")
    log.flush()
    disk.stops_at = names.RECOVERY_POINTS
    task = checkpointed.begin_to_write()
    disk.wait_until_reached()
    cut = checkpointed.begin_to_cut(5)
    disk.may_go_on.set()
    gevent.joinall([task, cut], raise_error=True)
    assert read_offsets(tmp_path / names.RECOVERY_POINTS)[TP] <= 5


def test_a_log_start_that_is_written_while_a_log_is_cut_below_it_does_not_stay(
    checkpointed: Checkpointed, tmp_path: Path
) -> None:
    disk, log = checkpointed.disk, checkpointed.log
    fill(log, 40, 0, "x")
    log.update_high_watermark(40)
    log.increment_log_start_offset(30)
    disk.stops_at = names.LOG_START_OFFSETS
    (data_dir,) = checkpointed.broker.log_manager._dirs
    task = gevent.spawn(checkpointed.broker.log_manager.checkpoints.write_log_start_offsets, data_dir)
    disk.wait_until_reached()
    cut = checkpointed.begin_to_cut(5)
    disk.may_go_on.set()
    gevent.joinall([task, cut], raise_error=True)
    assert read_offsets(tmp_path / names.LOG_START_OFFSETS)[TP] == 5


def test_of_two_checkpoints_that_are_written_at_once_neither_stays_above_a_cut(
    checkpointed: Checkpointed, tmp_path: Path
) -> None:
    disk, log = checkpointed.disk, checkpointed.log
    fill(log, 20, 0, "x")
    log.flush()
    disk.stops_at = names.RECOVERY_POINTS
    first = checkpointed.begin_to_write()
    disk.wait_until_reached()
    fill(log, 40, 0, "x")
    log.flush()
    second = checkpointed.begin_to_write()
    gevent.idle()
    # The second one stops where the first did.
    disk.is_reached.clear()
    disk.stops_at = names.RECOVERY_POINTS
    disk.may_go_on.set()
    gevent.sleep(0)
    disk.may_go_on.clear()
    disk.wait_until_reached()
    first.join()
    cut = checkpointed.begin_to_cut(30)
    disk.may_go_on.set()
    gevent.joinall([second, cut], raise_error=True)
    assert read_offsets(tmp_path / names.RECOVERY_POINTS)[TP] <= 30


@pytest.mark.interpreted
def test_the_append_behind_a_truncation_reads_no_more_than_one_behind_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Place(tmp_path).open(topic_config(segment_bytes=1 << 20, index_interval_bytes=100))
    rebuilt: list[int] = []
    monkeypatch.setattr(LogSegment, "_rebuild_indexes", lambda segment: rebuilt.append(segment.base_offset))
    fill(log, 200, 0, "x")
    log.truncate_to(195)
    fill(log, 210, 1, "y")
    assert not rebuilt, "the room behind the entries of its indexes is our own"
    assert log.active.indexes.offset.entries()[-1].offset < 210


def test_others_have_a_turn_while_producers_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Place(tmp_path).open(topic_config(segment_bytes=1 << 20))
    for sequence in range(50):
        log.append_as_leader(produced("x", producer_id=7, epoch=0, sequence=sequence, timestamp=T0), leader_epoch=0)
    monkeypatch.setattr(giving_way, "SLICE_S", -math.inf)
    pauses: list[gevent.Greenlet[..., None]] = []
    monkeypatch.setattr(giving_way._turn, "pause", lambda: pauses.append(gevent.getcurrent()))
    cut = gevent.spawn(log.truncate_to, 40)
    with gevent.Timeout(PATIENCE_S):
        cut.get()
    assert pauses.count(cut) >= 40
    assert [entry.batches[-1].last_sequence for entry in log.active_producers()] == [39]


def test_a_damaged_batch_before_the_place_of_a_cut_fails_the_truncation_and_not_the_directory(tmp_path: Path) -> None:
    place = Place(tmp_path)
    log = place.open(topic_config(segment_bytes=1 << 20))
    fill(log, 30, 0, "x")
    log.flush()
    found = log.active.position_of(20)
    assert found is not None
    with log.active.file.path.open("r+b") as file:
        file.seek(found.position + 16)
        file.write(b"\x77")
    size_bytes = log.size_bytes
    with pytest.raises(CorruptMessage):
        log.truncate_to(25)
    assert not place.failures
    assert (log.log_end_offset, log.size_bytes) == (30, size_bytes)
    fill(log, 31, 0, "x")
    assert log.truncate_to(10)
    assert log.log_end_offset == 10


def test_a_truncation_syncs_its_snapshots_before_it_ends_and_nothing_on_the_loop(tmp_path: Path) -> None:
    class WatchedDisk(MachineDisk):
        def fsync(self, descriptor: int) -> None:  # type: ignore[override]
            synced.append((os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")), threading.get_ident()))
            super().fsync(descriptor)

    synced: list[tuple[str, int]] = []
    manager = manager_on(tmp_path, disk=WatchedDisk(), configs={"t": topic_config(segment_bytes=500)})
    manager.startup()
    log = manager.get_or_create_log(TP, topic_id=UUID(int=1), is_new=True)
    for sequence in range(20):
        log.append_as_leader(produced("x", producer_id=7, epoch=0, sequence=sequence, timestamp=T0), leader_epoch=0)
    log.flusher.wait()
    before = log.segments.active.base_offset
    for cut in (19, before - 1):
        synced.clear()
        log.truncate_to(cut)
        assert f"{cut:020}.snapshot" in {name for name, _ in synced}
        assert threading.get_ident() not in {thread for _, thread in synced}
    manager.shutdown()
