"""Who looks something up in a log whose place another takes meanwhile is told what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import gevent
import pytest

from kafka_zk.log.directory.log_directory import LogDirectory
from kafka_zk.log.unified_log import TimestampOffset, UnifiedLog
from kafka_zk.protocol.errors import KafkaStorageError
from kafka_zk.replication.throttle import UNLIMITED
from tests.unit.log.test_look_ups_by_time import EARLY, LATE, Gate, append, gate

from .broker import Broker
from .moving import PATIENCE_S, TP, begin_move, log_of, made_in, move, throttle, wait_for_a_part, wait_for_move
from .test_log_dir_moves import described

__all__ = ["gate"]

LookUp = Callable[[UnifiedLog], TimestampOffset | None]
LOOK_UPS: list[LookUp] = [lambda log: log.offset_for_timestamp(LATE - 50), lambda log: log.max_timestamp_offset()]


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[Broker]:
    made = made_in(tmp_path)
    yield made
    made.close()


def begin(broker: Broker, gate: Gate) -> gevent.Greenlet[..., TimestampOffset | None]:
    """A look-up that waits in the log's first batch, in which it finds nothing."""
    broker.lead()
    log = log_of(broker)
    append(log, LATE, EARLY, EARLY)
    append(log, EARLY, LATE - 10)
    log.increment_log_start_offset(1)
    looking = gevent.spawn(log.offset_for_timestamp, LATE - 50)
    gate.wait_until_reached()
    return looking


def test_a_look_up_by_time_finds_in_the_new_place_what_it_looked_for_in_the_old(
    moving: Broker, tmp_path: Path, gate: Gate
) -> None:
    looking = begin(moving, gate)
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    gate.may_go_on.set()
    found = looking.get(timeout=PATIENCE_S)
    assert found is not None
    assert (found.timestamp, found.offset) == (LATE - 10, 4)


def test_a_look_up_by_time_in_a_log_that_is_deleted_meanwhile_finds_no_answer(moving: Broker, gate: Gate) -> None:
    looking = begin(moving, gate)
    moving.log_manager.delete_log(TP)
    gate.may_go_on.set()
    with pytest.raises(KafkaStorageError):
        looking.get(timeout=PATIENCE_S)


@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_who_looks_up_a_time_in_the_old_place_is_told_of_the_new(
    moving: Broker, tmp_path: Path, look_up: LookUp
) -> None:
    moving.lead()
    log = log_of(moving)
    append(log, EARLY, LATE)
    before = look_up(log)
    assert before is not None
    assert move(moving, tmp_path / "b") == 0
    wait_for_move(moving, tmp_path / "b")
    assert look_up(log) == before


def test_a_replica_whose_move_ends_while_directories_are_described_is_in_one_of_them(
    moving: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_move(moving, tmp_path / "b")
    wait_for_a_part(moving)
    room = LogDirectory.room

    def move_ends_meanwhile(directory: LogDirectory) -> tuple[int, int]:
        throttle(moving, UNLIMITED)
        wait_for_move(moving, tmp_path / "b")
        return room(directory)

    monkeypatch.setattr(LogDirectory, "room", move_ends_meanwhile)
    assert described(moving) == [("b", False, 0)]
