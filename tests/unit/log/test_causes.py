"""What the disk said stays to be read behind what the log makes of it, compiled or not."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_zk.log.files.disk import Disk
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from tests.unit.log.given import Place, produced, topic_config


class BreakingDisk(Disk):
    """The calls named `broken` fail."""

    broken = ""

    def __init__(self) -> None:
        self.error = OSError(errno.EIO, "Input/output error")

    def pwrite(self, *arguments: Any) -> int:  # type: ignore[override]
        self._go_on("pwrite")
        return os.pwrite(*arguments)

    def fsync(self, *arguments: Any) -> None:  # type: ignore[override]
        self._go_on("fsync")
        os.fsync(*arguments)

    def open(self, *arguments: Any) -> int:  # type: ignore[override]
        self._go_on("open")
        return os.open(*arguments)

    def _go_on(self, call: str) -> None:
        if call == self.broken:
            raise self.error


@pytest.fixture
def disk() -> BreakingDisk:
    return BreakingDisk()


@pytest.fixture
def log(tmp_path: Path, disk: BreakingDisk) -> Iterator[UnifiedLog]:
    """With one record."""
    place = Place(tmp_path, disk=disk)
    log = place.open(topic_config())
    log.append_as_leader(produced("a"), leader_epoch=0)
    yield log
    disk.broken = ""
    place.crash(log)


def test_a_failed_write_carries_what_the_disk_said(log: UnifiedLog, disk: BreakingDisk) -> None:
    disk.broken = "pwrite"
    with pytest.raises(KafkaStorageError, match="Error while appending records") as caught:
        log.append_as_leader(produced("b"), leader_epoch=0)
    assert caught.value.__cause__ is disk.error


def test_a_failed_flush_carries_what_the_disk_said(log: UnifiedLog, disk: BreakingDisk) -> None:
    disk.broken = "fsync"
    with pytest.raises(KafkaStorageError, match="Error while flushing log") as caught:
        log.flush()
    assert caught.value.__cause__ is disk.error


def test_a_failed_read_carries_what_the_disk_said(log: UnifiedLog, disk: BreakingDisk) -> None:
    for segment in log.segments:
        segment.close_if_idle()
    disk.broken = "open"
    with pytest.raises(KafkaStorageError, match="Exception while reading") as caught:
        log.read(0, max_bytes=100, up_to=1, min_one=True)
    assert caught.value.__cause__ is disk.error


def test_the_log_of_the_broker_tells_the_first_error_and_where_it_came_from(
    log: UnifiedLog, disk: BreakingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    disk.broken = "pwrite"
    with caplog.at_level(logging.ERROR), pytest.raises(KafkaStorageError):
        log.append_as_leader(produced("b"), leader_epoch=0)
    said = f"Error while appending records to t-0 in dir {log.log_dir.path}"
    assert [record.getMessage() for record in caplog.records] == [said]
    assert "raise self.error\nOSError: [Errno 5] Input/output error" in caplog.text
