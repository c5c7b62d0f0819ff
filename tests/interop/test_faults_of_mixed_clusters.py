"""Three brokers of both kinds under faults, each on a host of its own, while replicas move all the time.

No acknowledged record is missing or there twice, and in the end all replicas are equal byte for byte.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_zk.protocol.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS_REQUEST,
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_zk.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS_REQUEST,
    ListPartitionReassignmentsRequest,
)
from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.hosts import Hosts
from tests.support.numbered import NumberWriter, check_numbers
from tests.support.processes import free_port, paused, wait_until
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.zookeeper import EmbeddedZooKeeper

OURS, APACHE = OurBroker, ApacheBroker
KINDS = {"one ours": (OURS, APACHE, APACHE), "two ours": (OURS, OURS, APACHE), "all ours": (OURS, OURS, OURS)}
BROKERS = (0, 1, 2)
ZOOKEEPER = 3
"""The host of ZooKeeper, after those of the brokers."""

SESSION_S = 6
KEPT, MOVED = "kept", "moved"
PARTITIONS = {KEPT: 6, MOVED: 6}
DISK_MIB = 512
RECOVERY_S = 120
SHARED = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "zookeeper.session.timeout.ms": str(SESSION_S * 1_000),
    "replica.lag.time.max.ms": "5000",
    "log.segment.bytes": "16777216",
    "auto.create.topics.enable": "false",
}
EXPECTED_ERRORS = re.compile(
    # A disk that is full or read-only, and what cannot be written there.
    r"No space left on device|Read-only file system|log dir|log directory|offline"
    # A peer, a controller or ZooKeeper that cannot be reached.
    r"|[Cc]onnection to node|could not be established|[Cc]onnection|session|ZooKeeper"
    # Too few replicas in sync while one is away.
    r"|NotEnoughReplicas|NOT_ENOUGH_REPLICAS"
)


class Host:
    """A broker, its host and its disk."""

    def __init__(
        self, kind: Callable[..., OurBroker | ApacheBroker], hosts: Hosts, number: int, folder: Path, zk: str
    ) -> None:
        self.number = number
        self._hosts = hosts
        self._disk = folder / str(number) / "data"
        self._disk.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(self._disk)], check=True)
        self.bootstrap = f"{hosts.address(number)}:{free_port()}"
        overrides = {**SHARED, "listeners": f"PLAINTEXT://{self.bootstrap}", "log.dirs": str(self._disk / "logs")}
        self.broker = kind(folder / str(number), zk, broker_id=number, overrides=overrides)
        self.broker.process.command[:] = hosts.command(number, self.broker.process.command)

    @property
    def is_ours(self) -> bool:
        return isinstance(self.broker, OurBroker)

    def start(self) -> None:
        if self.broker.process.is_running:
            return
        self.broker.launch()
        self.broker.process.wait_ready(self._answers, f"broker {self.number} serves")

    def logs(self, topic: str) -> dict[int, bytes]:
        """Each partition's records on this disk."""
        found = {}
        for folder in (self._disk / "logs").glob(f"{topic}-*"):
            name, _, number = folder.name.rpartition("-")
            if name == topic and number.isdigit():
                found[int(number)] = b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))
        return found

    def fill_disk(self) -> None:
        with (self._disk / "ballast").open("wb") as ballast, suppress(OSError):
            while True:
                ballast.write(bytes(1 << 20))
                ballast.flush()

    def free_disk(self) -> None:
        (self._disk / "ballast").unlink()

    def set_disk(self, mode: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{mode}", str(self._disk)], check=True)

    def close(self) -> None:
        self.broker.process.kill()
        subprocess.run(["umount", "-l", str(self._disk)], check=False)

    def _answers(self) -> bool:
        try:
            with RawClient(self.bootstrap, timeout_s=5) as client:
                answer = client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9)
        except (OSError, ConnectionClosed, struct.error):
            return False
        return any(each.node_id == self.number for each in answer.brokers)


class Load(NumberWriter):
    """Writes numbers to every partition, and moves the replicas of one topic."""

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        super().__init__(bootstrap, PARTITIONS)
        self.moves = 0
        self._bootstraps = bootstrap.split(",")
        self._chance = chance
        self._mover = threading.Thread(target=self._move)
        self._mover.start()

    def stop(self) -> None:
        super().stop()
        self._mover.join()

    def _move(self) -> None:
        while not self._stopped.wait(1.0):
            index, replicas = self._chance.randrange(PARTITIONS[MOVED]), self._chance.sample(BROKERS, 2)
            partition = ReassignablePartition(partition_index=index, replicas=replicas)
            wanted = AlterPartitionReassignmentsRequest(
                timeout_ms=10_000, topics=[ReassignableTopic(name=MOVED, partitions=[partition])]
            )
            try:
                with RawClient(controller(self._bootstraps), timeout_s=15) as client:
                    answer = client.send(ALTER_PARTITION_REASSIGNMENTS_REQUEST, wanted, 0)
            except (OSError, ConnectionClosed, struct.error):
                continue  # The controller is what the fault is about.
            self.moves += not (answer.error_code or answer.responses[0].partitions[0].error_code)


def controller(bootstraps: Sequence[str]) -> str:
    """Where the controller is, as a broker has it. Raises OSError."""
    for bootstrap in bootstraps:
        try:
            with RawClient(bootstrap, timeout_s=2) as client:
                answer = client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9)
        except (OSError, ConnectionClosed, struct.error):
            continue
        for broker in answer.brokers:
            if broker.node_id == answer.controller_id:
                return f"{broker.host}:{broker.port}"
    raise OSError("nobody knows the controller")


class MixedCluster:
    """Three brokers and a ZooKeeper on four hosts."""

    def __init__(self, folder: Path, kinds: Sequence[Callable[..., OurBroker | ApacheBroker]]) -> None:
        self.hosts = Hosts(len(kinds) + 1)
        self.members: list[Host] = []
        self.zookeeper = EmbeddedZooKeeper(
            folder / "zookeeper",
            host=self.hosts.address(ZOOKEEPER),
            wrapped=lambda command: self.hosts.command(ZOOKEEPER, command),
        )
        try:
            self.zookeeper.start()
            for number, kind in enumerate(kinds):
                self.members.append(Host(kind, self.hosts, number, folder, self.zookeeper.connect))
                self.members[-1].start()
            self.bootstrap = ",".join(member.bootstrap for member in self.members)
            self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
            wait_until(lambda: len(self.admin.list_topics(timeout=10).brokers) == len(kinds), "all are known")
            topics = [
                NewTopic(KEPT, PARTITIONS[KEPT], 3),
                # Two replicas, so that there is somewhere to move to; one of them may be away.
                NewTopic(MOVED, PARTITIONS[MOVED], 2, config={"min.insync.replicas": "1"}),
            ]
            for created in self.admin.create_topics(topics).values():
                created.result(30)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for member in self.members:
            member.close()
        self.zookeeper.stop()
        self.hosts.close()

    def wait_in_sync(self) -> None:
        wait_until(self._is_in_sync, "every replica is in sync", RECOVERY_S)

    def wait_for_moves(self) -> None:
        def are_over() -> bool:
            try:
                with RawClient(controller([each.bootstrap for each in self.members])) as client:
                    answer = client.send(LIST_PARTITION_REASSIGNMENTS_REQUEST, ListPartitionReassignmentsRequest(), 0)
            except (OSError, ConnectionClosed):
                return False
            return not answer.error_code and not answer.topics

        wait_until(are_over, "no reassignment is under way", RECOVERY_S)

    def _is_in_sync(self) -> bool:
        try:
            topics = self.admin.list_topics(timeout=10).topics
        except KafkaException:
            return False
        return {KEPT, MOVED} <= topics.keys() and all(
            len(partition.isrs) == len(partition.replicas) and partition.leader >= 0
            for name in (KEPT, MOVED)
            for partition in topics[name].partitions.values()
        )


class Faults:
    """What happens to one broker; each ends with the broker there again."""

    def __init__(self, cluster: MixedCluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self.all: dict[str, Callable[[Host], None]] = {
            "kill -9": self.kill,
            "paused for 5 s": lambda host: self.pause(host, 5),
            "paused for longer than its session": lambda host: self.pause(host, SESSION_S * 1.5),
            "controlled stop": self.stop,
            "cut from another broker": self.cut_from_another,
            "cut from ZooKeeper": lambda host: self.cut(host.number, ZOOKEEPER),
            "disk full": self.fill,
            "disk read-only": self.forbid_writes,
        }

    def kill(self, host: Host) -> None:
        host.broker.process.kill()
        self.linger(3)
        host.start()

    def stop(self, host: Host) -> None:
        host.broker.process.stop()
        self.linger(3)
        host.start()

    def pause(self, host: Host, seconds: float) -> None:
        with paused(host.broker.process.pid):
            time.sleep(seconds)

    def cut_from_another(self, host: Host) -> None:
        other = self._chance.choice([number for number in BROKERS if number != host.number])
        self.cut(host.number, other)

    def cut(self, one: int, other: int) -> None:
        self._cluster.hosts.cut(one, other)
        self.linger(12)
        self._cluster.hosts.heal(one, other)

    def fill(self, host: Host) -> None:
        host.fill_disk()
        self.linger(8)
        host.free_disk()
        self.restart(host)

    def forbid_writes(self, host: Host) -> None:
        # Files that are open for writing keep a file system writable: the broker starts on a read-only one.
        host.broker.process.kill()
        host.set_disk("ro")
        host.broker.launch()
        self.linger(8)
        host.broker.process.kill()
        host.set_disk("rw")
        host.start()

    def restart(self, host: Host) -> None:
        """A broker may have left its directory, or ended with its last one."""
        if host.broker.process.is_running:
            host.broker.process.kill()
        host.start()

    def linger(self, most_s: float) -> None:
        time.sleep(self._chance.uniform(0.5, most_s))


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MixedCluster]:
    if os.geteuid() != 0:
        pytest.skip("hosts of their own need root")
    made = MixedCluster(tmp_path, KINDS[request.param])
    yield made
    made.close()


def check(cluster: MixedCluster, load: Load) -> None:
    assert not load.failures, load.failures[:5]
    check_numbers(cluster.bootstrap, load.acknowledged)
    replicas = {
        (name, index): partition.replicas
        for name in (KEPT, MOVED)
        for index, partition in cluster.admin.list_topics(timeout=10).topics[name].partitions.items()
    }
    for (name, index), on in replicas.items():
        wait_until(
            lambda name=name, index=index, on=on: (
                len({cluster.members[each].logs(name).get(index) for each in on}) == 1
            ),
            f"the replicas of {name}-{index} on {on} are equal",
        )


def unexplained(host: Host) -> list[str]:
    lines = host.broker.process.output().splitlines()
    return [line for line in lines if " ERROR " in line and not EXPECTED_ERRORS.search(line)]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [60, 600])
@pytest.mark.parametrize("cluster", KINDS, indirect=True)
def test_nothing_is_lost_or_doubled_under_faults_while_replicas_move(
    cluster: MixedCluster, seconds: int, chance: random.Random
) -> None:
    cluster.wait_in_sync()
    load = Load(cluster.bootstrap, random.Random(chance.random()))
    faults = Faults(cluster, chance)
    until_s = time.monotonic() + seconds
    history: list[str] = []
    try:
        for name in itertools.cycle(chance.sample(sorted(faults.all), len(faults.all))):
            host = chance.choice(cluster.members)
            history.append(f"{name} at {host.number}")
            print(f"{history[-1]} ({'ours' if host.is_ours else 'Apache'})", flush=True)
            faults.all[name](host)
            cluster.wait_in_sync()
            if time.monotonic() > until_s:
                break
    finally:
        load.stop()
    cluster.wait_for_moves()
    cluster.wait_in_sync()
    check(cluster, load)
    assert load.moves, "nothing moved"
    errors = {host.number: found for host in cluster.members if host.is_ours and (found := unexplained(host))}
    assert not errors, (history, errors)
