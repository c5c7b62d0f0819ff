"""What a start does on a disk without room."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.disk import Disk
from kafka_zk.log.loading import rebuild
from kafka_zk.protocol.errors import KafkaStorageError
from tests.unit.log.given import Place, produced, topic_config, values

CONFIG = topic_config(segment_bytes=400)


class NoRoomForSnapshots(Disk):
    """`is_full`: a snapshot gets its name, but not its content."""

    is_full = False

    def open(self, path: str | Path, flags: int, mode: int = 0o777) -> int:  # type: ignore[override]
        descriptor = os.open(path, flags, mode)
        self._snapshots = getattr(self, "_snapshots", set())
        (self._snapshots.add if names.PRODUCER_SNAPSHOT in str(path) else self._snapshots.discard)(descriptor)
        return descriptor

    def pwrite(self, descriptor: int, data: bytes, position: int) -> int:  # type: ignore[override]
        if self.is_full and descriptor in self._snapshots:
            return os.pwrite(descriptor, data[:1], position)
        return os.pwrite(descriptor, data, position)


def test_a_start_after_a_crash_needs_no_room_for_producer_snapshots(tmp_path: Path) -> None:
    disk = NoRoomForSnapshots()
    place = Place(tmp_path, disk=disk)
    log = place.open(CONFIG)
    for number in range(20):
        log.append_as_leader(produced(str(number)), leader_epoch=0)
    place.crash(log)
    for path in place.partition.glob(f"*{names.PRODUCER_SNAPSHOT}"):
        path.write_bytes(b"of before")
    disk.is_full = True
    again = place.open(CONFIG)
    assert values(again) == [str(number) for number in range(20)]
    assert not list(place.partition.glob(f"*{names.PRODUCER_SNAPSHOT}*"))


def test_a_start_without_room_reads_no_segment_again_for_each_one_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, read_again = NoRoomForSnapshots(), list[int]()
    place = Place(tmp_path, disk=disk)
    log = place.open(CONFIG)
    for number in range(40):
        log.append_as_leader(produced(str(number), producer_id=7, epoch=0, sequence=number), leader_epoch=0)
    place.crash(log)
    for path in place.partition.glob(f"*{names.PRODUCER_SNAPSHOT}"):
        path.unlink()
    disk.is_full = True
    monkeypatch.setattr(rebuild, "read_producers", lambda _, segment, *where: read_again.append(segment.base_offset))
    again = place.open(CONFIG)
    assert len(list(again.segments)) > 5
    assert read_again == []
    assert again.producers.state.producers[7].batches[-1].last_sequence == 39


def test_another_error_of_the_disk_is_told_with_its_trace(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    broken = OSError(errno.EIO, os.strerror(errno.EIO))
    for _ in range(2):
        with caplog.at_level(logging.ERROR), pytest.raises(KafkaStorageError):
            place.directory.fail("Error while loading", broken)
            with place.directory.guard("Error while loading"):
                pass
    (said,) = caplog.records
    assert said.exc_info is not None and said.exc_info[1] is broken
    assert said.getMessage() == "Error while loading"


def test_a_short_write_is_told_as_a_full_disk() -> None:
    disk = NoRoomForSnapshots()
    disk.pwrite = lambda descriptor, data, position: 1  # type: ignore[method-assign]
    with pytest.raises(OSError, match="No space left on device") as raised:
        disk.write_whole(0, b"abc", 0)
    assert raised.value.errno == errno.ENOSPC


def test_a_full_disk_is_told_in_one_sentence(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(KafkaStorageError), place.directory.guard("Error while loading"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    (said,) = caplog.records
    assert said.exc_info is None
    assert said.getMessage().endswith(f"No space is left in {place.directory.path}: free some and start again.")
