"""Killed at any step of a cleaning: what a reader saw it sees again, and nothing of the cleaning is left over."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from kafka_zk.log.files import names
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from tests.crash.inline_pools import InlinePools
from tests.unit.log.cleaner.given import clean
from tests.unit.log.cleaner.test_model import committed_view, latest
from tests.unit.log.given import T0, Place, WatchedDisk, produced, topic_config

CONFIG = topic_config(cleanup_policy="compact", segment_bytes=400, index_interval_bytes=100)


def given_watched_place(path: Path) -> tuple[Place, WatchedDisk]:
    """What happens in which order is drawn from a fixed seed, not decided by the machine's threads."""
    path.mkdir()
    disk = WatchedDisk()
    return Place(path, disk=disk, pools=InlinePools(random.Random(0))), disk


def given_log(place: Place) -> UnifiedLog:
    """Several segments with updates, an aborted and a committed transaction, and an idempotent producer."""
    log = place.open(CONFIG)
    for number in range(40):
        log.append_as_leader(produced(f"v{number}", keys=[b"key-%d" % (number % 7)]), leader_epoch=0)
        if number % 10 == 5:
            keys = [b"key-1", b"key-2"]
            batch = produced(
                "t1", "t2", keys=keys, producer_id=1, epoch=0, sequence=number // 10 * 2, transactional=True
            )
            log.append_as_leader(batch, leader_epoch=0)
            kind = ControlType.COMMIT if number > 20 else ControlType.ABORT
            marker = build_marker(EndTransactionMarker(kind, 0), producer_id=1, producer_epoch=0, timestamp_ms=T0)
            log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)
    log.roll()
    log.update_high_watermark(log.log_end_offset)
    log.flush()
    return log


def test_a_kill_at_any_step_loses_nothing(tmp_path: Path) -> None:
    place, disk = given_watched_place(tmp_path / "data")
    log = given_log(place)
    wanted, end = latest(committed_view(log)), log.log_end_offset
    copies = disk.copy_before_each_change(place.directory.path, tmp_path)
    clean(log)
    disk.before("the end")
    disk.before = lambda change: None
    place.crash(log)
    assert len([change for change, _ in copies if change == "rename"]) > 20
    for number, (change, path) in enumerate(copies):
        again = Place(path)
        reopened = again.open(CONFIG, recovery_point=end, high_watermark=end)
        assert latest(committed_view(reopened)) == wanted, f"killed before {change}, number {number}"
        assert reopened.log_end_offset == end
        states = {names.parse_offset_file(file.name) for file in again.partition.iterdir()}
        assert not any(file is not None and file.state for file in states)
        again.crash(reopened)
        shutil.rmtree(path)


def test_a_disk_error_at_any_step_takes_the_directory_offline_and_loses_nothing(tmp_path: Path) -> None:
    seen: list[int] = []
    for fail_at in range(1, 400, 17):
        path = tmp_path / f"data-{fail_at}"
        place, disk = given_watched_place(path)
        log = given_log(place)
        wanted, end = latest(committed_view(log)), log.log_end_offset
        calls = 0

        def break_down(change: str, fail_at: int = fail_at) -> None:
            nonlocal calls
            calls += 1
            if calls == fail_at:
                raise OSError(5, f"planted at {change}")

        disk.before = break_down
        failed = False
        try:
            clean(log)
        except Exception:
            failed = True
        disk.before = lambda change: None
        place.crash(log)
        again = Place(path)
        reopened = again.open(CONFIG, recovery_point=end, high_watermark=end)
        assert latest(committed_view(reopened)) == wanted, f"failed at {fail_at}"
        again.crash(reopened)
        if not failed:
            break
        seen.append(fail_at)
    assert len(seen) > 5
