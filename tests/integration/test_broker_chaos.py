"""Chaos: clients write, read, join, leave, create and delete while the broker is stopped, killed and loses its session.

At the end every acknowledged record is read back once and in the order of its producer, and commits have held.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import defaultdict
from pathlib import Path

import pytest

from kafka_zk.broker.membership.session_file import NAME as SESSION_FILE
from tests.support import wire
from tests.support.broker import OurBroker
from tests.support.chaos import GroupReader, IdempotentWriter, TopicChurn, Worker, committed_offsets
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, expire_session

TOPIC = "stays"
PARTITIONS = 4
WRITERS = 4


def test_nothing_acknowledged_is_lost_in_twelve_seconds_of_chaos(
    tmp_path: Path, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    _live_through(tmp_path, zookeeper, zookeeper_connect, seconds=12)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_five_minutes_of_chaos(
    tmp_path: Path, zookeeper: ZooKeeperServer, zookeeper_connect: str
) -> None:
    _live_through(tmp_path, zookeeper, zookeeper_connect, seconds=300)


def _live_through(folder: Path, zookeeper: ZooKeeperServer, connect: str, *, seconds: float) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    broker = OurBroker(folder, connect, overrides={"log.segment.delete.delay.ms": "50", "log.segment.bytes": "1000000"})
    broker.start()
    try:
        with RawClient(broker.bootstrap) as client:
            wire.create_topic(client, TOPIC, PARTITIONS)
        writers = [IdempotentWriter(broker.bootstrap, n, TOPIC, PARTITIONS, seed + n) for n in range(WRITERS)]
        group = GroupReader(broker.bootstrap, TOPIC, seed + 100)
        churn = TopicChurn(broker.bootstrap, seed + 200)
        workers: list[Worker] = [*writers, group, churn]
        for worker in workers:
            worker.start()
        counts = _disturb(broker, zookeeper, chance, time.monotonic() + seconds)
        for worker in workers:
            worker.stop(150)
        acknowledged = sum(len(values) for writer in writers for values in writer.acknowledged.values())
        print(
            f"{dict(counts)}, {acknowledged} acknowledged, {group.read} read in the group, {churn.done} topic changes"
        )
        assert not [refusal for writer in writers for refusal in writer.refused]
        assert acknowledged and group.read and group.committed and churn.done, "the chaos let nobody work"
        _check_records(broker, writers)
        assert_not_behind(committed_offsets(broker.bootstrap, TOPIC, PARTITIONS), group.committed)
        assert broker.stop() == 143
        assert "Traceback" not in broker.process.output(), broker.process.output()[-5000:]
    finally:
        broker.kill()


def _disturb(broker: OurBroker, zookeeper: ZooKeeperServer, chance: random.Random, until_s: float) -> dict[str, int]:
    """Until then: stops, kills and lost sessions; the broker runs at the end."""
    counts: dict[str, int] = defaultdict(int)
    while time.monotonic() < until_s:
        time.sleep(chance.uniform(0.5, 2.5))
        kind = chance.choice(("kill", "kill", "stop", "expire"))
        counts[kind] += 1
        if kind == "expire":
            session = json.loads((broker.log_dir / SESSION_FILE).read_text())
            expire_session(zookeeper, session["session_id"], bytes.fromhex(session["password"]))
            continue
        if kind == "kill":
            broker.kill()
        else:
            assert broker.stop() == 143
        broker.start()
    return counts


def _check_records(broker: OurBroker, writers: list[IdempotentWriter]) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.wait_for_topic(client, TOPIC)
        for partition in range(PARTITIONS):
            found: dict[int, list[bytes]] = defaultdict(list)
            for expected_offset, record in enumerate(wire.read(client, TOPIC, partition=partition)):
                assert record.offset == expected_offset
                assert record.value is not None
                found[int(record.value.split(b":", 1)[0])].append(record.value)
            for number, writer in enumerate(writers):
                order = [_sequence(value) for value in found[number]]
                assert order == sorted(set(order)), f"writer {number} in partition {partition}: twice or out of order"
                lost = set(writer.acknowledged[partition]) - set(found[number])
                assert not lost, f"writer {number} in partition {partition} lost {len(lost)} acknowledged records"


def _sequence(value: bytes) -> int:
    match = re.match(rb"\d+:(\d+):", value)
    assert match is not None
    return int(match[1])


def assert_not_behind(found: dict[int, int], acknowledged: dict[int, int]) -> None:
    behind = {index: (found[index], offset) for index, offset in acknowledged.items() if found[index] < offset}
    assert not behind, f"committed offsets went back (found, acknowledged): {behind}"
