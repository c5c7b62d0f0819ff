"""An immutable snapshot of the cluster: brokers, topics, partitions.

Role        Pure data. A snapshot is never changed; `next_snapshot` makes the following one from an UpdateMetadata.
Invariants  A topic has at least one partition. Topic ids and names map one to one.
            Objects of topics that an update does not name are shared between the old snapshot and the new one.
Source      Kafka 3.9 ZkMetadataCache: MetadataSnapshot, updateMetadata, removePartitionInfo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_zk.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

LEADER_DURING_DELETE = -2
"""The leader that UpdateMetadata names for a partition of a deleted topic: it leaves the cache."""

NO_CONTROLLER = -1

SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


class Node(NamedTuple):
    """A broker as one listener shows it."""

    id: int
    host: str
    port: int
    rack: str | None


class Endpoint(NamedTuple):
    """Where one listener of a broker is reached."""

    host: str
    port: int
    security_protocol: int


class AliveBroker(NamedTuple):
    """A registered broker with all its listeners."""

    id: int
    rack: str | None
    endpoints: Mapping[str, Endpoint]

    def node(self, listener_name: str) -> Node | None:
        """The broker on that listener; None when it does not have it."""
        endpoint = self.endpoints.get(listener_name)
        return None if endpoint is None else Node(self.id, endpoint.host, endpoint.port, self.rack)


class PartitionState(NamedTuple):
    """One partition as the controller last told. `partition_epoch` is the version of its state znode."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    partition_epoch: int
    controller_epoch: int


class TopicState(NamedTuple):
    """One topic: `topic_id` is the null UUID when the controller knows none."""

    name: str
    topic_id: UUID
    partitions: Mapping[int, PartitionState]


class Snapshot(NamedTuple):
    """The whole picture."""

    controller_id: int
    brokers: Mapping[int, AliveBroker]
    topics: Mapping[str, TopicState]
    names_by_id: Mapping[UUID, str]


class Update(NamedTuple):
    """A new snapshot and what it changed."""

    snapshot: Snapshot
    changed_topics: list[str]
    deleted_partitions: list[TopicPartition]


EMPTY_SNAPSHOT = Snapshot(NO_CONTROLLER, {}, {}, {})


def next_snapshot(old: Snapshot, request: UpdateMetadataRequest) -> Update:
    """The picture after `request`. Brokers and controller are replaced; partitions are merged, without any epoch check.

    Costs the size of the request and, when it names partitions, one shallow copy of the topic map.
    """
    brokers = {broker.id: _alive_broker(broker) for broker in request.live_brokers}
    controller_id = max(request.controller_id, NO_CONTROLLER)
    listed = list(listed_topics(request))
    if not listed:
        return Update(Snapshot(controller_id, brokers, old.topics, old.names_by_id), [], [])
    topics = dict(old.topics)
    names_by_id = dict(old.names_by_id)
    deleted: list[TopicPartition] = []
    for name, topic_id, states in listed:
        before = topics.pop(name, None)
        if before is not None:
            names_by_id.pop(before.topic_id, None)
        partitions = dict(before.partitions) if before is not None else {}
        if before is not None and NULL_UUID not in (topic_id, before.topic_id) and topic_id != before.topic_id:
            # Deleted and recreated while this broker was away: nobody told it of that.
            deleted += [TopicPartition(name, index) for index in partitions]
            partitions = {}
        for state in states:
            if state.leader == LEADER_DURING_DELETE:
                partitions.pop(state.partition_index, None)
                deleted.append(TopicPartition(name, state.partition_index))
            else:
                partitions[state.partition_index] = _partition_state(state)
        if partitions:
            topics[name] = TopicState(name, topic_id, partitions)
            if topic_id != NULL_UUID:
                names_by_id[topic_id] = name
    snapshot = Snapshot(controller_id, brokers, topics, names_by_id)
    return Update(snapshot, [name for name, _, _ in listed], deleted)


def without_topics(old: Snapshot, names: Iterable[str]) -> Update:
    """The picture without the topics of these names."""
    topics, names_by_id = dict(old.topics), dict(old.names_by_id)
    gone = [topics.pop(name) for name in names if name in topics]
    for topic in gone:
        names_by_id.pop(topic.topic_id, None)
    snapshot = Snapshot(old.controller_id, old.brokers, topics, names_by_id)
    deleted = [TopicPartition(topic.name, index) for topic in gone for index in topic.partitions]
    return Update(snapshot, [topic.name for topic in gone], deleted)


def listed_topics(
    request: UpdateMetadataRequest,
) -> Iterable[tuple[str, UUID, Iterable[UpdateMetadataPartitionState]]]:
    """The partitions of a request by topic, whichever layout its version has."""
    for topic in request.topic_states:
        yield topic.topic_name, topic.topic_id, topic.partition_states
    ungrouped: dict[str, list[UpdateMetadataPartitionState]] = {}
    for state in request.ungrouped_partition_states:
        ungrouped.setdefault(state.topic_name, []).append(state)
    for name, states in ungrouped.items():
        yield name, NULL_UUID, states


def _alive_broker(broker: UpdateMetadataBroker) -> AliveBroker:
    """Version 0 knows one plain endpoint, versions before 3 name a listener after its security protocol."""
    endpoints = {
        endpoint.listener or SECURITY_PROTOCOLS[endpoint.security_protocol]: Endpoint(
            endpoint.host, endpoint.port, endpoint.security_protocol
        )
        for endpoint in broker.endpoints
    }
    if not endpoints and broker.v0_host:
        endpoints["PLAINTEXT"] = Endpoint(broker.v0_host, broker.v0_port, 0)
    return AliveBroker(broker.id, broker.rack or None, endpoints)


def _partition_state(state: UpdateMetadataPartitionState) -> PartitionState:
    return PartitionState(
        state.leader,
        state.leader_epoch,
        tuple(state.isr),
        tuple(state.replicas),
        tuple(state.offline_replicas),
        state.zk_version,
        state.controller_epoch,
    )
