"""What a start makes of a cleaned log after a kill: a gap that a cleaning left is no loss.

Our cleaner writes the recovery points first; Apache's does not, and is killed within the minute until the next time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.doctor.checkup import check_up
from kafka_zk.log.doctor.log_dir import look_at
from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import encode_offsets
from kafka_zk.log.loading import gaps
from kafka_zk.log.loading.gaps import is_emptied
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import NULL_UUID
from kafka_zk.record.types import Record
from tests.unit.log.cleaner.given import clean
from tests.unit.log.given import TP, all_records, killed, manager_on, produced, topic_config

SMALL = {"segment_bytes": 200}


def started(folder: Path, config: LogConfig) -> LogManager:
    manager = manager_on(folder, configs={"t": config})
    manager.startup()
    return manager


def cleaned(folder: Path) -> tuple[LogManager, UnifiedLog]:
    """Of three epochs with ten records each one record of the first is left, and most of the last."""
    manager = started(folder, topic_config(cleanup_policy="compact", **SMALL))
    log = manager.get_or_create_log(TP, topic_id=NULL_UUID, is_new=True)
    log.append_as_leader(produced("kept", keys=[b"first"]), leader_epoch=0)
    for epoch in range(3):
        for number in range(10):
            key = b"key" if epoch < 2 else b"key %d" % (number % 9)
            log.append_as_leader(produced(f"{epoch} {number}", keys=[key]), leader_epoch=epoch)
    log.append_as_leader(produced("last", keys=[b"key"]), leader_epoch=2)
    log.update_high_watermark(log.log_end_offset)
    clean(log)
    return manager, log


def test_a_log_that_is_compacted_no_more_keeps_what_stands_behind_a_gap(tmp_path: Path) -> None:
    manager, log = cleaned(tmp_path)
    before = all_records(log)
    assert len(before) < 15
    log.apply_config(topic_config(cleanup_policy="delete", **SMALL))
    killed(manager)
    found = started(tmp_path, topic_config(cleanup_policy="delete", **SMALL)).get_log(TP)
    assert found is not None
    assert all_records(found) == before


def test_a_start_knows_the_epochs_that_were_cleaned_away(tmp_path: Path) -> None:
    manager, log = cleaned(tmp_path)
    ends = [log.end_offset_for(epoch) for epoch in range(3)]
    killed(manager)
    found = started(tmp_path, topic_config(cleanup_policy="compact", **SMALL)).get_log(TP)
    assert found is not None
    assert [found.end_offset_for(epoch) for epoch in range(3)] == ends


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_second_kill_costs_no_more_than_the_first_where_the_recovery_points_were_lost(
    tmp_path: Path, policy: str
) -> None:
    manager, log = cleaned(tmp_path)
    before = all_records(log)
    killed(manager)
    (tmp_path / names.RECOVERY_POINTS).unlink()
    config = topic_config(cleanup_policy=policy, **SMALL)
    for _ in range(2):
        manager = started(tmp_path, config)
        found = manager.get_log(TP)
        assert found is not None
        assert all_records(found) == before
        killed(manager)


def emptied(folder: Path, *, is_checkpointed: bool) -> list[Record]:
    """A cleaning emptied 19 segments above the recovery point that the disk knows; what it left."""
    manager = started(folder, topic_config(cleanup_policy="compact", **SMALL))
    log = manager.get_or_create_log(TP, topic_id=NULL_UUID, is_new=True)
    for _ in range(20):
        log.append_as_leader(produced("x" * 100, keys=[b"k"]), leader_epoch=0)
    log.append_as_leader(produced("active", keys=[b"other"]), leader_epoch=0)
    log.update_high_watermark(log.log_end_offset)
    end_offset = clean(log)
    assert [segment.size_bytes for segment in log.segments].count(0) == 19
    left = all_records(log)
    killed(manager)
    (folder / names.RECOVERY_POINTS).write_bytes(encode_offsets({TP: 0}))
    (folder / names.CLEANER_OFFSETS).write_bytes(encode_offsets({TP: end_offset} if is_checkpointed else {}))
    return left


def told_end(folder: Path) -> int:
    """Where the log ends after a start, as the doctor says."""
    (report,) = check_up([look_at(folder)], processes=1).reports
    return report.end_after_start


@pytest.mark.parametrize("is_checkpointed", [True, False], ids=["with its checkpoint", "killed before its checkpoint"])
def test_segments_that_a_cleaning_emptied_above_the_recovery_point_are_no_loss(
    tmp_path: Path, is_checkpointed: bool
) -> None:
    left = emptied(tmp_path, is_checkpointed=is_checkpointed)
    end_offset = told_end(tmp_path)
    found = started(tmp_path, topic_config(cleanup_policy="compact", **SMALL)).get_log(TP)
    assert found is not None
    assert all_records(found) == left
    assert found.log_end_offset == end_offset


def test_each_of_thousands_that_a_cleaning_emptied_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a gap before every one of them."""
    emptied(tmp_path, is_checkpointed=False)
    looks: list[Callable[[str], int | None]] = []
    monkeypatch.setattr(gaps, "is_emptied", lambda size_of: looks.append(size_of) or is_emptied(size_of))
    started(tmp_path, topic_config(cleanup_policy="compact", **SMALL))
    assert 19 <= len(looks) <= 20


def test_segments_that_were_emptied_before_a_log_was_compacted_no_more_are_no_loss(tmp_path: Path) -> None:
    left = emptied(tmp_path, is_checkpointed=True)
    found = started(tmp_path, topic_config(cleanup_policy="delete", **SMALL)).get_log(TP)
    assert found is not None
    assert all_records(found) == left


def test_a_power_cut_that_takes_all_behind_the_cleaners_checkpoint_takes_nothing_before_it(tmp_path: Path) -> None:
    emptied(tmp_path, is_checkpointed=True)
    *_, last_cleaned, active = sorted(tmp_path.glob(f"{TP}/*{names.LOG}"))
    for each in (last_cleaned, *map(last_cleaned.with_suffix, names.INDEXES[:2]), active):
        os.truncate(each, 0)
    end_offset = told_end(tmp_path)
    found = started(tmp_path, topic_config(cleanup_policy="compact", **SMALL)).get_log(TP)
    assert found is not None
    assert found.log_end_offset == int(active.stem) == end_offset


def test_behind_the_cleaners_checkpoint_a_segment_that_lost_its_records_is_a_loss(tmp_path: Path) -> None:
    left = emptied(tmp_path, is_checkpointed=True)
    config = topic_config(cleanup_policy="compact", **SMALL)
    manager = started(tmp_path, config)
    log = manager.get_log(TP)
    assert log is not None
    for number in range(4):
        log.append_as_leader(produced("x" * 100, keys=[b"%d" % number]), leader_epoch=0)
    lost = list(log.segments)[-4:-2]
    killed(manager)
    for segment in lost:
        os.truncate(segment.file.path, 0)
    (tmp_path / names.RECOVERY_POINTS).write_bytes(encode_offsets({TP: 0}))
    found = started(tmp_path, config).get_log(TP)
    assert found is not None
    assert found.log_end_offset == lost[0].base_offset
    assert all_records(found) == left
