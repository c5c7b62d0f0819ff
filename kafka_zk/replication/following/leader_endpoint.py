"""A follower's connection to its leader: Fetch and ListOffsets.

Role        Acts: builds requests, sends them, takes answers apart. The versions are those that the inter-broker
            protocol version fixes; no ApiVersions are exchanged.
Source      Kafka 3.9 RemoteLeaderEndPoint, BrokerBlockingSender.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

import gevent

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.config.metadata_version import MetadataVersion
from kafka_zk.metadata.snapshot import Node
from kafka_zk.network.errors import NetworkError
from kafka_zk.protocol.errors import ErrorCode, error_class_for
from kafka_zk.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from kafka_zk.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.replication.following.follower_session import SessionRequest
from kafka_zk.replication.serving.reading import SpecialTimestamp

_FETCH_VERSIONS = (("3.9-IV0", 17), ("3.7-IV4", 16), ("3.5-IV1", 15), ("3.5-IV0", 14), ("3.1-IV0", 13))
_OLDEST_FETCH_VERSION = 12
"""Of protocol 2.7: the first whose answers tell a follower where it diverged."""

_LIST_OFFSETS_VERSIONS = (("3.9-IV0", 9), ("3.5-IV0", 8), ("3.0-IV1", 7))
_OLDEST_LIST_OFFSETS_VERSION = 6

TOPIC_IDS_FROM = 13
REPLICA_STATE_FROM = 15


class Channel(Protocol):
    """What is used of network.channel.BrokerChannel."""

    def send(self, request: Any, api_version: int) -> Any: ...

    def close(self) -> None: ...


Connect = Callable[[Node, str], Channel]
"""Opens a channel to a broker under a client id; blocks, raises NetworkError."""


def fetch_version(protocol: MetadataVersion) -> int:
    """The version of Fetch between brokers of this protocol version."""
    return next((v for since, v in _FETCH_VERSIONS if protocol.is_at_least(since)), _OLDEST_FETCH_VERSION)


def list_offsets_version(protocol: MetadataVersion) -> int:
    return next((v for since, v in _LIST_OFFSETS_VERSIONS if protocol.is_at_least(since)), _OLDEST_LIST_OFFSETS_VERSION)


class LeaderEndpoint:
    """One leader. Every call blocks and raises NetworkError; the next call connects again."""

    def __init__(
        self,
        node: Node,
        *,
        broker_id: int,
        client_id: str,
        config: BrokerConfig,
        broker_epoch: Callable[[], int],
        connect: Connect,
    ) -> None:
        self.node = node
        self._broker_id = broker_id
        self._client_id = client_id
        self._config = config
        self._broker_epoch = broker_epoch
        self._connect = connect
        self._channel: Channel | None = None
        self._connecting: gevent.Greenlet[..., Channel | NetworkError] | None = None
        self._is_stopped = False
        self._fetch_version = fetch_version(config.inter_broker_protocol_version)
        self._list_offsets_version = list_offsets_version(config.inter_broker_protocol_version)

    def fetch(self, asked: SessionRequest) -> FetchResponse:
        """Blocks. One Fetch as a follower."""
        version = self._fetch_version
        partitions = [*asked.wanted.values()]
        if any(entry.state.topic_id == NULL_UUID for entry in partitions) or any(
            state.topic_id == NULL_UUID for state in asked.forgotten.values()
        ):
            version = min(version, TOPIC_IDS_FROM - 1)
        config = self._config
        request = FetchRequest(
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=asked.session_id,
            session_epoch=asked.session_epoch,
            topics=self._topics(asked, version),
            forgotten_topics_data=_forgotten(asked, version),
        )
        if version >= REPLICA_STATE_FROM:
            request.replica_state = ReplicaState(replica_id=self._broker_id, replica_epoch=self._broker_epoch())
        else:
            request.replica_id = self._broker_id
        response: FetchResponse = self._send(request, version)
        return response

    def _topics(self, asked: SessionRequest, version: int) -> list[FetchTopic]:
        topics: dict[str, FetchTopic] = {}
        for topic_partition, (state, log_start_offset) in asked.wanted.items():
            topic = topics.get(topic_partition.topic)
            if topic is None:
                topic = topics[topic_partition.topic] = _fetch_topic(topic_partition.topic, state.topic_id, version)
            topic.partitions.append(
                FetchPartition(
                    partition=topic_partition.partition,
                    current_leader_epoch=state.leader_epoch,
                    fetch_offset=state.fetch_offset,
                    last_fetched_epoch=state.last_fetched_epoch,
                    log_start_offset=log_start_offset,
                    partition_max_bytes=self._config.replica_fetch_max_bytes,
                )
            )
        return list(topics.values())

    def offset_at(self, topic_partition: TopicPartition, leader_epoch: int, timestamp: SpecialTimestamp) -> int:
        """Blocks. The leader's earliest or latest offset. Raises what the leader answers."""
        asked = ListOffsetsPartition(
            partition_index=topic_partition.partition, current_leader_epoch=leader_epoch, timestamp=timestamp
        )
        request = ListOffsetsRequest(
            replica_id=self._broker_id, topics=[ListOffsetsTopic(name=topic_partition.topic, partitions=[asked])]
        )
        response = self._send(request, self._list_offsets_version)
        answered = response.topics[0].partitions[0]
        if answered.error_code != ErrorCode.NONE:
            raise error_class_for(answered.error_code)()
        offset: int = answered.offset
        return offset

    def close(self) -> None:
        """A call that waits for its answer fails with NetworkError."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def stop(self) -> None:
        """A call under way fails with NetworkError, be it still connecting, and so does every later one."""
        self._is_stopped = True
        self.close()
        if self._connecting is not None:
            self._connecting.kill(block=False)

    def _open(self) -> Channel:
        """Blocks until connected, refused or stopped: an address that does not answer keeps only its own greenlet."""
        connecting = self._connecting = gevent.spawn(self._try_to_connect)
        try:
            channel = connecting.get()
        finally:
            self._connecting = None
            connecting.kill(block=False)
        if isinstance(channel, NetworkError):
            raise channel
        is_killed = isinstance(channel, gevent.GreenletExit)
        if self._is_stopped or is_killed:
            if not is_killed:
                channel.close()
            raise NetworkError(f"Fetching from {self.node} was stopped")
        return channel

    def _try_to_connect(self) -> Channel | NetworkError:
        try:
            return self._connect(self.node, self._client_id)
        except NetworkError as error:
            return error

    def _send(self, request: Any, version: int) -> Any:
        if self._channel is None:
            self._channel = self._open()
        try:
            return self._channel.send(request, version)
        except NetworkError:
            self.close()
            raise


def partitions_of(response: FetchResponse, names: Mapping[UUID, str]) -> Iterable[tuple[TopicPartition, PartitionData]]:
    """What a response says of each partition; `names` gives topics by id where the version has ids."""
    for topic in response.responses:
        name = names.get(topic.topic_id) if topic.topic_id != NULL_UUID else topic.topic
        if name is not None:
            for data in topic.partitions:
                yield TopicPartition(name, data.partition_index), data


def _fetch_topic(name: str, topic_id: UUID, version: int) -> FetchTopic:
    return FetchTopic(topic_id=topic_id) if version >= TOPIC_IDS_FROM else FetchTopic(topic=name)


def _forgotten(asked: SessionRequest, version: int) -> list[ForgottenTopic]:
    topics: dict[tuple[str, UUID], ForgottenTopic] = {}
    for topic_partition, state in asked.forgotten.items():
        topic = topics.get((topic_partition.topic, state.topic_id))
        if topic is None:
            topic = (
                ForgottenTopic(topic_id=state.topic_id)
                if version >= TOPIC_IDS_FROM
                else ForgottenTopic(topic=topic_partition.topic)
            )
            topics[topic_partition.topic, state.topic_id] = topic
        topic.partitions.append(topic_partition.partition)
    return list(topics.values())
