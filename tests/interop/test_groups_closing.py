"""Members of librdkafka go while brokers are killed and coordinators move: nobody waits for an answer that is lost.

Two brokers of ours, one replica of everything on each. After each storm both are there and nothing else happens:
whoever went by then must be gone soon.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_zk.protocol.messages.elect_leaders import ELECT_LEADERS_REQUEST, ElectLeadersRequest
from tests.support.broker import OurBroker
from tests.support.chaos import IdempotentWriter
from tests.support.processes import ChildProcess, wait_until
from tests.support.raw_client import ConnectionClosed, RawClient

TOPIC, PARTITIONS = "closing", 6
GROUPS, MEMBERS = 6, 4
STORMS = 5
PATIENCE_S = 30
PREFERRED = 0


@pytest.fixture
def brokers(tmp_path: Path, zookeeper_connect: str) -> Iterator[list[OurBroker]]:
    settings = {
        "offsets.topic.replication.factor": "2",
        "group.min.session.timeout.ms": "1000",
        "auto.leader.rebalance.enable": "false",
    }
    made = [
        OurBroker(tmp_path / f"broker-{number}", zookeeper_connect, broker_id=number, overrides=settings)
        for number in range(2)
    ]
    try:
        for broker in made:
            broker.start()
        yield made
    finally:
        for broker in made:
            broker.kill()
    for broker in made:
        assert "Traceback" not in broker.process.output(), broker.process.output()[-5000:]


class Comers:
    """The process of the members, and what they said."""

    def __init__(self, folder: Path, bootstrap: str, seed: int) -> None:
        arguments = [bootstrap, TOPIC, str(seed), str(GROUPS), str(MEMBERS)]
        command = [sys.executable, "-m", "tests.interop.members.closing", *arguments]
        self.process = ChildProcess(command, folder / "members.log")

    def going(self) -> dict[str, str]:
        """Who has begun to go and is not gone, and how it goes."""
        going: dict[str, str] = {}
        for line in self.process.output().splitlines():
            match line.split(" ", 2):
                case ["goes", name, how]:
                    going[name] = how
                case ["gone", name]:
                    del going[name]
        return going

    @property
    def gone(self) -> int:
        return self.process.output().count("gone ")


def move_coordinators(brokers: list[OurBroker]) -> None:
    """Back to the first replica of each partition; only one of the brokers is the controller."""
    request = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None, timeout_ms=5_000)
    for broker in brokers:
        with suppress(OSError, ConnectionClosed), RawClient(broker.bootstrap, timeout_s=10) as client:
            client.send(ELECT_LEADERS_REQUEST, request, 2)


def storm(brokers: list[OurBroker], chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 5)):
        time.sleep(chance.uniform(0.2, 2.5))
        what, broker = chance.choice(("kill", "kill", "stop", "move")), chance.choice(brokers)
        print(f"{what} {broker.broker_id}")
        if what == "move":
            move_coordinators(brokers)
            continue
        if what == "kill":
            broker.kill()
        else:
            broker.stop()
        time.sleep(chance.choice((0, 0, 1, 3, 5)))
        broker.start()


@pytest.mark.slow
def test_members_go_in_time_however_often_their_coordinator_does(
    brokers: list[OurBroker], tmp_path: Path, chance: random.Random
) -> None:
    bootstrap = ",".join(broker.bootstrap for broker in brokers)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wait_until(lambda: len(admin.list_topics(timeout=10).brokers) == 2, "the brokers know each other")
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 2)], operation_timeout=PATIENCE_S)[TOPIC].result()
    writer = IdempotentWriter(bootstrap, 0, TOPIC, PARTITIONS, chance.randrange(1 << 32))
    comers = Comers(tmp_path, bootstrap, chance.randrange(1 << 32))
    writer.start()
    comers.process.start()
    try:
        for _ in range(STORMS):
            storm(brokers, chance)
            assert comers.process.is_running, comers.process.output()[-3000:]
            went = comers.going()
            wait_until(lambda went=went: not went.keys() & comers.going().keys(), f"these are gone: {went}", PATIENCE_S)
        assert comers.process.stop(timeout_s=PATIENCE_S + 10) == 0 and "ended" in comers.process.output()
        print(f"{comers.gone} members went")
        assert comers.gone > GROUPS * MEMBERS
        writer.stop()
    finally:
        comers.process.kill()
