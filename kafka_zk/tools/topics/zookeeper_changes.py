"""kafka-topics.sh --zookeeper: topics created, altered and marked for deletion by writing to ZooKeeper.

Role        Decides by the rules of 2.8 and writes. A controller, when there is one, sees the znodes and does the rest;
            it also gives a topic its id.
Invariants  A topic's configs are written before the topic. A known topic id is written back.
Source      kafka.admin.TopicCommand and AdminZkClient of 2.8.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_zk.admin.assignment import Assignment, BrokerRack, assign_more_replicas, assign_replicas
from kafka_zk.protocol.errors import (
    BrokerNotAvailable,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidTopicException,
    TopicAlreadyExists,
)
from kafka_zk.protocol.internal_topics import INTERNAL_TOPICS
from kafka_zk.tools.common.java_output import JavaError, illegal_argument
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.topics.configs import check_names, check_overrides
from kafka_zk.tools.topics.options import COLLISION_WARNING, configs, replica_assignment
from kafka_zk.zk.entity_configs import announce_config_change, entity_config
from kafka_zk.zk.errors import BadVersion, NodeExists, NoNode
from kafka_zk.zk.registration import live_brokers
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.topics import topic_names, versioned_topic_assignment, write_topic_assignment
from kafka_zk.zk.znodes import (
    ConfigEntityZNode,
    DeleteTopicsTopicZNode,
    PartitionReplicas,
    TopicAssignment,
    TopicZNode,
)

PARTITIONS_WARNING = (
    "WARNING: If partitions are increased for a topic that has a key, "
    "the partition logic or ordering of the messages will be affected"
)
CONFIG_WARNING = (
    "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future "
    "releases.\n         Going forward, please use kafka-configs.sh for this functionality"
)
NAME_LENGTH_MAX = 249


def _admin_operation_failed(message: str) -> JavaError:
    return JavaError(message, "kafka.admin.AdminOperationException")


# --- create ----------------------------------------------------------------------------------------------------------


def create(options: Options, zk: ZkClient) -> None:
    """Blocks. Write a new topic, on brokers chosen here unless they are given."""
    name = options.text("topic") or ""
    partition_count, replication_factor = options.integer("partitions"), options.integer("replication-factor")
    assignment = replica_assignment(options)
    overrides = _checked_configs(options)
    if "." in name or "_" in name:
        print(COLLISION_WARNING)
    if not assignment:
        brokers = _broker_racks(zk, disable_rack_aware=options.has("disable-rack-aware"))
        assignment = assign_replicas(
            brokers,
            partition_count=partition_count or 0,
            replication_factor=replication_factor or 0,
            start_index=random.randrange(max(1, len(brokers))),
            shift=random.randrange(max(1, len(brokers))),
        )
    try:
        _write_new_topic(name, assignment, overrides, zk)
    except TopicAlreadyExists:
        if options.has("if-not-exists"):
            return
        raise
    print(f"Created topic {name}.")


def _checked_configs(options: Options) -> dict[str, str]:
    overrides = configs(options)
    if overrides:
        check_overrides(overrides)
    return overrides


def _broker_racks(zk: ZkClient, *, disable_rack_aware: bool) -> list[BrokerRack]:
    brokers = live_broker_racks(zk)
    if disable_rack_aware:
        return [BrokerRack(broker.broker_id) for broker in brokers]
    if len({broker.rack is None for broker in brokers}) > 1:
        raise _admin_operation_failed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    return brokers


def live_broker_racks(zk: ZkClient) -> list[BrokerRack]:
    """Blocks. The registered brokers by id; empty if there is no cluster."""
    try:
        return [BrokerRack(broker_id, broker.rack) for broker_id, broker in sorted(live_brokers(zk).items())]
    except NoNode:
        return []


def _write_new_topic(name: str, assignment: Assignment, overrides: Mapping[str, str], zk: ZkClient) -> None:
    _check_name(name)
    existing = _existing_topics(zk)
    if name in existing:
        raise TopicAlreadyExists(f"Topic '{name}' already exists.")
    if "." in name or "_" in name:
        colliding = [other for other in existing if other.replace(".", "_") == name.replace(".", "_")]
        if colliding:
            raise InvalidTopicException(f"Topic '{name}' collides with existing topics: {', '.join(colliding)}")
    _write_overrides(name, overrides, zk)
    partitions = {index: PartitionReplicas(tuple(replicas)) for index, replicas in assignment.items()}
    try:
        zk.create(TopicZNode.path(name), TopicZNode.encode(TopicAssignment(partitions)), make_parents=True)
    except NodeExists as error:
        raise TopicAlreadyExists(f"Topic '{name}' already exists.") from error


def _existing_topics(zk: ZkClient) -> list[str]:
    try:
        return topic_names(zk)
    except NoNode:
        if zk.exists("/") is None:
            raise JavaError(
                "KeeperErrorCode = NoNode for /config/topics", "org.apache.zookeeper.KeeperException$NoNodeException"
            ) from None
        return []


def _check_name(name: str) -> None:
    if not name:
        raise InvalidTopicException("Topic name is illegal, it can't be empty")
    if name in (".", ".."):
        raise InvalidTopicException('Topic name cannot be "." or ".."')
    if len(name) > NAME_LENGTH_MAX:
        raise InvalidTopicException(
            f"Topic name is illegal, it can't be longer than {NAME_LENGTH_MAX} characters, Topic name: {name}"
        )
    if not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
        raise InvalidTopicException(
            f'Topic name "{name}" is illegal, it contains a character other than ASCII alphanumerics, '
            "'.', '_' and '-'"
        )


def _write_overrides(topic: str, overrides: Mapping[str, str], zk: ZkClient) -> None:
    """Not checked against the controller: the tool of 2.8 works on a cluster that is down, too."""
    path, data = ConfigEntityZNode.path(f"topics/{topic}"), ConfigEntityZNode.encode(overrides)
    try:
        zk.set(path, data)
    except NoNode:
        try:
            zk.create(path, data, make_parents=True)
        except NodeExists:
            zk.set(path, data)


# --- alter -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """What --alter asks for; None leaves things as they are."""

    overrides: Mapping[str, str]
    removed_overrides: Sequence[str]
    partition_count: int | None
    assignment: Assignment
    disable_rack_aware: bool

    @property
    def changes_configs(self) -> bool:
        return bool(self.overrides or self.removed_overrides)


def read_change(options: Options) -> Change:
    """The values of --alter. Raises InvalidConfig and other errors for wrong values."""
    removed = [name.strip() for name in options.texts("delete-config")]
    if removed:
        check_names(removed)
    return Change(
        overrides=_checked_configs(options),
        removed_overrides=removed,
        partition_count=options.integer("partitions"),
        assignment=replica_assignment(options),
        disable_rack_aware=options.has("disable-rack-aware"),
    )


def alter(names: Sequence[str], change: Change, zk: ZkClient) -> None:
    """Blocks. Change the configs of topics, then add partitions."""
    for name in names:
        if change.changes_configs:
            print(CONFIG_WARNING)
            _change_configs(name, change, zk)
            print(f"Updated config for topic {name}.")
        if change.partition_count is not None:
            print(PARTITIONS_WARNING)
            _add_partitions(name, change, change.partition_count, zk)
            print("Adding partitions succeeded!")


def _change_configs(name: str, change: Change, zk: ZkClient) -> None:
    overrides = {**entity_config(zk, f"topics/{name}"), **change.overrides}
    for removed in change.removed_overrides:
        overrides.pop(removed, None)
    check_overrides(overrides)
    _write_overrides(name, overrides, zk)
    announce_config_change(zk, f"topics/{name}")


def _add_partitions(name: str, change: Change, total_count: int, zk: ZkClient) -> None:
    if name in INTERNAL_TOPICS:
        raise illegal_argument(f"The number of partitions for the internal topic {name} cannot be changed.")
    found = versioned_topic_assignment(zk, name)
    if found is None or not found[0].partitions:
        raise InvalidTopicException(f"The topic {name} does not exist")
    topic, zk_version = found
    existing = {index: list(replicas.replicas) for index, replicas in topic.partitions.items()}
    brokers = _broker_racks(zk, disable_rack_aware=change.disable_rack_aware)
    if 0 not in existing:
        raise _admin_operation_failed(
            f"Unexpected existing replica assignment for topic '{name}', partition id 0 is missing."
        )
    if total_count <= len(existing):
        raise InvalidPartitions(
            f"The number of partitions for a topic can only be increased. Topic {name} currently has "
            f"{len(existing)} partitions, {total_count} would not be an increase."
        )
    given = {index: replicas for index, replicas in change.assignment.items() if index >= len(existing)}
    if given:
        _check_given(given, len(existing[0]), {broker.broker_id for broker in brokers})
    added = given or assign_more_replicas(brokers, existing, total_count)
    partitions = dict(topic.partitions) | {index: PartitionReplicas(tuple(ids)) for index, ids in added.items()}
    try:
        write_topic_assignment(zk, name, TopicAssignment(partitions, topic.topic_id), zk_version=zk_version)
    except BadVersion:
        raise _admin_operation_failed(f"The partitions of topic {name} have been changed by somebody else.") from None


def _check_given(given: Assignment, factor: int, live: set[int]) -> None:
    for index, replicas in given.items():
        named = ", ".join(map(str, replicas))
        if len(replicas) != len(set(replicas)):
            raise InvalidReplicaAssignment(
                f"Duplicate brokers not allowed in replica assignment: {named} for partition id {index}."
            )
        if not live.issuperset(replicas):
            raise BrokerNotAvailable(
                f"Some brokers specified for partition id {index} are not available. Specified brokers: {named}, "
                f"available brokers: {', '.join(map(str, sorted(live)))}."
            )
    uneven = {index: len(replicas) for index, replicas in sorted(given.items()) if len(replicas) != factor}
    if uneven:
        raise InvalidReplicaAssignment(
            f"Inconsistent replication factor between partitions, partition 0 has {factor} while partitions "
            f"[{', '.join(map(str, uneven))}] have replication factors "
            f"[{', '.join(map(str, uneven.values()))}], respectively."
        )


# --- delete ----------------------------------------------------------------------------------------------------------


def delete(names: Sequence[str], zk: ZkClient) -> None:
    """Blocks. Ask the controller to delete topics."""
    for name in names:
        if name in INTERNAL_TOPICS:
            raise _admin_operation_failed(
                f"Topic {name} is a kafka internal topic and is not allowed to be marked for deletion."
            )
        try:
            zk.create(DeleteTopicsTopicZNode.path(name), make_parents=True)
        except NodeExists:
            print(f"Topic {name} is already marked for deletion.")
            continue
        print(f"Topic {name} is marked for deletion.")
        print("Note: This will have no impact if delete.topic.enable is not set to true.")
