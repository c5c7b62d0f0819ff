"""Plain values that the admin client takes and returns.

Role        Pure.
Source      org.apache.kafka.clients.admin: TopicListing, TopicDescription, TopicPartitionInfo, ConfigEntry, NewTopic,
            PartitionReassignment, DescribeClusterResult, AlterConfigOp.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from kafka_zk.protocol.messages.metadata import MetadataResponseTopic


class TopicListing(NamedTuple):
    """One topic of a list."""

    name: str
    topic_id: UUID
    is_internal: bool


@dataclass(frozen=True, slots=True)
class TopicPartitionInfo:
    """A partition as metadata shows it. `leader` is None where there is none or it is not alive."""

    partition: int
    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic and its partitions, in the order of the answer."""

    name: str
    topic_id: UUID
    is_internal: bool
    partitions: Sequence[TopicPartitionInfo]


@dataclass(frozen=True, slots=True)
class PartitionReassignment:
    """A reassignment under way."""

    replicas: Sequence[int]
    adding_replicas: Sequence[int]
    removing_replicas: Sequence[int]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. None means the brokers' default; an assignment excludes both counts."""

    name: str
    partition_count: int | None = None
    replication_factor: int | None = None
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


class ResourceType(IntEnum):
    """What a configuration belongs to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16


class ConfigResource(NamedTuple):
    """One topic or broker; an empty broker name is the default of all brokers."""

    type: ResourceType
    name: str


class ConfigSource(IntEnum):
    """Where a value comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config value; None if it is sensitive or unset. `synonyms` are (name, value, source)."""

    name: str
    value: str | None
    source: int
    is_sensitive: bool
    is_read_only: bool
    synonyms: Sequence[tuple[str, str | None, int]] = ()

    @property
    def is_default(self) -> bool:
        return self.source == ConfigSource.DEFAULT_CONFIG


class ConfigOperation(IntEnum):
    """How IncrementalAlterConfigs changes one key; APPEND and SUBTRACT are for lists."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    """One change of one key; a deletion needs no value."""

    name: str
    operation: ConfigOperation
    value: str | None = None


class Node(NamedTuple):
    """A broker as clients reach it."""

    id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster id, the brokers, and the controller's id (-1: none)."""

    cluster_id: str
    controller_id: int
    nodes: Sequence[Node]


def topic_description(topic: MetadataResponseTopic, live_brokers: Collection[int]) -> TopicDescription:
    """The description in a metadata answer that named `live_brokers`."""
    return TopicDescription(
        topic.name or "",
        topic.topic_id,
        topic.is_internal,
        [
            TopicPartitionInfo(
                partition.partition_index,
                partition.leader_id if partition.leader_id in live_brokers else None,
                partition.replica_nodes,
                partition.isr_nodes,
            )
            for partition in topic.partitions
        ],
    )
