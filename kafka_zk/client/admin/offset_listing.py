"""Offsets of partitions by time or by place, each asked of its leader.

Role        Acts, through `Calls`. Leaders are looked up again, after a pause, for partitions whose leader has moved or
            is missing; after default.api.timeout.ms what is left fails, each partition by itself.
Invariants  A partition that fails does not keep the answers of the others away.
Source      KafkaAdminClient.listOffsets, ListOffsetsHandler, PartitionLeaderStrategy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from kafka_zk.client.admin.calls import Call, Calls
from kafka_zk.client.errors import KafkaException, TimeoutException
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnsupportedVersion, error_class_for
from kafka_zk.protocol.messages import list_offsets as messages
from kafka_zk.protocol.messages.metadata import MetadataResponse
from kafka_zk.protocol.types import TopicPartition

PAUSE_S = 0.1
"""Between two rounds: retry.backoff.ms."""
NO_LEADER = -1
_MAY_PASS = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)


class OffsetSpec(IntEnum):
    """What may stand in the place of a timestamp."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


# Brokers older than these versions would take the number for a time.
_SINCE_VERSION = {OffsetSpec.MAX_TIMESTAMP: 7, OffsetSpec.EARLIEST_LOCAL: 8, OffsetSpec.LATEST_TIERED: 9}


@dataclass(frozen=True, slots=True)
class ListedOffset:
    """An answer; `offset` is -1 where no record is as late as was asked for."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


Listed = dict[TopicPartition, ListedOffset | BrokerError | KafkaException]


@dataclass(slots=True)
class _Listing:
    """One call: what is still to be asked, and what is known."""

    calls: Calls
    isolation_level: int
    pending: dict[TopicPartition, int]
    found: Listed

    def settle(self, partition: TopicPartition, outcome: ListedOffset | BrokerError | KafkaException) -> None:
        del self.pending[partition]
        self.found[partition] = outcome

    def fail_or_keep(self, partition: TopicPartition, error_code: int) -> None:
        if error_code not in _MAY_PASS:
            self.settle(partition, error_class_for(error_code)())

    def leaders(self, metadata: MetadataResponse) -> dict[int, list[TopicPartition]]:
        """The partitions that have a leader, by it."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic in metadata.topics:
            for pending in [each for each in self.pending if each.topic == topic.name]:
                if topic.error_code != ErrorCode.NONE:
                    self.fail_or_keep(pending, topic.error_code)
            for partition in topic.partitions:
                wanted = TopicPartition(topic.name or "", partition.partition_index)
                if wanted in self.pending and partition.leader_id != NO_LEADER:
                    by_leader.setdefault(partition.leader_id, []).append(wanted)
        return by_leader

    def ask(self, leader_id: int, partitions: list[TopicPartition]) -> None:
        """Blocks. Ask one leader."""
        call = Call(
            "listOffsets",
            messages.LIST_OFFSETS_REQUEST,
            messages.LIST_OFFSETS_RESPONSE,
            lambda version: self._request(version, partitions),
        )
        try:
            answer = self.calls.to_node(leader_id, call)
        except (UnsupportedVersion, KafkaException) as error:
            for partition in partitions:
                self.settle(partition, error)
            return
        for topic in answer.topics:
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                if each.error_code != ErrorCode.NONE:
                    self.fail_or_keep(partition, each.error_code)
                else:
                    self.settle(partition, ListedOffset(each.offset, each.timestamp, each.leader_epoch))

    def _request(self, version: int, partitions: list[TopicPartition]) -> messages.ListOffsetsRequest:
        by_topic: dict[str, list[messages.ListOffsetsPartition]] = {}
        for partition in partitions:
            timestamp = self.pending[partition]
            if version < max(1, _SINCE_VERSION.get(timestamp, 0)):  # type: ignore[call-overload]  # other numbers are times
                raise UnsupportedVersion(f"Broker does not support the offset spec {timestamp}")
            by_topic.setdefault(partition.topic, []).append(
                messages.ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp)
            )
        topics = [messages.ListOffsetsTopic(name=name, partitions=asked) for name, asked in by_topic.items()]
        return messages.ListOffsetsRequest(replica_id=-1, isolation_level=self.isolation_level, topics=topics)


def list_offsets(
    calls: Calls,
    look_up: Callable[[Iterable[str]], MetadataResponse],
    wanted: Mapping[TopicPartition, int],
    *,
    isolation_level: int,
    timeout_ms: int,
) -> Listed:
    """Blocks. An offset or an error for each of `wanted`, whose values are times in ms or an OffsetSpec."""
    listing = _Listing(calls, isolation_level, dict(wanted), {})
    deadline_s = time.monotonic() + timeout_ms / 1000
    while listing.pending:
        topics = dict.fromkeys(partition.topic for partition in listing.pending)
        for leader_id, partitions in listing.leaders(look_up(topics)).items():
            listing.ask(leader_id, partitions)
        if listing.pending and time.monotonic() + PAUSE_S >= deadline_s:
            for partition in list(listing.pending):
                listing.settle(partition, TimeoutException("Timed out waiting for a leader. Call: listOffsets"))
        elif listing.pending:
            time.sleep(PAUSE_S)
    return {partition: listing.found[partition] for partition in wanted}
