"""Creates, enlarges and marks topics for deletion by writing to ZooKeeper; the controller does the rest.

Role        Acts: validates first, then writes the topic's configuration, then the topic itself, so that a broker
            that sees the topic finds its configuration. Any broker may do this, controller or not.
Invariants  Nothing is written before everything was checked (KAFKA-9498). A topic's id is random and never rewritten.
Source      ZkAdminManager, AdminZkClient, DefaultAutoTopicCreationManager.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from kafka_zk.admin.assignment import Assignment, BrokerRack, assign_more_replicas, assign_replicas
from kafka_zk.admin.internal_topics import defaults_of
from kafka_zk.admin.metadata_wait import MetadataWait
from kafka_zk.admin.topic_rules import (
    check_assignment,
    check_collisions,
    check_name,
    check_new_partitions,
)
from kafka_zk.admin.znode_room import check_count, check_fits
from kafka_zk.clock import Clock
from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.describe import ConfigEntry, describe_topic
from kafka_zk.config.errors import ConfigException
from kafka_zk.config.topic import validate_overrides
from kafka_zk.giving_way import in_turns
from kafka_zk.java_hash import in_scala_order, string_hash
from kafka_zk.metadata.cache import MetadataCache
from kafka_zk.protocol.errors import (
    BrokerError,
    InvalidConfig,
    InvalidRequest,
    LeaderNotAvailable,
    ReassignmentInProgress,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from kafka_zk.protocol.types import NULL_UUID, uuid_to_base64
from kafka_zk.zk.errors import BadVersion
from kafka_zk.zk.limits import room_for_data
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.siblings import Siblings
from kafka_zk.zk.topics import (
    create_topic,
    mark_for_deletion,
    topic_assignment,
    topic_names,
    versioned_topic_assignment,
    write_topic_assignment,
)
from kafka_zk.zk.znodes import DeleteTopicsTopicZNode, PartitionReplicas, TopicAssignment, TopicsZNode, TopicZNode
from kafka_zk.zk.znodes.properties_order import in_properties_order

BROKER_DEFAULT = -1
"""A count that the client leaves to the broker's configuration."""

FIRST_WITH_TOPIC_IDS = "2.8-IV0"
"""The first protocol whose topics have ids."""

BeforeChange = Callable[[int], None]
"""Called with the number of partitions once a change is known to be right, before it is made; may refuse it."""

log = logging.getLogger("kafka.zk.AdminZkClient")


@dataclass(frozen=True, slots=True)
class NewTopic:
    """What a client asks for. -1 means the broker's default; an assignment excludes both counts."""

    name: str
    partition_count: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignment: Assignment = field(default_factory=dict)
    configs: Sequence[tuple[str, str | None]] = ()
    """Of a key that comes twice the last value counts; none may be None."""


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A created topic, with all its configs. The id is the null UUID if the topic was only validated, or has none."""

    name: str
    topic_id: UUID
    partition_count: int
    replication_factor: int
    configs: list[ConfigEntry]


class AdminOperationFailed(BrokerError):
    """The topic's znode is inconsistent. Source: AdminOperationException, which has no code of its own."""


class TopicAdmin:
    """Topic creation, growth and deletion on behalf of clients and of this broker."""

    def __init__(
        self,
        zk: ZkClient,
        config: BrokerConfig,
        metadata_cache: MetadataCache,
        clock: Clock,
        chance: random.Random | None = None,
    ) -> None:
        self._zk = zk
        self._config = config
        self._metadata_cache = metadata_cache
        self._chance = chance or random.Random()
        self._being_created: set[str] = set()
        self.waits = MetadataWait("topic", metadata_cache, clock)

    # --- creation ----------------------------------------------------------------------------------------------------

    def create(
        self, topic: NewTopic, *, validate_only: bool = False, before_change: BeforeChange = lambda count: None
    ) -> CreatedTopic:
        """Blocks. Create a topic, or only validate it. Raises the BrokerError for the client."""
        if self._metadata_cache.topic(topic.name) is not None:
            raise TopicAlreadyExists(f"Topic '{topic.name}' already exists.")
        overrides = _checked_overrides(topic.configs)
        if topic.assignment and (topic.partition_count, topic.replication_factor) != (BROKER_DEFAULT, BROKER_DEFAULT):
            raise InvalidRequest(
                "Both numPartitions or replicationFactor and replicasAssignments were set. "
                "Both cannot be used at the same time."
            )
        assignment = topic.assignment or self._assign(topic)
        self._check_new(topic.name, assignment, overrides)
        has_id = self._config.inter_broker_protocol_version.is_at_least(FIRST_WITH_TOPIC_IDS)
        topic_id = _random_topic_id() if has_id else None
        partitions = {
            index: PartitionReplicas(tuple(replicas)) for index, replicas in in_turns(sorted(assignment.items()))
        }
        in_zookeeper = TopicAssignment(partitions, topic_id)
        check_fits(topic.name, in_zookeeper, self._room_for(topic.name))
        if not validate_only:
            before_change(len(assignment))
            log.info(
                "Creating topic %s with configuration %s and initial partition assignment %s",
                topic.name,
                dict(overrides),
                assignment,
            )
            create_topic(self._zk, topic.name, in_zookeeper, overrides)
        return CreatedTopic(
            name=topic.name,
            topic_id=NULL_UUID if validate_only or topic_id is None else topic_id,
            partition_count=len(assignment),
            replication_factor=len(next(iter(assignment.values()))),
            configs=in_scala_order(describe_topic(self._config, overrides), lambda entry: string_hash(entry.name)),
        )

    def auto_create(self, name: str, before_change: BeforeChange = lambda count: None) -> None:
        """Blocks. Create a topic on a metadata request; raises the error that the client gets instead.

        Succeeds also when another broker was faster.
        """
        if name in self._being_created:
            raise UnknownTopicOrPartition
        self._being_created.add(name)
        try:
            defaults = defaults_of(name, self._config)
            configs = tuple(defaults.configs.items())
            topic = NewTopic(name, defaults.partition_count, defaults.replication_factor, configs=configs)
            self.create(topic, before_change=before_change)
        except TopicAlreadyExists:
            raise LeaderNotAvailable from None
        finally:
            self._being_created.discard(name)

    def _assign(self, topic: NewTopic) -> Assignment:
        config = self._config
        count = config.num_partitions if topic.partition_count == BROKER_DEFAULT else topic.partition_count
        factor = config.default_replication_factor
        if topic.replication_factor != BROKER_DEFAULT:
            factor = topic.replication_factor
        brokers = self._broker_racks()
        self._check_count(topic.name, count, brokers, factor)
        return assign_replicas(
            brokers,
            partition_count=count,
            replication_factor=factor,
            start_index=self._chance.randrange(max(1, len(brokers))),
            shift=self._chance.randrange(max(1, len(brokers))),
        )

    def _check_count(self, name: str, count: int, brokers: Sequence[BrokerRack], replication_factor: int) -> None:
        ids = [broker.broker_id for broker in brokers]
        check_count(name, count, self._room_for(name), broker_ids=ids, replication_factor=replication_factor)

    def _room_for(self, name: str) -> int:
        """How many bytes the znode of a topic may hold."""
        return room_for_data(TopicZNode.path(name), max_bytes=self._zk.max_request_bytes)

    def _broker_racks(self) -> list[BrokerRack]:
        return [BrokerRack(broker.id, broker.rack) for broker in self._metadata_cache.all_alive_brokers()]

    def _check_new(self, name: str, assignment: Assignment, overrides: Mapping[str, str]) -> None:
        check_name(name)
        if self._zk.exists(DeleteTopicsTopicZNode.path(name)) is not None:
            raise TopicAlreadyExists(f"Topic '{name}' is marked for deletion.")
        existing = topic_names(self._zk)
        if name in existing:
            raise TopicAlreadyExists(f"Topic '{name}' already exists.")
        check_collisions(name, existing)
        check_assignment(assignment)
        try:
            validate_overrides(self._config, in_properties_order(overrides))
        except ConfigException as error:
            raise InvalidConfig(str(error)) from error

    # --- growth ------------------------------------------------------------------------------------------------------

    def add_partitions(
        self,
        name: str,
        *,
        total_count: int,
        given: Sequence[list[int]] | None,
        validate_only: bool,
        before_change: BeforeChange = lambda count: None,
        there: Siblings | None = None,
    ) -> None:
        """Blocks. Extend a topic to `total_count` partitions, the new ones on the `given` brokers or on chosen ones.

        `there`: the topics, where one request names very many.
        """
        is_worth_a_look = there is None or there.may_have(name)
        found = versioned_topic_assignment(self._zk, name) if is_worth_a_look else None
        if found is None:
            raise UnknownTopicOrPartition(f"The topic '{name}' does not exist.")
        topic, zk_version = found
        if any(partition.adding or partition.removing for partition in topic.partitions.values()):
            raise ReassignmentInProgress(f"A partition reassignment is in progress for the topic '{name}'.")
        existing = {index: list(partition.replicas) for index, partition in topic.partitions.items()}
        if 0 not in existing:
            raise AdminOperationFailed(
                f"Unexpected existing replica assignment for topic '{name}', partition id 0 is missing. "
                f"Assignment: {existing}"
            )
        brokers = self._broker_racks()
        check_new_partitions(
            name,
            existing=existing,
            total_count=total_count,
            given=given,
            live_brokers=[broker.broker_id for broker in brokers],
        )
        if given is None:
            self._check_count(name, total_count, brokers, len(existing[0]))
            added = assign_more_replicas(brokers, existing, total_count)
        else:
            added = dict(in_turns(enumerate(given, len(existing))))
        partitions = dict(topic.partitions) | {i: PartitionReplicas(tuple(r)) for i, r in added.items()}
        assignment = TopicAssignment(partitions, topic.topic_id)
        check_fits(name, assignment, self._room_for(name))
        if not validate_only:
            before_change(len(added))
            log.info("Creating %s partitions for '%s' with the replica assignment %s", len(added), name, added)
            try:
                write_topic_assignment(self._zk, name, assignment, zk_version=zk_version)
            except BadVersion:
                # It has grown or begun to move meanwhile, which Kafka would undo; or it is our own write, sent again.
                if topic_assignment(self._zk, name) != assignment:
                    # The change is counted already.
                    self.add_partitions(name, total_count=total_count, given=given, validate_only=False)

    def topics_there(self) -> Siblings:
        return Siblings(self._zk, TopicsZNode.PATH)

    # --- deletion ----------------------------------------------------------------------------------------------------

    def delete(self, name: str) -> None:
        """Blocks. Ask the controller to delete a topic. Asking twice is the same as asking once."""
        mark_for_deletion(self._zk, name)


def _checked_overrides(configs: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    missing = [name for name, value in configs if value is None]
    if missing:
        raise InvalidConfig(f"Null value not supported for topic configs: {','.join(missing)}")
    return {name: value for name, value in configs if value is not None}


def _random_topic_id() -> UUID:
    """Never one that Kafka reserves, nor one whose text would look like an option to a command-line tool."""
    while True:
        topic_id = uuid4()
        if not uuid_to_base64(topic_id).startswith("-"):
            return topic_id
