"""A log that is deleted while it is cleaned: its files have other names then, and nothing is wrong with the disk."""

from __future__ import annotations

import threading
from pathlib import Path

import gevent
import pytest

from kafka_zk.log.cleaner.errors import CleaningAborted
from kafka_zk.log.directory.deletion import delete_tree
from kafka_zk.log.files.disk import MachineDisk
from kafka_zk.log.retired import RetiredLogs
from tests.unit.log.cleaner.given import clean, cleaning_of
from tests.unit.log.cleaner.test_crash import given_log
from tests.unit.log.given import Place

PATIENCE_S = 60


class GatedDisk(MachineDisk):
    """The next sync by its name of a file that a cleaning has made waits until it may go on."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self.may_go_on = threading.Event()

    def sync_path(self, path: str | Path) -> None:
        if str(path).endswith(".txnindex.cleaned"):
            self.is_reached.set()
            assert self.may_go_on.wait(PATIENCE_S)
        super().sync_path(path)


def test_a_deletion_while_a_cleaned_segment_is_synced_ends_the_cleaning_and_no_more(tmp_path: Path) -> None:
    disk = GatedDisk()
    place = Place(tmp_path, disk=disk)
    log = given_log(place)
    cleaning = gevent.spawn(clean, log)
    with gevent.Timeout(PATIENCE_S):
        while not disk.is_reached.is_set():
            gevent.sleep(0.001)
    RetiredLogs(place.clock, delay_ms=60_000).retire(log)
    disk.may_go_on.set()
    with pytest.raises(CleaningAborted):
        cleaning.get(timeout=PATIENCE_S)
    assert [path.name for path in log.directory.iterdir() if path.suffix == ".cleaned"] == []


def test_a_log_whose_files_are_gone_before_its_cleaning_begins_is_not_looked_into(tmp_path: Path) -> None:
    """It was chosen among many, which takes a while, and log.segment.delete.delay.ms is 0."""
    place = Place(tmp_path)
    log = given_log(place)
    cleaning = cleaning_of(log, log.segments.active.base_offset - 10)
    RetiredLogs(place.clock, delay_ms=60_000).retire(log)
    delete_tree(log.directory, log.log_dir)
    with pytest.raises(CleaningAborted):
        cleaning.run()
