"""The log directory of a coordinator's partition fails: it is the coordinator no more, and says so to all who wait."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from gevent.event import Event

from kafka_zk.coordinator.group.decisions.joining import Join
from kafka_zk.coordinator.group.decisions.syncing import Sync
from kafka_zk.protocol.errors import ErrorCode

from .scene import RANGE
from .test_coordinator_log import GROUP, OFFSETS, Coordinated, wait

JOIN = Join("", "n", None, "c", "/h", 10_000, 10_000, "consumer", RANGE)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    with closing(Coordinated(tmp_path)) as coordinated:
        coordinated.lead()
        yield coordinated


def fail(made: Coordinated) -> None:
    log = made.broker.partition(OFFSETS).log
    assert log is not None
    log.log_dir.fail("A disk failed", OSError(errno.EIO, "Input/output error"))


def test_everyone_is_sent_to_the_next_coordinator(made: Coordinated) -> None:
    member = made.member()
    assert made.commit(5, generation=1, member_id=member) is ErrorCode.NONE
    joining = made.coordinator.join_group(GROUP, JOIN)
    assert not joining.is_done
    fail(made)
    assert joining.value.error is ErrorCode.NOT_COORDINATOR
    beat = made.coordinator.heartbeat(GROUP, member_id=member, group_instance_id=None, generation=1)
    assert beat is ErrorCode.NOT_COORDINATOR
    assert made.commit(6, generation=1, member_id=member) is ErrorCode.NOT_COORDINATOR
    assert made.fetch() == (ErrorCode.NOT_COORDINATOR, None)
    assert made.coordinator.delete_groups([GROUP]) == {GROUP: ErrorCode.NOT_COORDINATOR}
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])
    assert not len(made.coordinator._performer.timers)


def test_a_member_that_waits_for_its_assignment_is_sent_on_as_well(tmp_path: Path) -> None:
    """The record of the assignment is on its way, and does not arrive."""
    with closing(Coordinated(tmp_path, spawn=lambda *_: None)) as made:
        made.lead()
        joined = made.coordinator.join_group(GROUP, JOIN)
        made.broker.clock.advance(0)
        synced = made.coordinator.sync_group(GROUP, Sync("n", joined.value.generation, assignments={"n": b"all"}))
        assert not synced.is_done
        fail(made)
        assert synced.value.error is ErrorCode.NOT_COORDINATOR


def test_a_load_that_meets_the_failure_ends_without_groups(made: Coordinated) -> None:
    assert made.commit(5) is ErrorCode.NONE
    made.follow(epoch=1)
    may_load = Event()
    made.coordinator._manager._tasks.later(may_load.wait)
    made.broker.lead(OFFSETS, epoch=2, partition_epoch=2)
    assert made.fetch()[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    fail(made)
    assert made.fetch()[0] is ErrorCode.NOT_COORDINATOR
    may_load.set()
    wait(lambda: made.is_idle)
    assert made.fetch()[0] is ErrorCode.NOT_COORDINATOR
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


def test_a_partition_whose_deletion_meets_the_failure_is_nobodys(
    made: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then it is not hosted any more, and none of those that go offline."""
    member = made.member()
    joining = made.coordinator.join_group(GROUP, JOIN)
    log = made.broker.partition(OFFSETS).log
    assert log is not None

    def refuse(*_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(log.log_dir.disk, "rename", refuse)
    assert made.broker.stop_replica(OFFSETS) == ErrorCode.KAFKA_STORAGE_ERROR
    assert joining.value.error is ErrorCode.NOT_COORDINATOR
    beat = made.coordinator.heartbeat(GROUP, member_id=member, group_instance_id=None, generation=1)
    assert beat is ErrorCode.NOT_COORDINATOR
    assert made.coordinator.list_groups() == (ErrorCode.NONE, [])


def test_what_was_there_is_loaded_once_the_directory_is_back(tmp_path: Path) -> None:
    with closing(Coordinated(tmp_path)) as failing:
        failing.lead()
        failing.member()
        assert failing.commit(5, generation=1, member_id="m") is ErrorCode.NONE
        fail(failing)
    with closing(Coordinated(tmp_path)) as again:
        again.lead(epoch=1)
        assert again.fetch() == (ErrorCode.NONE, 5)
        beat = again.coordinator.heartbeat(GROUP, member_id="m", group_instance_id=None, generation=1)
        assert beat is ErrorCode.NONE
