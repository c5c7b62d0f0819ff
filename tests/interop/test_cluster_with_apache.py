"""Our broker and Apache's, members of one cluster: either may be controller, leader or follower."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from kazoo.exceptions import NoNodeError

from tests.support.apache import ApacheBroker, run_tool
from tests.support.broker import OurBroker
from tests.support.known_topics import wait_until_led
from tests.support.librdkafka import CODECS, PATIENCE_S, Librdkafka, Written, as_written
from tests.support.znodes import described, end_session, state_path
from tests.support.zookeeper import eventually, plain_client

APACHE, OURS = 1, 2
SHARED = {
    "offsets.topic.replication.factor": "2",
    "default.replication.factor": "2",
    "replica.lag.time.max.ms": "5000",
    "leader.imbalance.check.interval.seconds": "3600",
}
PATIENCE_FOR_STATES_S = 60
LINES_TOLD = 40
"""Of each broker's logs, when a wait was in vain."""
RECORDS = [Written(b"text " * 10 + b"%d" % number, b"%d" % number, (("h", None),)) for number in range(300)]


class Cluster:
    """One broker of each kind; who is started first becomes the controller."""

    def __init__(
        self,
        folder: Path,
        zookeeper_connect: str,
        *,
        controller: int,
        apache: Callable[..., ApacheBroker] = ApacheBroker,
        ours: Callable[..., OurBroker] = OurBroker,
    ) -> None:
        self.brokers: dict[int, ApacheBroker | OurBroker] = {
            APACHE: apache(folder / "apache", zookeeper_connect, broker_id=APACHE, overrides=SHARED),
            OURS: ours(folder / "ours", zookeeper_connect, broker_id=OURS, overrides=SHARED),
        }
        self.connect = zookeeper_connect
        self.brokers[controller].start()
        self.zk = plain_client(zookeeper_connect)
        self.wait_for_controller(controller)
        for broker_id in {APACHE, OURS} - {controller}:
            self.brokers[broker_id].start()
        self.clients = {broker_id: Librdkafka(broker.bootstrap) for broker_id, broker in self.brokers.items()}
        self.wait_for_members(APACHE, OURS)

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.zk.stop()
        self.zk.close()

    def kill(self, broker_id: int) -> None:
        """As kill -9 does; its session ends at once."""
        self.brokers[broker_id].kill()
        end_session(self.connect, broker_id)

    @property
    def controller(self) -> int | None:
        found = self.document("/controller")
        return None if found is None else int(found["brokerid"])

    def document(self, path: str) -> dict[str, Any] | None:
        """The data of a znode; None while there is none, as between two controllers."""
        try:
            found: dict[str, Any] = json.loads(self.zk.get(path)[0])
        except NoNodeError:
            return None
        return found

    def eventually(self, condition: Callable[[], object], what: str) -> None:
        """Wait on the gevent loop; what is told when it was in vain shows who lost a session or a leadership."""
        eventually(condition, PATIENCE_FOR_STATES_S, lambda: f"not so: {what}\n{self.described()}")

    def described(self) -> str:
        lines = described(self.zk)
        for broker_id, broker in self.brokers.items():
            lines.append(f"--- broker {broker_id}, running: {broker.process.is_running}")
            # Our controller has a file of its own; Apache's output has everything.
            for log in (broker.process.log, broker.folder / "logs" / "controller.log"):
                if log.exists():
                    lines += log.read_text(errors="replace").splitlines()[-LINES_TOLD:]
        return "\n".join(lines)

    def wait_for_controller(self, broker_id: int) -> None:
        self.eventually(lambda: self.controller == broker_id, f"{broker_id} is controller")

    def wait_for_members(self, *broker_ids: int) -> None:
        """Every one of the brokers knows them all."""
        for broker_id in broker_ids:
            admin = self.clients[broker_id].admin
            self.eventually(
                lambda admin=admin: set(admin.list_topics(timeout=PATIENCE_S).brokers) == set(broker_ids),
                f"{broker_id} knows {broker_ids}",
            )

    def state(self, topic: str, partition: int = 0) -> tuple[int, set[int]]:
        """The leader and the ISR, as ZooKeeper has them."""
        state = self.document(state_path(topic, partition))
        return (-1, set()) if state is None else (int(state["leader"]), set(state["isr"]))

    def wait_for(self, topic: str, leader: int, isr: set[int], partition: int = 0) -> None:
        what = f"{topic}-{partition} is led by {leader} with the ISR {isr}"
        self.eventually(lambda: self.state(topic, partition) == (leader, isr), what)

    def wait_for_equal_segments(self, topic: str, partition: int = 0) -> None:
        self.eventually(
            lambda: self.segments(APACHE, topic, partition) == self.segments(OURS, topic, partition),
            f"the logs of {topic}-{partition} are equal",
        )

    def create(self, topic: str, assignment: list[list[int]], **configs: str) -> None:
        given = {key.replace("_", "."): value for key, value in configs.items()}
        new = NewTopic(topic, len(assignment), replica_assignment=assignment, config=given)
        # By whichever broker: a client is sent on to the controller.
        self.clients[APACHE].admin.create_topics([new], operation_timeout=PATIENCE_S)[topic].result(PATIENCE_S)
        for partition, replicas in enumerate(assignment):
            self.wait_for(topic, replicas[0], set(replicas), partition)
        running = [broker.bootstrap for broker in self.brokers.values() if broker.process.is_running]
        wait_until_led(*running, topics=(topic,), partitions=len(assignment))

    def segments(self, broker_id: int, topic: str, partition: int = 0) -> bytes:
        """The bytes of a replica's log."""
        folder = self.brokers[broker_id].log_dir / f"{topic}-{partition}"
        return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))

    def read(self, via: int, topic: str, count: int, partition: int = 0) -> list[Written]:
        return [as_written(message) for message in self.clients[via].read(topic, count, partition=partition)]


@pytest.fixture(params=[APACHE, OURS], ids=["apache-controls", "we-control"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path, zookeeper_connect: str) -> Iterator[Cluster]:
    made = Cluster(tmp_path, zookeeper_connect, controller=request.param)
    yield made
    made.close()


def test_a_cluster_of_both_replicates_serves_and_survives(cluster: Cluster) -> None:
    first_controller = cluster.controller
    assert first_controller is not None

    # Ours is the only replica; whichever broker the clients know, they are sent to the leader.
    cluster.create("only-ours", [[OURS]])
    for via in (APACHE, OURS):
        cluster.clients[via].write("only-ours", RECORDS, enable_idempotence=True)
    assert cluster.read(APACHE, "only-ours", 2 * len(RECORDS)) == RECORDS * 2

    # Each leads one partition and follows in the other, whatever the codec; the logs are equal byte for byte.
    cluster.create("both", [[APACHE, OURS], [OURS, APACHE]], min_insync_replicas="2")
    for partition, leader in enumerate((APACHE, OURS)):
        for codec in CODECS:
            cluster.clients[leader].write("both", RECORDS, partition=partition, acks="all", compression_type=codec)
        total = len(CODECS) * len(RECORDS)
        assert cluster.read(OURS, "both", total, partition) == RECORDS * len(CODECS)
        cluster.wait_for_equal_segments("both", partition)
        assert len(cluster.segments(OURS, "both", partition)) > 10_000

    # A group keeps its place in __consumer_offsets, whoever coordinates it.
    check_group(cluster, "both")

    # The follower or leader that is not controller leaves in an orderly way, and comes back into the ISR.
    other = OURS if first_controller == APACHE else APACHE
    cluster.brokers[other].stop()
    for partition in range(2):
        cluster.wait_for("both", first_controller, {first_controller}, partition)
    cluster.brokers[other].start()
    for partition in range(2):
        cluster.wait_for("both", first_controller, {APACHE, OURS}, partition)

    # Leadership goes back to the preferred replicas when a tool asks.
    elect = ("org.apache.kafka.tools.LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
    run = run_tool(*elect, "--bootstrap-server", cluster.brokers[APACHE].bootstrap)
    assert run.exit_code == 0, run
    cluster.wait_for("both", APACHE, {APACHE, OURS}, 0)
    cluster.wait_for("both", OURS, {APACHE, OURS}, 1)

    # The controller is killed: the other takes over control and leadership, with every record.
    cluster.kill(first_controller)
    cluster.wait_for_controller(other)
    for partition in range(2):
        cluster.wait_for("both", other, {other}, partition)
    survivors = Librdkafka(cluster.brokers[other].bootstrap)
    total = len(CODECS) * len(RECORDS)
    for partition in range(2):
        read = [as_written(message) for message in survivors.read("both", total, partition=partition)]
        assert read == RECORDS * len(CODECS)
    survivors.admin.create_topics([NewTopic("later", 1, 1)], operation_timeout=PATIENCE_S)["later"].result(PATIENCE_S)
    survivors.write("later", RECORDS)

    # It comes back as a follower of the one that took over.
    cluster.brokers[first_controller].start()
    for partition in range(2):
        cluster.wait_for("both", other, {APACHE, OURS}, partition)
    producer_side = Librdkafka(cluster.brokers[first_controller].bootstrap)
    for partition in range(2):
        producer_side.write("both", RECORDS, partition=partition, acks="all")
        cluster.wait_for_equal_segments("both", partition)

    # Topics are deleted on both.
    deleted = survivors.admin.delete_topics(["both", "only-ours"], operation_timeout=PATIENCE_S)
    for future in deleted.values():
        future.result(PATIENCE_S)
    cluster.eventually(
        lambda: not {"both", "only-ours"} & set(cluster.zk.get_children("/brokers/topics")), "the topics are deleted"
    )
    for broker in cluster.brokers.values():
        assert not [path for path in broker.log_dir.glob("both-*") if not path.name.endswith("-delete")]


@pytest.mark.parametrize("cluster", [OURS], ids=["we-control"], indirect=True)
def test_a_producer_and_its_records_live_through_restarts_and_crashes_of_each(cluster: Cluster) -> None:
    """Idempotent, acks=all: whatever broker goes and however, each record is there once and in order."""
    cluster.create("load", [[APACHE, OURS], [OURS, APACHE]])
    load = Load(",".join(broker.bootstrap for broker in cluster.brokers.values()))
    load.start()
    for leaver, how in ((APACHE, "stop"), (OURS, "stop"), (APACHE, "kill"), (OURS, "kill")):
        stays = APACHE + OURS - leaver
        load.wait_for_more()
        broker = cluster.brokers[leaver]
        if how == "stop":
            broker.stop()
        else:
            cluster.kill(leaver)
        for partition in range(2):
            cluster.wait_for("load", stays, {stays}, partition)
        load.wait_for_more()
        broker.start()
        for partition in range(2):
            cluster.wait_for("load", stays, {APACHE, OURS}, partition)
    counts = load.stop()
    assert load.refused == []
    for partition, count in enumerate(counts):
        found = [int(record.value or b"-1") for record in cluster.read(OURS, "load", count, partition)]
        assert found == list(range(count))
        end = cluster.clients[APACHE].consumer().get_watermark_offsets(TopicPartition("load", partition), PATIENCE_S)
        assert end == (0, count)
        cluster.wait_for_equal_segments("load", partition)


class Load(threading.Thread):
    """Produces numbers, each partition its own, until it is stopped."""

    PAUSE_S = 0.002

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.refused: list[str] = []
        self.delivered_count = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "reconnect.backoff.max.ms": 200,
                "retry.backoff.ms": 20,
                "topic.metadata.refresh.fast.interval.ms": 50,
                "log_level": 0,
            }
        )
        self._counts = [0, 0]
        self._ends = threading.Event()

    def run(self) -> None:
        while not self._ends.wait(self.PAUSE_S):
            for partition, count in enumerate(self._counts):
                self._producer.produce("load", b"%d" % count, partition=partition, on_delivery=self._told)
                self._counts[partition] += 1
            self._producer.poll(0)
        self._producer.flush(PATIENCE_S)

    def _told(self, error: object, _: object) -> None:
        if error is None:
            self.delivered_count += 1
        else:
            self.refused.append(str(error))

    def wait_for_more(self, count: int = 200) -> None:
        wanted = self.delivered_count + count
        eventually(lambda: self.delivered_count >= wanted, 60)

    def stop(self) -> list[int]:
        """How many were produced to each partition, once all are acknowledged."""
        self._ends.set()
        self.join()
        return self._counts


def check_group(cluster: Cluster, topic: str) -> None:
    for via in (APACHE, OURS):
        consumer = cluster.clients[via].consumer(group_id="g", session_timeout_ms=6_000)
        consumer.subscribe([topic])
        cluster.eventually(lambda consumer=consumer: consumer.poll(0.2) is not None, f"{via} gives the group a record")
        consumer.commit(asynchronous=False)
        cluster.clients[via].leave(consumer)
    described = run_tool(
        *("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe", "--group", "g"),
        # Where an answer takes longer than its five seconds it prints an error, and ends with 0.
        *("--bootstrap-server", cluster.brokers[OURS].bootstrap, "--timeout", "60000"),
    )
    assert described.exit_code == 0, described
    assert sum(line.startswith("g ") for line in described.stdout.splitlines()) >= 1, described
