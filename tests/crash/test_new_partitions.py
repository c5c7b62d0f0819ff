"""The power goes at each call that makes the partitions of a LeaderAndIsr, and after the last.

What was answered is there afterwards, whatever else the disk forgets: the partition and its topic id. The leader epoch
that began with it is there once a record was flushed; before that a start drops it, synced or not. What was not
answered stands in the way of no second request.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_zk.log.files import names
from kafka_zk.log.files.leader_epoch_file import EpochEntry, read_epochs
from kafka_zk.log.manager import LogManager
from kafka_zk.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_zk.protocol.types import TopicPartition
from tests.crash.forgetful_disk import Fate, ForgetfulDisk, PowerCut
from tests.crash.greenlets import Greenlets
from tests.crash.inline_pools import InlinePools
from tests.unit.log.given import manager_on, produced
from tests.unit.replication.broker import Broker, topic_id

TOPIC, COUNT, EPOCH = "t", 2, 5
ID = topic_id(TOPIC)
FATES = (Fate.LOST, Fate.MIXED, Fate.MIXED)


def test_what_a_leader_and_isr_was_answered_for_outlives_a_power_cut(tmp_path: Path) -> None:
    cut_at, was_answered = 0, False
    while not was_answered:
        cut_at += 1
        disk, was_answered = asked_on_a_disk_cut_at(tmp_path / str(cut_at), cut_at)
        for seed, fate in enumerate(FATES):
            chance = random.Random(1000 * cut_at + seed)
            with started(disk.after_power_cut(fate, chance), chance) as manager:
                check(manager, was_answered, f"cut at call {cut_at}, {fate.value}")
    assert cut_at > 10 * COUNT, "the power never went"


@pytest.mark.parametrize("is_synced", [False, True])
def test_a_start_after_a_crash_drops_the_epoch_of_a_log_without_records_synced_or_not(
    tmp_path: Path, is_synced: bool
) -> None:
    """So nothing is gained by a sync before the LeaderAndIsr is answered."""
    disk, was_answered = asked_on_a_disk_cut_at(tmp_path / "log", cut_at=-1, is_synced=is_synced)
    assert was_answered
    chance = random.Random(0)
    with started(disk.after_power_cut(Fate.LOST, chance), chance) as manager:
        assert [log.leader_epochs.entries for log in manager.all_logs()] == [[]] * COUNT


def test_the_first_flush_syncs_the_epoch_that_began_with_the_log(tmp_path: Path) -> None:
    disk = ForgetfulDisk(tmp_path)
    manager = manager_on(tmp_path, disk=disk, pools=InlinePools(random.Random(0)))
    manager.startup()
    log = manager.get_or_create_log(TopicPartition(TOPIC, 0), topic_id=ID, is_new=True, leader_epoch=EPOCH)
    manager.wait_for_syncs()
    log.append_as_leader(produced("a"), leader_epoch=EPOCH)
    log.flush()
    disk.end()
    close(manager)
    disk.after_power_cut(Fate.LOST, random.Random(0))
    assert log.recovery_point == 1
    assert read_epochs(log.directory / names.LEADER_EPOCHS) == [EpochEntry(EPOCH, 0)]


def asked_on_a_disk_cut_at(folder: Path, cut_at: int, *, is_synced: bool = False) -> tuple[ForgetfulDisk, bool]:
    """The disk of a broker that was told to lead new partitions, and whether it answered before the power went."""
    folder.mkdir()
    disk, chance, greenlets = ForgetfulDisk(folder), random.Random(cut_at), Greenlets()
    broker = Broker(folder, disk=disk, pools=InlinePools(chance), chance=chance)
    broker.update_metadata({TOPIC: dict.fromkeys(range(COUNT), 1)})
    disk.arm(chance, cut_at=cut_at)
    try:
        codes = {each.error_code for topic in broker.call(request(), 7).topics for each in topic.partition_errors}
        assert disk.is_off or codes == {0}
    except PowerCut:
        assert disk.is_off
    was_answered = not disk.is_off
    if is_synced:
        for log in broker.log_manager.all_logs():
            log.epochs.sync()
    disk.end()
    greenlets.end()
    close(broker.log_manager)
    return disk, was_answered


def request() -> LeaderAndIsrRequest:
    states = [
        LeaderAndIsrPartitionState(
            partition_index=index, controller_epoch=1, leader=1, leader_epoch=EPOCH, isr=[1], replicas=[1], is_new=True
        )
        for index in range(COUNT)
    ]
    named = LeaderAndIsrTopicState(topic_name=TOPIC, topic_id=ID, partition_states=states)
    return LeaderAndIsrRequest(controller_id=1, controller_epoch=1, broker_epoch=77, topic_states=[named])


@contextmanager
def started(disk: ForgetfulDisk, chance: random.Random) -> Iterator[LogManager]:
    """The logs of the next start."""
    greenlets = Greenlets()
    manager = manager_on(Path(disk.root), disk=disk, pools=InlinePools(chance))
    manager.startup()
    yield manager
    disk.end()
    greenlets.end()
    close(manager)


def close(manager: LogManager) -> None:
    for log in manager.all_logs():
        log.close_files()
    manager.release()


def check(manager: LogManager, was_answered: bool, how: str) -> None:
    assert manager.offline_log_dirs() == [], how
    for index in range(COUNT):
        topic_partition = TopicPartition(TOPIC, index)
        log = manager.get_log(topic_partition)
        if was_answered:
            assert log is not None and log.topic_id == ID, how
        made = manager.get_or_create_log(topic_partition, topic_id=ID, is_new=True, leader_epoch=EPOCH)
        made.assign_epoch_start(EPOCH, 0)
        assert made.topic_id == ID and made.leader_epochs.entries == [EpochEntry(EPOCH, 0)], how
