"""Our controller leads a cluster whose partitions live on Apache Kafka 3.9.1 brokers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Assigned

from kafka_zk.controller import events
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk import cluster
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import create_topic, mark_for_deletion, partition_leaderships, topic_names
from kafka_zk.zk.znodes import PartitionLeadership, PartitionReplicas, TopicAssignment
from tests.integration.controller.listening_broker import ListeningBroker
from tests.support.apache import ApacheBroker
from tests.support.processes import free_port
from tests.support.znodes import end_session
from tests.support.zookeeper import eventually

PARTITION = TopicPartition("t", 0)
RECORDS = [f"record {number}".encode() for number in range(200)]


class BrokerWithClientListener(ApacheBroker):
    """Clients get a listener of their own, so that they are not sent to our broker, which serves no clients."""

    def __init__(self, folder: Path, connect: str, *, broker_id: int) -> None:
        super().__init__(folder, connect, broker_id=broker_id)
        listeners = f"CLIENT://127.0.0.1:{self.port},PLAINTEXT://127.0.0.1:{free_port()}"
        self._properties |= {
            "listeners": listeners,
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }


class ApacheCluster:
    """Broker 1 is ours and only controls; brokers 2 and 3 are Apache's and hold the data."""

    def __init__(self, folder: Path, connect: str) -> None:
        self._connect = connect
        self.zk = ZkClient(connect, session_timeout_ms=30_000)
        self.zk.start()
        cluster.create_top_level_paths(self.zk)
        self.ours = ListeningBroker(1, self.zk).start()
        eventually(lambda: self.ours.controller.is_active)
        self.apache = {id: BrokerWithClientListener(folder / str(id), connect, broker_id=id) for id in (2, 3)}
        for broker_id in self.apache:
            self.start(broker_id)
        self.wait(lambda: self.ours.told.live_brokers == [1, 2, 3])

    def stop(self) -> None:
        for broker in self.apache.values():
            broker.kill()
        self.ours.stop()
        self.zk.close()

    def start(self, broker_id: int) -> None:
        self.in_thread(self.apache[broker_id].start)

    def kill(self, broker_id: int) -> None:
        """As kill -9 does; its session ends at once."""
        self.apache[broker_id].kill()
        end_session(self._connect, broker_id)

    def wait(self, condition) -> None:
        eventually(condition, 60)

    @property
    def state(self) -> PartitionLeadership:
        return partition_leaderships(self.zk, [PARTITION])[PARTITION]

    def produce(self, broker_id: int) -> None:
        outcomes: list[object] = []
        producer = Producer({"bootstrap.servers": self.apache[broker_id].bootstrap, "enable.idempotence": True})
        for record in RECORDS:
            producer.produce("t", record, on_delivery=lambda error, _: outcomes.append(error))
        self.in_thread(lambda: producer.flush(30))
        assert outcomes == [None] * len(RECORDS)

    def read(self, broker_id: int, count: int) -> list[bytes]:
        settings = {"bootstrap.servers": self.apache[broker_id].bootstrap, "group.id": "g", "enable.auto.commit": False}
        consumer = Consumer(settings)
        consumer.assign([Assigned("t", 0, 0)])
        try:
            messages = self.in_thread(lambda: consumer.consume(count, 30))
        finally:
            self.in_thread(consumer.close)
        return [message.value() for message in messages]

    @staticmethod
    def in_thread(call):
        """Blocks, but only this greenlet: our controller goes on meanwhile."""
        return gevent.get_hub().threadpool.apply(call)


@pytest.fixture
def apache_cluster(tmp_path: Path, zookeeper_connect: str) -> Iterator[ApacheCluster]:
    made = ApacheCluster(tmp_path, zookeeper_connect)
    yield made
    made.stop()


def test_apache_brokers_serve_move_and_delete_a_topic_under_our_controller(apache_cluster: ApacheCluster) -> None:
    create_topic(apache_cluster.zk, "t", TopicAssignment({0: PartitionReplicas((2, 3))}, uuid.uuid4()), {})
    apache_cluster.wait(lambda: PARTITION in apache_cluster.ours.told.metadata)
    apache_cluster.produce(2)
    assert apache_cluster.read(2, len(RECORDS)) == RECORDS

    # The leader dies: the follower leads, with every record.
    apache_cluster.kill(2)
    apache_cluster.wait(lambda: apache_cluster.state.leader == 3)
    assert apache_cluster.read(3, len(RECORDS)) == RECORDS
    apache_cluster.produce(3)

    # It comes back, catches up, and its leader asks our controller to take it into the ISR.
    apache_cluster.start(2)
    apache_cluster.wait(lambda: set(apache_cluster.state.isr) == {2, 3})
    election = events.ReplicaLeaderElection((PARTITION,), events.ElectionType.PREFERRED)
    assert apache_cluster.ours.controller.submit(election).result(30_000) == {PARTITION: 2}
    assert apache_cluster.read(2, 2 * len(RECORDS)) == RECORDS * 2

    # It stops in an orderly way: its leadership is handed over before.
    epoch = apache_cluster.state.leader_epoch
    apache_cluster.in_thread(apache_cluster.apache[2].stop)
    assert (apache_cluster.state.leader, apache_cluster.state.leader_epoch) == (3, epoch + 1)
    apache_cluster.start(2)
    apache_cluster.wait(lambda: set(apache_cluster.state.isr) == {2, 3})

    mark_for_deletion(apache_cluster.zk, "t")
    apache_cluster.wait(lambda: "t" not in topic_names(apache_cluster.zk))
    for broker in apache_cluster.apache.values():
        assert not (broker.log_dir / "t-0").exists()
