"""Clusters that transactions run on, by the kinds of their brokers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka
from tests.support.processes import wait_until
from tests.support.znodes import wait_until_unregistered

Broker = ApacheBroker | OurBroker
APACHE_ONLY = "apache"
OURS, MIXED = "ours", "mixed"
CLUSTERS = {
    APACHE_ONLY: (ApacheBroker, ApacheBroker),
    OURS: (OurBroker, OurBroker),
    MIXED: (ApacheBroker, OurBroker),
}
"""The kinds of brokers 0 and 1."""
REPLICATED = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "default.replication.factor",
)
SETTINGS = {
    "zookeeper.session.timeout.ms": "3000",
    "group.min.session.timeout.ms": "1000",
    "replica.fetch.wait.max.ms": "50",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class Cluster:
    """A broker of each of `kinds`; each topic has a replica on each of them."""

    def __init__(self, folder: Path, connect: str, kinds: Sequence[type[Broker]]) -> None:
        self._connect = connect
        settings = {**SETTINGS, **dict.fromkeys(REPLICATED, str(len(kinds)))}
        self.brokers = [
            kind(folder / str(number), connect, broker_id=number, overrides=settings)
            for number, kind in enumerate(kinds)
        ]
        for broker in self.brokers:
            broker.start()
        self.bootstrap = ",".join(broker.bootstrap for broker in self.brokers)
        self.clients = Librdkafka(self.bootstrap)
        self.wait_for_all()

    def wait_for_all(self) -> None:
        admin = self.clients.admin
        wait_until(lambda: len(admin.list_topics(timeout=PATIENCE_S).brokers) == len(self.brokers), "all are known")

    def create(self, topic: str, partitions: int) -> None:
        """With a replica on each broker; librdkafka does not look for a new controller by itself."""

        def is_made() -> bool:
            try:
                self.clients.admin.create_topics([NewTopic(topic, partitions, len(self.brokers))])[topic].result()
            except KafkaException as error:
                assert error.args[0].code() == KafkaError.NOT_CONTROLLER, error
                return False
            return True

        wait_until(is_made, f"{topic} is made")

    def kill_and_start(self, number: int) -> None:
        """As kill -9 does. Apache's must wait for its last session to end; ours ends it by itself."""
        broker = self.brokers[number]
        broker.kill()
        if isinstance(broker, ApacheBroker):
            wait_until_unregistered(self._connect, number)
        broker.start()

    def close(self) -> None:
        self.clients.close()
        for broker in self.brokers:
            broker.kill()
