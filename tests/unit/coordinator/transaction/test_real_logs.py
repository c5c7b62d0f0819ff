"""Loads and confirmations of a coordinator whose log has a follower, while that log moves, or its directory fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gevent
import pytest

from kafka_zk.coordinator.transaction.coordinator import TransactionCoordinator
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.coordinator.transaction.decisions.transaction import Transaction
from kafka_zk.network.pending import Pending, completed
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.partition import Partition
from tests.unit.replication.broker import BROKER_ID, Broker, fetch_request
from tests.unit.replication.moving import LITTLE, move, throttle, wait_until

STATE = TopicPartition(TRANSACTION_STATE_TOPIC, 0)
T0 = TopicPartition("t", 0)
FOLLOWER = 2
MUCH = 1 << 30


class Coordinated:
    """A broker that leads the only partition of __transaction_state, with a follower that fetches when told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        dirs = ",".join(str(folder / name) for name in ("a", "b"))
        self.broker = Broker(folder / "a", {"log.dirs": dirs}, {"segment.bytes": "1000"})
        anything: Any = SimpleNamespace(
            node=lambda broker_id: broker_id if broker_id == BROKER_ID else None,
            next_producer_id=lambda: completed(1_000),
        )
        self.coordinator = TransactionCoordinator(
            config=self.broker.config,
            clock=self.broker.clock,
            replica_manager=self.broker.manager,
            metadata_cache=self.broker.cache,
            metrics=self.broker.metrics,
            peers=anything,
            broker_id=BROKER_ID,
            marker_writer=self.broker.services.marker_writer,
            producer_ids=anything,
            state_partition_count=lambda: 1,
            gone_partitions=lambda partitions: (),
        )
        self.coordinator.startup()
        self.lead(0)
        wait_until(lambda: self.code() is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, "nothing is to load")

    def close(self) -> None:
        self.coordinator.shutdown()
        self.broker.close()

    def lead(self, epoch: int) -> None:
        self.broker.lead(*STATE, replicas=(BROKER_ID, FOLLOWER), epoch=epoch, partition_epoch=epoch)

    def follow(self, epoch: int) -> None:
        self.broker.order(*STATE, replicas=(BROKER_ID, FOLLOWER), leader=FOLLOWER, epoch=epoch, partition_epoch=epoch)

    @property
    def partition(self) -> Partition:
        return self.broker.partition(*STATE)

    def replicate(self) -> None:
        """The follower has all that there is."""
        log = self.partition.log
        assert log is not None
        self.broker.call(fetch_request(log.log_end_offset, topic=STATE.topic, replica=FOLLOWER), 12)

    def code(self) -> ErrorCode:
        """Of a look at the transaction: NONE where it is served."""
        found = self.coordinator.describe("id")
        return ErrorCode.NONE if isinstance(found, Transaction) else found

    def begun(self) -> ProducerIdAndEpoch:
        """One whose transaction has a partition."""
        answer = self.coordinator.init_producer_id("id", timeout_ms=60_000, expected=None)
        self.replicate()
        producer = ProducerIdAndEpoch(answer.value.producer_id, answer.value.producer_epoch)
        added = self.add(producer)
        self.replicate()
        assert added.value is ErrorCode.NONE
        return producer

    def add(self, producer: ProducerIdAndEpoch) -> Pending[ErrorCode]:
        return self.coordinator.add_partitions("id", producer, [T0])

    def begin_move(self) -> None:
        throttle(self.broker, LITTLE)
        assert move(self.broker, self.folder / "b", STATE.topic) == 0

    def end_move(self) -> None:
        throttle(self.broker, MUCH)

        def is_there() -> bool:
            self.broker.clock.advance(1_000)
            log = self.partition.log
            return (
                log is not None and log.log_dir.path == self.folder / "b" and not self.broker.log_manager.future.all()
            )

        wait_until(is_there, f"{STATE} is moved")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Coordinated]:
    coordinated = Coordinated(tmp_path)
    yield coordinated
    coordinated.close()


def turns() -> None:
    """For all that could go on."""
    for _ in range(20):
        gevent.sleep(0)


def test_a_confirmation_is_answered_while_its_log_is_moved(made: Coordinated) -> None:
    producer = made.begun()
    answer = made.add(producer)
    made.begin_move()
    made.end_move()
    assert not answer.is_done, "the follower does not have it"
    made.replicate()
    assert answer.value is ErrorCode.NONE
    again = made.add(producer)
    made.replicate()
    assert again.value is ErrorCode.NONE, "in the new directory, too"


def test_a_confirmation_of_who_was_replaced_is_refused_once_it_hears_of_that(made: Coordinated) -> None:
    producer = made.begun()
    end_offset = made.partition.leader_log().log_end_offset
    answer = made.add(producer)
    assert made.partition.leader_log().log_end_offset == end_offset + 1 and not answer.is_done
    made.follow(1)
    assert answer.value is ErrorCode.NOT_COORDINATOR


def load_of_uncommitted(made: Coordinated) -> ProducerIdAndEpoch:
    """It leads again, with a record that its follower does not have."""
    producer = made.begun()
    lost = made.add(producer)
    made.follow(1)
    assert lost.value is ErrorCode.NOT_COORDINATOR
    made.lead(2)
    wait_until(lambda: made.broker.manager.delayed_commits.waiting_count, "the load waits")
    assert made.code() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return producer


def test_a_load_waits_for_the_follower(made: Coordinated) -> None:
    producer = load_of_uncommitted(made)
    made.replicate()
    wait_until(lambda: made.code() is ErrorCode.NONE, "it is served")
    answer = made.add(producer)
    made.replicate()
    assert answer.value is ErrorCode.NONE


def test_a_load_that_waits_while_its_log_is_moved_is_served_in_the_end(made: Coordinated) -> None:
    load_of_uncommitted(made)
    made.begin_move()
    made.end_move()
    turns()
    assert made.code() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    made.replicate()
    wait_until(lambda: made.code() is ErrorCode.NONE, "it is served")


@pytest.mark.parametrize("waits", ["a load", "a confirmation"])
def test_what_waits_ends_with_its_log_directory(made: Coordinated, waits: str) -> None:
    if waits == "a load":
        load_of_uncommitted(made)
        answer = completed(ErrorCode.NOT_COORDINATOR)
    else:
        answer = made.add(made.begun())
    made.broker.manager.handle_log_dir_failure(str(made.folder / "a"))
    wait_until(lambda: answer.is_done and not made.broker.manager.delayed_commits.waiting_count, "nothing waits")
    assert answer.value is ErrorCode.NOT_COORDINATOR
    assert made.code() is ErrorCode.NOT_COORDINATOR


def test_the_markers_of_a_load_that_is_overtaken_are_not_written(made: Coordinated) -> None:
    """A decision that the follower does not have: the load that found it waits, and its leadership ends."""
    made.broker.lead(*T0)
    producer = made.begun()
    made.coordinator.end_transaction("id", producer, is_commit=True)
    made.follow(1)
    made.lead(2)
    wait_until(lambda: made.broker.manager.delayed_commits.waiting_count, "the load waits")
    made.follow(3)
    turns()
    assert made.broker.partition(*T0).leader_log().log_end_offset == 0, (
        "no marker: the next leader may decide otherwise"
    )
    made.lead(4)
    wait_until(lambda: made.broker.manager.delayed_commits.waiting_count, "the next load waits")
    made.replicate()
    wait_until(lambda: made.broker.partition(*T0).leader_log().log_end_offset == 1, "the marker is written")
