"""A partition that has the name of one that was deleted begins with nothing of what was known of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import gevent
import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.checkpoint import encode_offsets, read_offsets
from kafka_zk.log.manager import LogManager
from kafka_zk.log.unified_log import UnifiedLog
from kafka_zk.protocol.types import TopicPartition

from .given import killed, manager_on, produced, topic_config, values
from .test_what_meets_a_truncation import SlowDisk

A, OTHER = TopicPartition("a", 0), TopicPartition("other", 0)
CHECKPOINTS = (names.RECOVERY_POINTS, names.LOG_START_OFFSETS, names.HIGH_WATERMARKS, names.CLEANER_OFFSETS)
MINUTE = 60_000


def started(*paths: Path, **options: Any) -> LogManager:
    manager = manager_on(*paths, configs={"a": topic_config(segment_bytes=200)}, **options)
    manager.startup()
    return manager


def made(manager: LogManager, number: int, partition: TopicPartition = A) -> UnifiedLog:
    return manager.get_or_create_log(partition, topic_id=UUID(int=number), is_new=True)


def with_checkpoints(folder: Path) -> LogManager:
    """`a-0` has ten records, the first five of which were deleted; each checkpoint names it, and `other-0`."""
    manager = started(folder)
    for log in (made(manager, 1), made(manager, 2, OTHER)):
        for number in range(10):
            log.append_as_leader(produced(f"old {number}"), leader_epoch=0)
        log.update_high_watermark(10)
        log.increment_log_start_offset(5)
        log.flush()
    killed(manager)
    for name in CHECKPOINTS:
        offset = 5 if name == names.LOG_START_OFFSETS else 9
        (folder / name).write_bytes(encode_offsets({A: offset, OTHER: offset}))
    return started(folder)


def test_what_was_written_to_a_topic_made_anew_is_there_after_a_kill(tmp_path: Path) -> None:
    manager = with_checkpoints(tmp_path)
    manager.delete_log(A)
    made(manager, 3).append_as_leader(produced("new"), leader_epoch=0)
    killed(manager)
    log = started(tmp_path).get_log(A)
    assert log is not None
    assert (values(log), log.log_start_offset, log.high_watermark) == (["new"], 0, 0)


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize("is_killed_between", [False, True])
def test_no_checkpoint_names_a_partition_that_was_made_anew(tmp_path: Path, name: str, is_killed_between: bool) -> None:
    manager = with_checkpoints(tmp_path)
    manager.delete_log(A)
    if is_killed_between:
        killed(manager)
        manager = started(tmp_path)
    assert A in read_offsets(tmp_path / name)
    made(manager, 3)
    known = read_offsets(tmp_path / name)
    assert A not in known
    assert known[OTHER] >= 5, "what is known of others stays"
    cleaner, directory = manager._cleaner, manager._dirs[0].directory
    assert cleaner is not None
    assert cleaner._states.checkpoints.get(A, directory) is None


def test_a_checkpoint_names_no_partition_made_anew_that_went_while_others_were_written(tmp_path: Path) -> None:
    disk = SlowDisk()
    manager = started(tmp_path, disk=disk)
    made(manager, 1).append_as_leader(produced("old"), leader_epoch=0)
    manager._dirs[0].write_checkpoint(names.HIGH_WATERMARKS, {})
    disk.stops_at = names.HIGH_WATERMARKS
    writing = gevent.spawn(manager.write_high_watermarks)
    disk.wait_until_reached()
    manager.delete_log(A)
    making = gevent.spawn(made, manager, 3)
    gevent.sleep(0)
    disk.may_go_on.set()
    gevent.joinall([writing, making], raise_error=True)
    assert read_offsets(tmp_path / names.HIGH_WATERMARKS) == {}


def test_what_was_cleaned_of_a_topic_in_one_directory_says_nothing_of_its_next_in_another(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    manager = started(first, second)
    made(manager, 1)
    killed(manager)
    # As a kill leaves it behind a move from there, before the checkpoints were written.
    (second / names.CLEANER_OFFSETS).write_bytes(encode_offsets({A: 9}))
    manager = started(first, second)
    manager.delete_log(A)
    manager.future.prefer(A, str(second))
    assert made(manager, 2).directory.parent == second
    cleaner = manager._cleaner
    assert cleaner is not None
    assert cleaner._states.checkpoints.get(A, manager._dirs[1].directory) is None
    assert A not in read_offsets(second / names.CLEANER_OFFSETS)
