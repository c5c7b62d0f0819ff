"""kafka-cluster-up, -restart and -down as an operator types them, with real brokers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Writer
from tests.support.librdkafka import Librdkafka
from tests.support.processes import free_ports_in_a_row, has_ended

SCRIPTS = Path(__file__).parents[2] / "scripts"
PARTITIONS = 6
OVERRIDES = {
    # Nobody is left to take the last broker's partitions; Kafka tries again for 15 s.
    "controlled.shutdown.retry.backoff.ms": "100",
    "offsets.topic.num.partitions": "3",
    "min.insync.replicas": "2",
}


class Machine:
    """The scripts, in a folder of their own."""

    def __init__(self, folder: Path, zookeeper: str) -> None:
        self.folder = folder
        self.port = free_ports_in_a_row(3)
        self._first = ["--zookeeper", zookeeper]
        for key, value in {"listeners": f"PLAINTEXT://127.0.0.1:{self.port}", **OVERRIDES}.items():
            self._first += ["--override", f"{key}={value}"]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{self.port + index}" for index in range(3))

    def up(self, count: int) -> str:
        options, self._first = self._first, []
        return self.run("kafka-cluster-up.sh", str(count), *options)

    def run(self, script: str, *options: str) -> str:
        command = [str(SCRIPTS / script), *options, "--folder", str(self.folder)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}"
        return ended.stdout

    def create_topic(self, name: str) -> None:
        """With three replicas of each partition."""
        wanted = ["--create", "--topic", name, "--partitions", str(PARTITIONS), "--replication-factor", "3"]
        command = [str(SCRIPTS / "kafka-topics.sh"), "--bootstrap-server", self.bootstrap, *wanted]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def processes(self) -> dict[int, int]:
        """Of brokers out of the folder and of what they have started: process ids, and those of their parents."""
        parents, found = {}, {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(self.folder) in words and b"kafka_zk.tools.server_start" in words:
                found[int(folder.name)] = parents[int(folder.name)]
        while more := {pid: parent for pid, parent in parents.items() if parent in found and pid not in found}:
            found |= more
        return found


@pytest.fixture
def machine(tmp_path: Path, zookeeper_connect: str) -> Iterator[Machine]:
    made = Machine(tmp_path / "brokers", zookeeper_connect)
    yield made
    for pid in made.processes():
        os.kill(pid, 9)


@pytest.mark.slow
def test_a_rolling_restart_loses_nothing_that_was_acknowledged_and_down_leaves_no_process(machine: Machine) -> None:
    machine.up(2)
    two = machine.processes()
    machine.up(3)
    assert {*two} < {*machine.processes()}, "the third was added, and the others were left alone"
    machine.create_topic("t")
    writer = Writer(machine.bootstrap, "t", PARTITIONS)
    writer.start()
    writer.wait_for_more()
    before = machine.processes()
    said = machine.run("kafka-cluster-restart.sh").splitlines()
    writer.wait_for_more()
    ends = writer.stop()

    # Each waits for the one before.
    steps = [line for line in said if not line.startswith("Wait: ")]
    order = [int(line.split()[2]) for line in steps[::3]]
    assert sorted(order) == [0, 1, 2]
    assert steps == [
        step for id in order for step in (f"Stop broker {id}", f"Start broker {id}", f"broker {id} is in sync")
    ]
    assert all(map(has_ended, before)), "each broker is another process now"

    clients = Librdkafka(machine.bootstrap)
    for partition, end in enumerate(ends):
        values = [message.value() for message in clients.read("t", end, partition=partition)]
        assert values == [b"%d" % number for number in range(end)]
    clients.close()

    after = machine.processes()
    assert len(after) >= 3
    machine.run("kafka-cluster-down.sh")
    assert machine.processes() == {} and all(map(has_ended, after))
