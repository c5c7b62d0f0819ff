"""Chaos: clients write, read, join, leave, create and delete while the broker is stopped, killed and loses its session.

At the end every acknowledged record is read back once and in the order of its producer, and commits have held.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support import wire
from tests.support.account import account_of_failures
from tests.support.broker import OurBroker
from tests.support.chaos import (
    IdempotentWriter,
    TopicChurn,
    Worker,
    assert_all_answered,
    disturb,
    writer_and_sequence,
)
from tests.support.client_log import ClientLog
from tests.support.group_reader import GroupReader, assert_not_behind, committed_offsets
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer

TOPIC, GROUP = "stays", "chaos-group"
PARTITIONS = 4
WRITERS = 4


def test_nothing_acknowledged_is_lost_in_twelve_seconds_of_chaos(
    tmp_path: Path, zookeeper: ZooKeeperServer, zookeeper_connect: str, seed: int
) -> None:
    _live_through(tmp_path, zookeeper, zookeeper_connect, seed, seconds=12)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_five_minutes_of_chaos(
    tmp_path: Path, zookeeper: ZooKeeperServer, zookeeper_connect: str, seed: int
) -> None:
    _live_through(tmp_path, zookeeper, zookeeper_connect, seed, seconds=300)


def _live_through(folder: Path, zookeeper: ZooKeeperServer, connect: str, seed: int, *, seconds: float) -> None:
    broker = OurBroker(folder, connect, overrides={"log.segment.delete.delay.ms": "50", "log.segment.bytes": "1000000"})
    broker.start()
    try:
        with ClientLog(folder / "clients.log") as log, account_of_failures(broker, log, GROUP):
            _live_with(broker, zookeeper, log, seed, seconds)
    finally:
        broker.kill()


def _live_with(broker: OurBroker, zookeeper: ZooKeeperServer, log: ClientLog, seed: int, seconds: float) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC, PARTITIONS)
    writers = [IdempotentWriter(broker.bootstrap, n, TOPIC, PARTITIONS, seed + n) for n in range(WRITERS)]
    group = GroupReader(broker.bootstrap, TOPIC, seed + 100, group=GROUP)
    churn = TopicChurn(broker.bootstrap, seed + 200)
    workers: list[Worker] = [*writers, group, churn]
    for worker in workers:
        worker.start()
    counts = disturb(broker, zookeeper, random.Random(seed), workers, seconds)
    for worker in workers:
        worker.stop(300)
    acknowledged = sum(len(sequences) for writer in writers for sequences in writer.acknowledged.values())
    print(
        f"{dict(counts)}, {acknowledged} acknowledged, {group.read} read in the group, {churn.done} topic changes, "
        f"{group.commits} commits, the slowest call of a member took {group.longest_s:.1f} s"
    )
    assert not [refusal for writer in writers for refusal in writer.refused]
    assert acknowledged and group.read and group.committed and churn.done, "the chaos let nobody work"
    assert_all_answered(log)
    broker.kill()  # What was promised last must be found again, too.
    broker.start()
    _check_records(broker, writers)
    assert_not_behind(committed_offsets(broker.bootstrap, TOPIC, PARTITIONS, group=GROUP), group.committed)
    assert broker.stop() == 143
    assert "Traceback" not in broker.process.output(), broker.process.output()[-5000:]


def _check_records(broker: OurBroker, writers: list[IdempotentWriter]) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        for partition in range(PARTITIONS):
            missing = [set(writer.acknowledged[partition]) for writer in writers]
            last = [0] * len(writers)
            for expected_offset, record in enumerate(wire.read(client, TOPIC, partition=partition)):
                assert record.offset == expected_offset
                assert record.value is not None
                number, sequence = writer_and_sequence(record.value)
                assert sequence > last[number], f"writer {number} in partition {partition}: twice or out of order"
                last[number] = sequence
                missing[number].discard(sequence)
            lost = [len(each) for each in missing]
            assert not any(lost), f"partition {partition} lost acknowledged records, by writer: {lost}"
