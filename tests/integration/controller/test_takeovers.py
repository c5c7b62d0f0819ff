"""The session of a controller ends while the next one's connection or session is disturbed: it takes over all the same.

At moments that chance chooses around the election; the simulated lives of controllers (tests/simulation) know no kazoo.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator

import gevent
import pytest
from gevent import socket
from gevent.server import StreamServer

from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk import cluster
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import create_topic, partition_leaderships
from kafka_zk.zk.znodes import PartitionLeadership, PartitionReplicas, TopicAssignment
from tests.integration.conftest import ConnectZk
from tests.integration.controller.listening_broker import ListeningBroker
from tests.support.zookeeper import ZooKeeperServer, eventually, expire_session

ROUNDS = 4
AROUND_S = 0.1
"""How long after the end of the first session is asked for the second is disturbed: ZooKeeper takes as long for it."""


class Line:
    """Passes on what a client and ZooKeeper say, until it is held or cut."""

    def __init__(self, connect: str) -> None:
        host, _, port = connect.partition(":")
        self._address = host, int(port)
        self._open: list[socket.socket] = []
        self._server = StreamServer(("127.0.0.1", 0), self._serve)
        self._server.start()
        self.is_held = False

    @property
    def connect(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.cut()
        self._server.stop(timeout=1)

    def cut(self) -> None:
        """Each connection ends at both ends; the next one may come at once."""
        ends, self._open = self._open, []
        for end in ends:
            end.close()

    def _serve(self, client: socket.socket, _address: object) -> None:
        with socket.create_connection(self._address) as server, client:
            self._open += [client, server]
            ways = [gevent.spawn(self._pass_on, *way) for way in ((client, server), (server, client))]
            gevent.joinall(ways, count=1)
            gevent.killall(ways)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                while self.is_held:
                    gevent.sleep(0.005)
                target.sendall(data)
        except OSError:
            return


class Candidate:
    """A broker that may become controller, and its line to ZooKeeper."""

    def __init__(self, broker_id: int, zookeeper: ZooKeeperServer, chroot: str) -> None:
        self._zookeeper = zookeeper
        self.line = Line(zookeeper.connect)
        self._zk = ZkClient(f"{self.line.connect}/{chroot}", session_timeout_ms=30_000, connection_timeout_ms=60_000)
        self._zk.start()
        cluster.create_top_level_paths(self._zk)
        self.broker = ListeningBroker(broker_id, self._zk).start()

    def end_session(self) -> None:
        if self._zk.session_id:
            expire_session(self._zookeeper, self._zk.session_id, self._zk.session_password)

    def stop(self) -> None:
        self.broker.stop()
        self._zk.close()
        self.line.close()


Disturbance = Callable[[Candidate, random.Random], None]


def cut(candidate: Candidate, _: random.Random) -> None:
    candidate.line.cut()


def cut_twice(candidate: Candidate, chance: random.Random) -> None:
    candidate.line.cut()
    gevent.sleep(chance.uniform(0, 0.2))
    candidate.line.cut()


def hold(candidate: Candidate, chance: random.Random) -> None:
    candidate.line.is_held = True
    gevent.sleep(chance.uniform(0, 0.5))
    candidate.line.is_held = False


def hold_and_cut(candidate: Candidate, chance: random.Random) -> None:
    candidate.line.is_held = True
    gevent.sleep(chance.uniform(0, 0.2))
    candidate.line.cut()
    candidate.line.is_held = False


def end_session(candidate: Candidate, _: random.Random) -> None:
    candidate.end_session()


def hold_and_end_session(candidate: Candidate, chance: random.Random) -> None:
    candidate.line.is_held = True
    candidate.end_session()
    gevent.sleep(chance.uniform(0, 0.2))
    candidate.line.is_held = False


@pytest.fixture
def candidates(zookeeper: ZooKeeperServer, zookeeper_connect: str) -> Iterator[list[Candidate]]:
    chroot = zookeeper_connect.partition("/")[2]
    made: list[Candidate] = []
    try:
        for broker_id in (1, 2):
            made.append(Candidate(broker_id, zookeeper, chroot))
            eventually(lambda: made[0].broker.controller.is_active)
        yield made
    finally:
        for candidate in made:
            candidate.stop()


@pytest.mark.slow
@pytest.mark.parametrize("disturb", [cut, cut_twice, hold, hold_and_cut, end_session, hold_and_end_session])
def test_a_disturbed_broker_takes_over(
    candidates: list[Candidate], disturb: Disturbance, connect_zk: ConnectZk, chance: random.Random
) -> None:
    hand = connect_zk()
    for number in range(ROUNDS):
        eventually(lambda: any(each.broker.controller.is_active for each in candidates), 60)
        active, next_one = sorted(candidates, key=lambda each: not each.broker.controller.is_active)
        epoch = active.broker.controller.controller_epoch
        ended = gevent.spawn(active.end_session)
        disturbed = gevent.spawn_later(chance.uniform(0, AROUND_S), disturb, next_one, chance)
        gevent.joinall([ended, disturbed], raise_error=True)
        eventually(lambda: is_settled(candidates, above=epoch), 60)  # noqa: B023
        # And it hears what changes from now on: no watch was lost.
        partition = TopicPartition(f"t-{number}", 0)
        create_topic(hand, partition.topic, TopicAssignment({0: PartitionReplicas((1, 2))}, uuid.uuid4()), {})
        eventually(lambda: all(partition in each.broker.told.metadata for each in candidates), 60)  # noqa: B023
        known = [TopicPartition(f"t-{earlier}", 0) for earlier in range(number + 1)]
        eventually(lambda: all(each.leader in (1, 2) for each in leaderships(hand, known)), 60)  # noqa: B023


def is_settled(candidates: list[Candidate], *, above: int) -> bool:
    """Whether one of them controls, in a later epoch, and both know both."""
    active = [each.broker.controller for each in candidates if each.broker.controller.is_active]
    return (
        len(active) == 1
        and active[0].controller_epoch > above
        and all(each.broker.told.live_brokers == [1, 2] for each in candidates)
        and all(each.broker.told.controller_epoch == active[0].controller_epoch for each in candidates)
    )


def leaderships(hand: ZkClient, partitions: list[TopicPartition]) -> list[PartitionLeadership]:
    return list(partition_leaderships(hand, partitions).values())
