"""Three brokers of both kinds on this machine, a topic of three replicas, and what must be so once nothing happens."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_zk.protocol.messages.metadata import METADATA_REQUEST, MetadataRequest
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.processes import free_port, wait_until
from tests.support.raw_client import ConnectionClosed, RawClient
from tests.support.znodes import broker_epoch, children, controller_id, looking_at

Kind = Callable[..., OurBroker | ApacheBroker]

REPLICAS = 3
IN_SYNC_S = 180
SHARED = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "log.segment.bytes": "262144",
    # For a busy machine. A start of Apache's waits no longer than the second for what the controller has written.
    "zookeeper.session.timeout.ms": "18000",
    "zookeeper.connection.timeout.ms": "60000",
}
EXPECTED_ERRORS = re.compile(
    # A peer, a controller or a server of ZooKeeper that is being restarted.
    r"[Cc]onnection to node|could not be established|[Cc]onnection (refused|reset|lost|loss|closed)|ConnectionLoss"
    # Too few replicas in sync while one of them is away.
    r"|NotEnoughReplicas|NOT_ENOUGH_REPLICAS"
    # A controller takes a dead leader out of the ISR before it elects the next one; Apache's brokers say so, too.
    r"|its leader -1 is unavailable"
)


class ThreeBrokers:
    """`kinds` of the brokers 0, 1, 2; `settings` are added to the shared ones, `topics` are name: partitions.

    `wrapped(number, command)` is the command line that runs a broker.
    """

    def __init__(
        self,
        folder: Path,
        zookeeper: str,
        kinds: Sequence[Kind],
        topics: Mapping[str, int],
        *,
        settings: Mapping[str, str] | None = None,
        configs: Mapping[str, Mapping[str, str]] | None = None,
        wrapped: Callable[[int, Sequence[str]], Sequence[str]] = lambda _, command: command,
    ) -> None:
        self.folder = folder
        self.zookeeper = zookeeper
        self.topics = dict(topics)
        self._settings = {**SHARED, **(settings or {})}
        self._wrapped = wrapped
        self._listeners = {number: f"PLAINTEXT://127.0.0.1:{free_port()}" for number in range(len(kinds))}
        self.brokers: dict[int, OurBroker | ApacheBroker] = {}
        self._all: list[OurBroker | ApacheBroker] = []
        """Also those that were replaced."""
        try:
            for number, kind in enumerate(kinds):
                self.launch(number, kind)
            for broker in self.brokers.values():
                broker.wait_ready()
            self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 3})
            wait_until(lambda: len(self.admin.list_topics(timeout=10).brokers) == len(kinds), "all are known")
            wanted = [
                NewTopic(name, count, REPLICAS, config=dict((configs or {}).get(name, {})))
                for name, count in topics.items()
            ]
            for created in self.admin.create_topics(wanted).values():
                created.result(60)
            self.wait_in_sync()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap(self) -> str:
        return ",".join(listener.removeprefix("PLAINTEXT://") for listener in self._listeners.values())

    def log_dir(self, number: int) -> Path:
        """Of whichever broker has this number."""
        return self.folder / f"broker-{number}" / "data"

    def launch(self, number: int, kind: Kind, settings: Mapping[str, str] | None = None) -> OurBroker | ApacheBroker:
        """Start a broker on its directory and its port; what ran there has ended. `settings` go above the others."""
        places = {"listeners": self._listeners[number], "log.dirs": str(self.log_dir(number))}
        folder = self.folder / f"broker-{number}" / str(len(self._all))
        overrides = {**self._settings, **places, **(settings or {})}
        broker = kind(folder, self.zookeeper, broker_id=number, overrides=overrides)
        broker.process.command[:] = self._wrapped(number, broker.process.command)
        self.brokers[number] = broker
        self._all.append(broker)
        broker.launch()
        return broker

    def replace(self, number: int, kind: Kind, settings: Mapping[str, str] | None = None) -> None:
        """Blocks until another kind of broker, or the same with other settings, has taken its place and is in sync."""
        self.brokers[number].stop()
        self.launch(number, kind, settings).wait_ready()
        self.wait_in_sync()

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()

    def wait_in_sync(self) -> None:
        """Blocks until every replica of the topics is in sync, as each of the brokers says."""
        for broker in self.brokers.values():
            admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 3})
            wait_until(lambda admin=admin: self._is_in_sync(admin), f"all is in sync at {broker.bootstrap}", IN_SYNC_S)

    def _is_in_sync(self, admin: AdminClient) -> bool:
        try:
            topics = admin.list_topics(timeout=10).topics
        except KafkaException:
            return False
        return self.topics.keys() <= topics.keys() and all(
            len(partition.isrs) == REPLICAS and partition.leader >= 0
            for name in self.topics
            for partition in topics[name].partitions.values()
        )

    def wait_equal(self) -> None:
        """Blocks until the replicas of each partition are equal byte for byte; nobody may write any more."""
        for name, count in self.topics.items():
            for index in range(count):
                wait_until(
                    lambda place=f"{name}-{index}": len({self._records(each, place) for each in self.brokers}) == 1,
                    f"the replicas of {name}-{index} are equal",
                )

    def _records(self, number: int, partition: str) -> bytes:
        with suppress(FileNotFoundError):  # A segment that is being deleted.
            paths = sorted((self.log_dir(number) / partition).glob("*.log"))
            return b"".join(path.read_bytes() for path in paths)
        return b""

    def registered(self) -> set[int]:
        """Who is alive, as ZooKeeper has it."""
        return {int(name) for name in children(self.zookeeper, "/brokers/ids")}

    def wait_settled(self) -> None:
        """Blocks until all are registered, name the controller that is in ZooKeeper, and are in sync."""

        def has_one_controller() -> bool:
            named = {_controller_of(broker.bootstrap) for broker in self.brokers.values()}
            return named == {controller_id(self.zookeeper)}

        wait_until(lambda: self.registered() == self.brokers.keys(), "all brokers are registered", IN_SYNC_S)
        wait_until(has_one_controller, "there is one controller", IN_SYNC_S)
        self.wait_in_sync()

    def partition_epochs(self) -> dict[str, int]:
        """How often the state of each partition was written: with each election and each change of an ISR."""
        with looking_at(self.zookeeper) as zk:
            paths = [
                f"/brokers/topics/{name}/partitions/{index}/state"
                for name, count in self.topics.items()
                for index in range(count)
            ]
            return {path: zk.get(path)[1].version for path in paths}

    def broker_epochs(self) -> dict[int, int | None]:
        """Others after each registration."""
        return {number: broker_epoch(self.zookeeper, number) for number in self.brokers}

    def unreadable_requests(self) -> list[str]:
        """What Apache's brokers say of requests that they cannot read: nobody may send them such."""
        return [
            f"{broker.broker_id}: {line}"
            for broker in self._all
            if isinstance(broker, ApacheBroker)
            for line in broker.process.output().splitlines()
            if "Error getting request for apiKey" in line or "UnsupportedVersionException" in line
        ]

    def unexplained_errors(self, explained: re.Pattern[str] = EXPECTED_ERRORS) -> list[str]:
        """Lines of ours at ERROR that nothing accounts for, in what they printed and in their log files."""
        return [
            f"{broker.broker_id}: {line}"
            for broker in self._all
            if isinstance(broker, OurBroker)
            for log in sorted([broker.process.log, *(broker.folder / "logs").glob("*.log")])
            for line in log.read_text(errors="replace").splitlines()
            if (" ERROR " in line and not explained.search(line)) or line.startswith("Traceback")
        ]


def _controller_of(bootstrap: str) -> int:
    """As a broker says; -1 while it cannot be asked."""
    try:
        with RawClient(bootstrap, timeout_s=5) as client:
            return int(client.send(METADATA_REQUEST, MetadataRequest(topics=[]), 9).controller_id)
    except (OSError, ConnectionClosed, struct.error):
        return -1
