"""Chaos for groups: members of many groups come, commit and close while the broker is stopped, killed and expires.

No call of a member hangs, no request stays without an answer, and no group forgets what it committed.
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
    Worker,
    assert_all_answered,
    disturb,
)
from tests.support.client_log import ClientLog
from tests.support.group_reader import GroupReader, assert_not_behind, committed_offsets
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer

TOPIC = "read"
PARTITIONS = 4
GROUPS = 5
MAY_HAPPEN = 0.1
"""Members come and go ten times as often as in the chaos of everything."""
SESSION_MS = 1_000
"""Shorter than most lives of the broker: longer ones would keep every group waiting for members that are gone."""


@pytest.mark.slow
def test_members_come_and_go_for_a_minute_of_restarts(
    tmp_path: Path, zookeeper: ZooKeeperServer, zookeeper_connect: str, seed: int
) -> None:
    settings = {"group.min.session.timeout.ms": str(SESSION_MS)}
    broker = OurBroker(tmp_path, zookeeper_connect, overrides=settings).start()
    try:
        names = [f"group-{number}" for number in range(GROUPS)]
        with ClientLog(tmp_path / "clients.log") as log, account_of_failures(broker, log, *names):
            _come_and_go(broker, zookeeper, log, seed, names)
    finally:
        broker.kill()


def _come_and_go(broker: OurBroker, zookeeper: ZooKeeperServer, log: ClientLog, seed: int, names: list[str]) -> None:
    with RawClient(broker.bootstrap) as client:
        wire.create_topic(client, TOPIC, PARTITIONS)
    readers = [
        GroupReader(broker.bootstrap, TOPIC, seed + number, group=name, may_happen=MAY_HAPPEN, session_ms=SESSION_MS)
        for number, name in enumerate(names)
    ]
    workers: list[Worker] = [*readers, IdempotentWriter(broker.bootstrap, 0, TOPIC, PARTITIONS, seed)]
    for worker in workers:
        worker.start()
    counts = disturb(broker, zookeeper, random.Random(seed), workers, 60)
    for worker in workers:
        worker.stop(300)
    closed = sum(reader.closed for reader in readers)
    print(
        f"{dict(counts)}, {closed} members closed, {sum(reader.commits for reader in readers)} commits, "
        f"the slowest call took {max(reader.longest_s for reader in readers):.1f} s"
    )
    assert closed and all(reader.committed for reader in readers), "the chaos let nobody work"
    assert_all_answered(log)
    broker.kill()  # What was promised last must be found again, too.
    broker.start()
    for name, reader in zip(names, readers, strict=True):
        assert_not_behind(committed_offsets(broker.bootstrap, TOPIC, PARTITIONS, group=name), reader.committed)
    assert broker.stop() == 143
    assert "Traceback" not in broker.process.output(), broker.process.output()[-5000:]
