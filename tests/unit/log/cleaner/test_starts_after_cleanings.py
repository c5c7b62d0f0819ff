"""What a start makes of a cleaned log after a kill: a gap that a cleaning left is no loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_zk.config.topic import LogConfig
from kafka_zk.log.files import names
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import NULL_UUID
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
