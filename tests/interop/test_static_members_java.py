"""Static members of Java's, killed and come back: who is rebalanced, who is fenced, on Apache's broker as on ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import NewTopic
from kafka_zk.client.admin.group_results import ConsumerGroupDescription
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.heartbeat import HEARTBEAT_REQUEST, HeartbeatRequest
from tests.interop.replay.scenario import World
from tests.support.apache import ApacheBroker, java
from tests.support.broker import OurBroker
from tests.support.processes import ChildProcess, wait_until
from tests.support.raw_client import RawClient
from tests.support.zookeeper import ZooKeeperServer, fresh_chroot

MEMBERS = Path(__file__).parent / "java" / "FleetMembers.java"
GROUP, TOPIC = "static", "seats"
SESSION_MS = 10_000
BROKERS = {"apache": ApacheBroker, "ours": OurBroker}


@pytest.fixture(params=BROKERS)
def broker(
    request: pytest.FixtureRequest, zookeeper: ZooKeeperServer, tmp_path: Path
) -> Iterator[ApacheBroker | OurBroker]:
    running = BROKERS[request.param](tmp_path / "broker", fresh_chroot(zookeeper, "static")).start()
    World(running.bootstrap).wait_until_known()
    yield running
    running.stop()


class Group:
    """Two seats, and who takes them: processes with a consumer each."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._started: list[ChildProcess] = []

    def start(self, seat: str) -> ChildProcess:
        name = f"{seat}-{len(self._started)}"
        arguments = (self._bootstrap, TOPIC, name, str(SESSION_MS), f"{GROUP}:range:1:{seat}")
        process = ChildProcess(java(str(MEMBERS), *arguments), self._folder / f"{name}.log")
        self._started.append(process)
        process.start()
        return process

    def close(self) -> None:
        for process in self._started:
            process.kill()

    def described(self) -> ConsumerGroupDescription:
        with AdminClient({"bootstrap.servers": self._bootstrap}) as admin:
            found = admin.describe_consumer_groups([GROUP])[GROUP]
        assert isinstance(found, ConsumerGroupDescription)
        return found

    def member_id(self, seat: str) -> str | None:
        return next((each.member_id for each in self.described().members if each.group_instance_id == f"{seat}0"), None)

    def generation(self, seat: str) -> int:
        """The only one whose heartbeats are taken."""
        member_id = self.member_id(seat)
        assert member_id is not None
        with RawClient(self._bootstrap, "pulse") as client:
            for generation in range(20):
                pulse = HeartbeatRequest(
                    group_id=GROUP, generation_id=generation, member_id=member_id, group_instance_id=f"{seat}0"
                )
                if client.send(HEARTBEAT_REQUEST, pulse, 4).error_code != ErrorCode.ILLEGAL_GENERATION:
                    return generation
        raise AssertionError("no generation of the first twenty")


def owned(process: ChildProcess) -> list[str]:
    """What the consumer said that it owns, from its start on."""
    return [line.partition(" owns ")[2] for line in process.output().splitlines() if " owns " in line]


@pytest.fixture
def group(broker: ApacheBroker | OurBroker, tmp_path: Path) -> Iterator[Group]:
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, 1)])
    made = Group(broker.bootstrap, tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_who_comes_back_in_time_is_not_missed_and_who_takes_a_seat_fences(group: Group) -> None:
    left, right = group.start("left"), group.start("right")
    wait_until(lambda: owned(left)[-1:] == ["0"] and owned(right)[-1:] == ["1"], "each has a partition")
    first, before, id_before = group.generation("right"), owned(right), group.member_id("left")

    left.kill()
    left = group.start("left")
    wait_until(lambda: owned(left) == ["0"], "who comes back has its partition again")
    assert group.generation("right") == first, "in the same generation"
    assert owned(right) == before, "the other one was not disturbed"
    assert group.member_id("left") not in (None, id_before)

    left.kill()
    wait_until(lambda: owned(right)[-1:] == ["0,1"], "when the session is over the other one gets everything")
    assert group.generation("right") == first + 1
    left = group.start("left")
    wait_until(lambda: owned(left) == ["0"] and owned(right)[-1:] == ["1"], "each has a partition again")
    assert group.generation("right") == first + 2

    before = owned(right)
    usurper = group.start("left")
    wait_until(lambda: not left.is_running, "a second one in the same seat: the first is put out")
    left.says("FencedInstanceIdException")
    wait_until(lambda: owned(usurper) == ["0"], "the second has its partition")
    assert (group.generation("right"), owned(right)) == (first + 2, before)
    assert len(group.described().members) == 2
