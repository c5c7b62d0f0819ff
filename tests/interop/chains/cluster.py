"""Clusters that transactions run on, by the kinds of their brokers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from confluent_kafka import ElectionType, KafkaError, KafkaException
from confluent_kafka.admin import NewTopic, PartitionMetadata

from kafka_zk.coordinator.placement import partition_for
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.describe_groups import DESCRIBE_GROUPS_REQUEST, DescribedGroup, DescribeGroupsRequest
from kafka_zk.protocol.messages.describe_transactions import (
    DESCRIBE_TRANSACTIONS_REQUEST,
    DescribeTransactionsRequest,
    TransactionState,
)
from kafka_zk.protocol.messages.find_coordinator import FIND_COORDINATOR_REQUEST, FindCoordinatorRequest
from tests.support.apache import ApacheBroker
from tests.support.broker import OurBroker
from tests.support.librdkafka import PATIENCE_S, Librdkafka
from tests.support.processes import wait_until
from tests.support.raw_client import RawClient
from tests.support.znodes import end_session

Broker = ApacheBroker | OurBroker
APACHE_ONLY = "apache"
OURS, MIXED = "ours", "mixed"
CLUSTERS = {
    APACHE_ONLY: (ApacheBroker, ApacheBroker),
    OURS: (OurBroker, OurBroker),
    MIXED: (ApacheBroker, OurBroker),
}
"""The kinds of brokers 0 and 1."""
GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
KEY_TYPES = {GROUPS: 0, TRANSACTIONS: 1}
"""What FindCoordinator calls them."""
REPLICATED = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "default.replication.factor",
)
SETTINGS = {
    # A broker that has just started knows no topics yet. One that is to create them, while it is alone, answers
    # INVALID_REPLICATION_FACTOR: Java's consumer leaves the topic out for metadata.max.age.ms, and assigns nothing.
    "auto.create.topics.enable": "false",
    "group.min.session.timeout.ms": "1000",
    "replica.fetch.wait.max.ms": "50",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class Cluster:
    """A broker of each of `kinds`; each topic has a replica on each of them."""

    def __init__(self, folder: Path, connect: str, kinds: Sequence[type[Broker]], **overrides: str) -> None:
        """`auto_create_topics_enable="true"` is the setting auto.create.topics.enable."""
        self._connect = connect
        given = {name.replace("_", "."): value for name, value in overrides.items()}
        settings = {**SETTINGS, **dict.fromkeys(REPLICATED, str(len(kinds))), **given}
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
        """With a replica on each broker, wherever."""
        self._create(NewTopic(topic, partitions, len(self.brokers)))

    def create_on(self, topic: str, partitions: int, replicas: Sequence[int]) -> None:
        """With its replicas on these brokers; the first one is to lead."""
        self._create(NewTopic(topic, partitions, replica_assignment=[list(replicas)] * partitions))

    def _create(self, new: NewTopic) -> None:
        """librdkafka does not look for a new controller by itself: it learns it with the metadata of something else."""
        topic = new.topic

        def is_made() -> bool:
            try:
                self.clients.admin.create_topics([new])[topic].result()
            except KafkaException as error:
                assert error.args[0].code() == KafkaError.NOT_CONTROLLER, error
                self.clients.admin.list_topics(timeout=PATIENCE_S)
                return False
            return True

        self.wait_for_all()
        wait_until(is_made, f"{topic} is made")

    def name_kept_by(self, number: int, prefix: str, internal_topic: str) -> str:
        """A name for a group or a transactional id that this broker is to coordinate."""
        wait_until(lambda: self._named_by(self.brokers[0], prefix, internal_topic) is not None, "the topic is made")
        # One broker may know it already, and another one not yet.
        partitions: dict[int, PartitionMetadata] = {}

        def are_told() -> bool:
            partitions.update(self._partitions_of(internal_topic))
            return bool(partitions)

        wait_until(are_told, f"librdkafka is told of {internal_topic}")
        names = (f"{prefix}-{attempt}" for attempt in count())
        return next(name for name in names if partitions[partition_for(name, len(partitions))].replicas[0] == number)

    def _partitions_of(self, topic: str) -> dict[int, PartitionMetadata]:
        found: dict[int, PartitionMetadata] = self.clients.admin.list_topics(topic, PATIENCE_S).topics[topic].partitions
        return found

    def _named_by(self, broker: Broker, name: str, internal_topic: str) -> int | None:
        """Who coordinates it, if one asks this broker; None where nobody does."""
        request = FindCoordinatorRequest(key_type=KEY_TYPES[internal_topic], coordinator_keys=[name])
        with RawClient(broker.bootstrap) as client:
            (found,) = client.send(FIND_COORDINATOR_REQUEST, request, 4).coordinators
        return found.node_id if ErrorCode(found.error_code) is ErrorCode.NONE else None

    def wait_until_coordinated_by(self, number: int, name: str, internal_topic: str) -> None:
        """Until each broker says so; the controller tells them one after the other."""
        wait_until(
            lambda: all(self._named_by(broker, name, internal_topic) == number for broker in self.brokers),
            f"each broker names {number} for {name}",
        )

    def group_kept_by(self, number: int, group: str) -> DescribedGroup:
        """As this broker describes it, which must coordinate it."""
        request = DescribeGroupsRequest(groups=[group])
        with RawClient(self.brokers[number].bootstrap) as client:
            (found,) = client.send(DESCRIBE_GROUPS_REQUEST, request, 5).groups
        return found

    def let_the_first_lead(self) -> None:
        """Waits until all replicas are in sync, and the first one of each partition leads."""
        admin = self.clients.admin

        def is_so() -> bool:
            found = admin.list_topics(timeout=PATIENCE_S).topics.values()
            partitions = [partition for topic in found for partition in topic.partitions.values()]
            if any(len(partition.isrs) < len(self.brokers) for partition in partitions):
                return False
            if all(partition.leader == partition.replicas[0] for partition in partitions):
                return True
            try:
                admin.elect_leaders(ElectionType.PREFERRED).result()
            except KafkaException as error:
                assert error.args[0].code() == KafkaError.NOT_CONTROLLER, error
            return False

        wait_until(is_so, "the first replica of each partition leads")

    def transactions_kept_by(self, number: int, transactional_ids: Sequence[str]) -> list[TransactionState]:
        """As this broker describes them, which must coordinate them."""
        request = DescribeTransactionsRequest(transactional_ids=list(transactional_ids))
        with RawClient(self.brokers[number].bootstrap) as client:
            found: list[TransactionState] = client.send(DESCRIBE_TRANSACTIONS_REQUEST, request, 0).transaction_states
        for state in found:
            assert ErrorCode(state.error_code) is ErrorCode.NONE, f"{number} does not coordinate {state}"
        return found

    def kill_and_start(self, number: int) -> None:
        """As kill -9 does."""
        self.kill(number)
        self.brokers[number].start()

    def kill(self, number: int) -> None:
        """Its session ends at once, as that of ours does by itself."""
        self.brokers[number].kill()
        self.end_session(number)

    def end_session(self, number: int) -> None:
        """Its registration is gone."""
        end_session(self._connect, number)

    def close(self) -> None:
        self.clients.close()
        for broker in self.brokers:
            broker.kill()
