"""Asks partition leaders for offsets by time and for the ends of leader epochs.

Role        Acts, through the NetworkClient: sends, and calls back with one outcome for every partition.
Invariants  Every requested partition gets a result or an error, whatever happens.
Source      OffsetFetcher, OffsetFetcherUtils (handleListOffsetResponse), OffsetsForLeaderEpochClient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from kafka_zk.client.consumer.settings import READ_UNCOMMITTED
from kafka_zk.client.consumer.validation import UNKNOWN, EpochEnd
from kafka_zk.client.network.network_client import NetworkClient
from kafka_zk.client.refusals import error_about_topics
from kafka_zk.protocol.errors import (
    ErrorCode,
    LeaderNotAvailable,
    UnsupportedVersion,
)
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    LIST_OFFSETS_RESPONSE,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafka_zk.protocol.messages.offset_for_leader_epoch import (
    OFFSET_FOR_LEADER_EPOCH_REQUEST,
    OFFSET_FOR_LEADER_EPOCH_RESPONSE,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_zk.protocol.types import TopicPartition

CONSUMER_REPLICA_ID: Final = -1


class FoundOffset(NamedTuple):
    """A leader's answer; `offset` -1: no record is that young. Epoch None: not in the response."""

    offset: int
    timestamp: int
    leader_epoch: int | None


OnFailure = Callable[[list[TopicPartition], Exception], None]


class LeaderQuestions:
    """Requests of one consumer, in the thread that polls."""

    def __init__(self, network: NetworkClient, isolation_level: int) -> None:
        self._network = network
        self._isolation_level = isolation_level

    def ask_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        on_found: Callable[[TopicPartition, FoundOffset], None],
        on_failure: OnFailure,
    ) -> None:
        """Find the first offset at or after a time (epoch ms); -2 for the log start, -1 for the end."""
        for leader_id, partitions in self._by_leader(timestamps, on_failure).items():
            asked = {partition: timestamps[partition] for partition in partitions}
            self._network.send(
                leader_id,
                LIST_OFFSETS_REQUEST,
                LIST_OFFSETS_RESPONSE,
                lambda version, asked=asked: self._offsets_request(asked, version),  # type: ignore[misc]
                lambda answer, asked=asked: _take_offsets(answer, asked, on_found, on_failure),  # type: ignore[misc]
                lambda error, partitions=partitions: on_failure(partitions, error),  # type: ignore[misc]
            )

    def ask_epoch_ends(
        self,
        epochs: Mapping[TopicPartition, int],
        on_end: Callable[[TopicPartition, EpochEnd], None],
        on_failure: OnFailure,
    ) -> None:
        """Find where leader epochs end. UnsupportedVersion from brokers that do not answer consumers."""
        for leader_id, partitions in self._by_leader(epochs, on_failure).items():
            asked = {partition: epochs[partition] for partition in partitions}
            self._network.send(
                leader_id,
                OFFSET_FOR_LEADER_EPOCH_REQUEST,
                OFFSET_FOR_LEADER_EPOCH_RESPONSE,
                lambda version, asked=asked: self._epochs_request(asked, version),  # type: ignore[misc]
                lambda answer, asked=asked: _take_ends(answer, asked, on_end, on_failure),  # type: ignore[misc]
                lambda error, partitions=partitions: on_failure(partitions, error),  # type: ignore[misc]
            )

    def _by_leader(
        self, partitions: Iterable[TopicPartition], on_failure: OnFailure
    ) -> dict[int, list[TopicPartition]]:
        snapshot = self._network.metadata.snapshot
        by_leader: dict[int, list[TopicPartition]] = {}
        leaderless: list[TopicPartition] = []
        for partition in partitions:
            leader_id = snapshot.leader_of(partition)
            if leader_id is None:
                leaderless.append(partition)
            else:
                by_leader.setdefault(leader_id, []).append(partition)
        if leaderless:
            self._network.metadata.request_update()
            on_failure(leaderless, LeaderNotAvailable())
        return by_leader

    def _epoch_of(self, partition: TopicPartition) -> int:
        known = self._network.metadata.snapshot.partition(partition)
        return UNKNOWN if known is None or known.leader_epoch is None else known.leader_epoch

    def _offsets_request(self, asked: Mapping[TopicPartition, int], version: int) -> ListOffsetsRequest:
        if version < 1:
            raise UnsupportedVersion("Brokers before 0.10.1 cannot look up offsets by time")
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for partition, timestamp in asked.items():
            topics.setdefault(partition.topic, []).append(
                ListOffsetsPartition(
                    partition_index=partition.partition,
                    current_leader_epoch=self._epoch_of(partition),
                    timestamp=timestamp,
                )
            )
        return ListOffsetsRequest(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=self._isolation_level if version >= 2 else READ_UNCOMMITTED,
            topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        )

    def _epochs_request(self, asked: Mapping[TopicPartition, int], version: int) -> OffsetForLeaderEpochRequest:
        if version < 3:
            raise UnsupportedVersion("Brokers before 2.3 let only other brokers ask for leader epochs")
        topics: dict[str, list[OffsetForLeaderPartition]] = {}
        for partition, leader_epoch in asked.items():
            topics.setdefault(partition.topic, []).append(
                OffsetForLeaderPartition(
                    partition=partition.partition,
                    current_leader_epoch=self._epoch_of(partition),
                    leader_epoch=leader_epoch,
                )
            )
        return OffsetForLeaderEpochRequest(
            replica_id=CONSUMER_REPLICA_ID,
            topics=[OffsetForLeaderTopic(topic=name, partitions=partitions) for name, partitions in topics.items()],
        )


def _take_offsets(
    answer: ListOffsetsResponse,
    asked: Mapping[TopicPartition, int],
    on_found: Callable[[TopicPartition, FoundOffset], None],
    on_failure: OnFailure,
) -> None:
    missing = set(asked)
    for topic in answer.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if partition not in missing:
                continue
            missing.discard(partition)
            epoch = each.leader_epoch if each.leader_epoch >= 0 else None
            if each.error_code == ErrorCode.NONE:
                on_found(partition, FoundOffset(each.offset, each.timestamp, epoch))
            elif each.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
                on_found(partition, FoundOffset(UNKNOWN, UNKNOWN, None))
            else:
                on_failure([partition], error_about_topics(each.error_code, [partition.topic]))
    if missing:
        on_failure(sorted(missing), LeaderNotAvailable("The response does not contain the partition"))


def _take_ends(
    answer: OffsetForLeaderEpochResponse,
    asked: Mapping[TopicPartition, int],
    on_end: Callable[[TopicPartition, EpochEnd], None],
    on_failure: OnFailure,
) -> None:
    missing = set(asked)
    for topic in answer.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.topic, each.partition)
            if partition not in missing:
                continue
            missing.discard(partition)
            if each.error_code == ErrorCode.NONE:
                on_end(partition, EpochEnd(each.leader_epoch, each.end_offset))
            else:
                on_failure([partition], error_about_topics(each.error_code, [partition.topic]))
    if missing:
        on_failure(sorted(missing), LeaderNotAvailable("The response does not contain the partition"))
