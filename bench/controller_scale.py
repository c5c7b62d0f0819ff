"""A controller of many partitions: what it takes it to begin, to lose a broker, to make and to delete a topic.

`python -m bench.controller_scale [--partitions 5000 50000 200000] [--apache]`: the znodes of that many partitions with
three replicas each over 30 brokers that are only registered; sinks (`sinks.py`) take and answer what the controller
sends them. The broker under test has no replicas: it is the controller, and nothing else.

fail-over   from the end of /controller, which the bench held, until each replica was told who leads, and each broker
            the whole metadata
death       from the end of one broker's session until no partition is told with that broker in its ISR any more
creation    from the znode of a topic of 1,000 partitions until each of its replicas was told who leads
deletion    from its znode in /admin/delete_topics until the topic is gone
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from kazoo.client import KazooClient

from bench.process import cpu_seconds, resident_mb, run_bench
from kafka_zk.compiled import PROJECT
from kafka_zk.config.endpoints import EndPoint
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.znodes import (
    BrokerIdZNode,
    BrokerRegistration,
    PartitionLeadership,
    PartitionReplicas,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicZNode,
)
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.zookeeper import EmbeddedZooKeeper

BROKERS = 30
REPLICAS = 3
PARTITIONS_PER_TOPIC = 1000
UNDER_TEST = 100
"""The broker id of the controller."""

FIRST_EPOCH = 1
TIMEOUT_S = 600
IN_FLIGHT = 2000
NEW_TOPIC = "made-by-the-bench"


class Sinks:
    """The process of the sinks, asked over its standard streams."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.sinks", str(BROKERS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )
        self.ports: list[int] = json.loads(self._read())

    def ask(self, question: str) -> int:
        assert self._process.stdin is not None
        print(question, file=self._process.stdin, flush=True)
        return int(json.loads(self._read()) or 0)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


class Estate:
    """The znodes of a cluster, its sinks, and the broker that is to control it."""

    def __init__(self, folder: Path, connect: str, partition_count: int, *, apache: bool) -> None:
        self.partition_count = partition_count
        self.sinks = Sinks()
        self.zk = _client(connect)
        self._brokers = [_client(connect) for _ in range(BROKERS)]
        """A session each, so that one of them may end."""
        of_kind = ApacheBroker if apache else OurBroker
        overrides = {"auto.leader.rebalance.enable": "false", "zookeeper.session.timeout.ms": "18000"}
        more = {"heap": "4g"} if apache else {}
        self.broker = of_kind(folder / "broker", connect, broker_id=UNDER_TEST, overrides=overrides, **more)  # type: ignore[arg-type]

    def make(self) -> None:
        """The registrations, the topics and their states; /controller is held until `fail_over`."""
        for path in ("/brokers/ids", "/brokers/topics", "/admin/delete_topics", "/config/topics"):
            self.zk.ensure_path(path)
        for broker_id, (client, port) in enumerate(zip(self._brokers, self.sinks.ports, strict=True)):
            endpoint = EndPoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", port)
            registered = BrokerIdZNode.encode(BrokerRegistration(broker_id, (endpoint,)))
            client.create(BrokerIdZNode.path(broker_id), registered, ephemeral=True)
        self.zk.create("/controller_epoch", str(FIRST_EPOCH).encode())
        self.zk.create("/controller", b'{"version":1,"brokerid":0,"timestamp":"0"}', ephemeral=True)
        rng = random.Random(self.partition_count)
        for first in range(0, self.partition_count, PARTITIONS_PER_TOPIC):
            count = min(PARTITIONS_PER_TOPIC, self.partition_count - first)
            self._make_topic(f"bench-{first}", count, rng, with_states=True)

    def fail_over(self) -> None:
        self.zk.delete("/controller")
        whole = self.partition_count * REPLICAS
        _wait(lambda: self.sinks.ask("told ") >= whole and self.sinks.ask("rounds") == BROKERS, "all were told all")

    def lose_a_broker(self) -> None:
        self._brokers.pop().stop()
        _wait(lambda: self.sinks.ask(f"within {BROKERS - 1}") == 0, "the dead broker is in no ISR")

    def create(self) -> None:
        rng = random.Random(1)
        self._make_topic(NEW_TOPIC, PARTITIONS_PER_TOPIC, rng, with_states=False)
        told = PARTITIONS_PER_TOPIC * REPLICAS
        _wait(lambda: self.sinks.ask(f"told {NEW_TOPIC}") >= told, "the new topic's replicas were told")

    def delete(self) -> None:
        self.zk.create(f"/admin/delete_topics/{NEW_TOPIC}")
        _wait(lambda: not self.zk.exists(TopicZNode.path(NEW_TOPIC)), "the topic is gone")

    def close(self) -> None:
        self.broker.kill()
        self.sinks.close()
        for client in (*self._brokers, self.zk):
            client.stop()

    def _make_topic(self, topic: str, count: int, rng: random.Random, *, with_states: bool) -> None:
        alive = range(len(self._brokers))
        replicas = {index: tuple(rng.sample(alive, REPLICAS)) for index in range(count)}
        self.zk.create(f"/config/topics/{topic}", b'{"version":1,"config":{}}')
        if with_states:
            partitions = [TopicPartition(topic, index) for index in replicas]
            path = TopicZNode.path(topic)
            self.zk.create(path, _assignment(topic, replicas, rng))
            self.zk.create(f"{path}/partitions")
            self._create_all([(f"{path}/partitions/{each.partition}", b"") for each in partitions])
            states = (
                PartitionLeadership(replicas[each.partition][0], 0, replicas[each.partition], 1) for each in partitions
            )
            self._create_all(
                [
                    (TopicPartitionStateZNode.path(each), TopicPartitionStateZNode.encode(state))
                    for each, state in zip(partitions, states, strict=True)
                ]
            )
        else:
            self.zk.create(TopicZNode.path(topic), _assignment(topic, replicas, rng))

    def _create_all(self, znodes: Sequence[tuple[str, bytes]]) -> None:
        for first in range(0, len(znodes), IN_FLIGHT):
            for pending in [self.zk.create_async(*znode) for znode in znodes[first : first + IN_FLIGHT]]:
                pending.get(TIMEOUT_S)


def _client(connect: str) -> KazooClient:
    client = KazooClient(connect, timeout=60)
    client.start()
    return client


def _led(replicas: tuple[int, ...]) -> bytes:
    """The state of a partition with all of its replicas in sync, led by the first of them."""
    return TopicPartitionStateZNode.encode(PartitionLeadership(replicas[0], 0, replicas, FIRST_EPOCH))


def _assignment(topic: str, replicas: dict[int, tuple[int, ...]], rng: random.Random) -> bytes:
    partitions = {index: PartitionReplicas(brokers) for index, brokers in replicas.items()}
    return TopicZNode.encode(TopicAssignment(partitions, UUID(int=rng.getrandbits(128) | 1 << 64)))


def _wait(claim: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not claim():
        assert time.monotonic() < deadline, f"not within {TIMEOUT_S} s: {what}"
        time.sleep(0.005)


@contextmanager
def _estate(count: int, options: argparse.Namespace) -> Iterator[Estate]:
    with tempfile.TemporaryDirectory(prefix="kafka-zk-bench-", dir=options.folder) as folder_name:
        folder = Path(folder_name)
        zookeeper = EmbeddedZooKeeper(folder / "zookeeper", heap="-Xmx2g")
        zookeeper.start()
        estate: Estate | None = None
        try:
            estate = Estate(folder, zookeeper.connect, count, apache=options.apache)
            yield estate
        finally:
            if estate is not None:
                estate.close()
            zookeeper.stop()


def main() -> int:
    options = _options()
    name = "Apache" if options.apache else "ours"
    print(f"{name}, {BROKERS} brokers, {REPLICAS} replicas a partition")
    print(f"{'partitions':>10s}  {'step':10s}{'s':>8s}{'s of CPU':>10s}{'MB then':>9s}")
    for count in options.partitions:
        with _estate(count, options) as estate:
            estate.make()
            estate.broker.start()
            pid = estate.broker.process.pid
            for title, step in (
                ("fail-over", estate.fail_over),
                ("death", estate.lose_a_broker),
                ("creation", estate.create),
                ("deletion", estate.delete),
            ):
                estate.sinks.ask("forget")
                began, used_s = time.monotonic(), cpu_seconds(pid)
                step()
                took_s = time.monotonic() - began
                cpu_s = cpu_seconds(pid) - used_s
                print(f"{count:10d}  {title:10s}{took_s:8.2f}{cpu_s:10.2f}{resident_mb(pid):9.0f}", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.controller_scale", description=__doc__)
    parser.add_argument(
        "--partitions", type=int, nargs="+", default=[5000, 50_000, 200_000], help="how many there are, in turn"
    )
    parser.add_argument("--apache", action="store_true", help="an Apache broker is the controller")
    parser.add_argument("--folder", type=Path, help="directory for the data of ZooKeeper and the broker")
    return parser.parse_args()


if __name__ == "__main__":
    run_bench(main)
