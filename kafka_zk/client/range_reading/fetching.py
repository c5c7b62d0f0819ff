"""Builds the Fetch request of one partition, and interprets the response for a range.

Role        Pure.
Source      Kafka 3.9 FetchRequestManager, FetchCollector.handleInitializeErrors.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from kafka_zk.client.config import ClientConfig
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from kafka_zk.protocol.types import TopicPartition

BY_TOPIC_ID = 13
"""From this version on topics are named by their ids."""

MAY_PASS = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """What a configuration says about fetching. Times in milliseconds."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int
    read_committed: bool
    check_crcs: bool
    patience_ms: int
    """How long to wait without progress."""


def fetch_settings(config: ClientConfig) -> FetchSettings:
    """From a consumer's keys."""
    return FetchSettings(
        config.integer("fetch.max.wait.ms"),
        config.integer("fetch.min.bytes"),
        config.integer("fetch.max.bytes"),
        config.integer("max.partition.fetch.bytes"),
        config.text("isolation.level") == "read_committed",
        config.boolean("check.crcs"),
        config.integer("default.api.timeout.ms"),
    )


def fetch_request(
    version: int,
    partition: TopicPartition,
    topic_id: UUID,
    leader_epoch: int | None,
    position: int,
    partition_max_bytes: int,
    settings: FetchSettings,
) -> FetchRequest:
    """A request outside of any fetch session."""
    by_id = version >= BY_TOPIC_ID
    wanted = FetchPartition(
        partition=partition.partition,
        current_leader_epoch=-1 if leader_epoch is None else leader_epoch,
        fetch_offset=position,
        partition_max_bytes=partition_max_bytes,
        log_start_offset=-1,
    )
    topic = (
        FetchTopic(topic_id=topic_id, partitions=[wanted])
        if by_id
        else FetchTopic(topic=partition.topic, partitions=[wanted])
    )
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=settings.max_wait_ms,
        min_bytes=settings.min_bytes,
        max_bytes=max(settings.max_bytes, partition_max_bytes),
        isolation_level=int(settings.read_committed),
        session_epoch=-1,
        topics=[topic],
    )


def partition_of(answer: FetchResponse) -> PartitionData | None:
    """The response's data for the one partition; None if missing."""
    for topic in answer.responses:
        for partition in topic.partitions:
            return partition
    return None
