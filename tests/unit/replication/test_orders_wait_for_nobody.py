"""Orders of the controller, appends and a stop wait neither for a broker that does not answer nor for a long sync."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event

from kafka_zk.log.retention import delete_old_segments
from kafka_zk.metadata.snapshot import Node
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_zk.protocol.types import TopicPartition

from .broker import Broker
from .test_failed_directories import FailingDisk
from .test_following import FOLLOWER, LEADER, Pair, Wire, end_of, eventually
from .test_leadership import stop

WAIT_S = 5
T = TopicPartition("t", 0)


class SilentLeader(Pair):
    """Nothing answers a connect while `is_silent`; what asks where the leader's range is gets no answer either."""

    def __init__(self, path: Path) -> None:
        self.is_silent = False
        self.answers = Event()
        self.waiting_count = 0
        super().__init__(path)

    def _connect(self, node: Node, client_id: str) -> Wire:
        if self.is_silent:
            self.wait()
        wire = super()._connect(node, client_id)
        send = wire.send

        def send_and_wait(request: Any, api_version: int) -> Any:
            if isinstance(request, ListOffsetsRequest):
                self.wait()
            return send(request, api_version)

        wire.send = send_and_wait  # type: ignore[method-assign]
        return wire

    def wait(self) -> None:
        self.waiting_count += 1
        self.answers.wait()

    def close(self) -> None:
        self.answers.set()
        super().close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[SilentLeader]:
    made = SilentLeader(tmp_path)
    yield made
    made.close()


def test_an_order_does_not_wait_for_a_fetcher_that_connects(pair: SilentLeader) -> None:
    pair.is_silent = True
    pair.order()
    eventually(pair, lambda: pair.waiting_count == 1)
    with gevent.Timeout(WAIT_S):
        # Its fetcher has nothing left to follow and is stopped.
        assert stop(pair.follower, epoch=0, delete=False) == ErrorCode.NONE
        assert pair.follower.order(replicas=(1, 2), leader=FOLLOWER, epoch=1, partition_epoch=1) == ErrorCode.NONE
    assert not pair.follower.manager.fetchers._fetchers


def test_a_stop_does_not_wait_for_a_fetcher_that_connects(pair: SilentLeader) -> None:
    pair.is_silent = True
    pair.order()
    eventually(pair, lambda: pair.waiting_count == 1)
    with gevent.Timeout(WAIT_S):
        pair.follower.manager.shutdown()
    pair.answers.set()
    gevent.sleep(0)
    assert pair.wires == [], "the connect was given up"


def test_an_order_does_not_wait_for_a_leader_that_does_not_tell_its_range(pair: SilentLeader) -> None:
    for epoch in (0, 1):
        # Before the follower asks, its leader begins at 3.
        pair.leader.update_metadata({"t": {0: LEADER}}, alive=(1, 2))
        pair.leader.order(replicas=(1, 2), isr=(1,), epoch=epoch, partition_epoch=epoch)
    pair.leader.produce(3)
    pair.led.leader_log().update_high_watermark(3)
    pair.led.leader_log().increment_log_start_offset(3)
    pair.follower.update_metadata({"t": {0: LEADER}}, alive=(1, 2))
    pair.follower.order(replicas=(1, 2), isr=(1,), leader=LEADER, epoch=1, partition_epoch=1)
    eventually(pair, lambda: pair.waiting_count == 1)
    with gevent.Timeout(WAIT_S):
        pair.follower.order(replicas=(1, 2), isr=(1,), leader=LEADER, epoch=2, partition_epoch=2)
    pair.leader.order(replicas=(1, 2), isr=(1,), epoch=2, partition_epoch=2)
    pair.answers.set()
    pair.leader.produce(1)
    eventually(pair, lambda: end_of(pair.followed) == 4)


# --- long syncs ------------------------------------------------------------------------------------------------------


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Broker, FailingDisk]]:
    disk = FailingDisk()
    disk.is_broken = False
    properties = {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"}
    made = Broker(tmp_path, properties, {"segment.bytes": "1024", "retention.ms": "1"}, disk=disk)
    yield made, disk
    disk.may_fail = True
    made.close()


def until_met(disk: FailingDisk) -> None:
    with gevent.Timeout(WAIT_S):
        while not disk.is_met:
            gevent.sleep(0.001)


def test_an_order_does_not_wait_for_the_sync_of_a_copy(slow: tuple[Broker, FailingDisk], tmp_path: Path) -> None:
    broker, disk = slow
    broker.lead()
    broker.produce(3)
    disk.fail("fsync", "-future/0000")
    gevent.spawn(broker.manager.moves.move, T, str(tmp_path / "b"))
    until_met(disk)
    with gevent.Timeout(WAIT_S):
        broker.update_metadata({"u": {0: 1}})
        broker.lead("u")
    disk.may_fail = True
    with gevent.Timeout(WAIT_S):
        while broker.log_manager.future.all():
            gevent.sleep(0.001)
    log = broker.partition().log
    assert log is not None
    assert log.log_dir.path == tmp_path / "b"


def test_an_append_does_not_wait_for_the_sync_of_what_retention_takes(slow: tuple[Broker, FailingDisk]) -> None:
    broker, disk = slow
    partition = broker.lead()
    broker.produce(1)
    log = partition.leader_log()
    disk.fail("fsync", "0.log")
    # All goes: a new segment is rolled, and what it takes the place of is synced.
    retention = gevent.spawn(delete_old_segments, log, broker.clock.wall_ms() + 10**9)
    until_met(disk)
    with gevent.Timeout(WAIT_S):
        broker.produce(1)
    assert not retention.dead
    disk.may_fail = True
    with gevent.Timeout(WAIT_S):
        assert retention.get() == 1
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (1, 2, 1)


def test_what_was_cut_while_retention_waited_is_judged_anew(slow: tuple[Broker, FailingDisk]) -> None:
    broker, disk = slow
    partition = broker.lead()
    for _ in range(3):
        broker.produce(1, size_bytes=600)
    log = partition.leader_log()
    log.flusher.wait()
    disk.fail("fsync", "2.log")
    retention = gevent.spawn(delete_old_segments, log, broker.clock.wall_ms() + 10**9)
    until_met(disk)
    cut = gevent.spawn(log.truncate_to, 1)
    gevent.sleep(0)
    disk.may_fail = True
    with gevent.Timeout(WAIT_S):
        removed_count = retention.get()
        cut.get()
    assert (log.log_start_offset, log.log_end_offset) in [(0, 1), (1, 1), (3, 3)]
    assert removed_count == 0 or log.log_start_offset > 0
