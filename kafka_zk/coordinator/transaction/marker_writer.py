"""Writes the markers of transactions to partitions that this broker leads.

Role        Acts, through the ReplicaManager; tells the group coordinator whose offsets became final. Serves
            WriteTxnMarkers, and this broker's own coordinator without a detour through the network.
Source      KafkaApis.handleWriteTxnMarkersRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from kafka_zk.clock import Clock
from kafka_zk.giving_way import give_way
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC
from kafka_zk.protocol.messages.write_txn_markers import WritableTxnMarker
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.replication.partition import ACKS_ALL
from kafka_zk.replication.serving.append import AppendFailure

if TYPE_CHECKING:
    from kafka_zk.log.unified_log import AppendInfo
    from kafka_zk.replication.manager import ReplicaManager

Codes = dict[TopicPartition, ErrorCode]
"""What became of one marker in each of its partitions."""


class OffsetsEnded(Protocol):
    """GroupCoordinator.handle_txn_completion."""

    def __call__(self, producer_id: int, markers: Mapping[int, int], *, is_commit: bool) -> None: ...


class MarkerWriter:
    """`timeout_ms` bounds the wait for the replicas; `ended` is told whose offsets are final in which partitions."""

    def __init__(
        self, *, replica_manager: ReplicaManager, clock: Clock, timeout_ms: Callable[[], int], ended: OffsetsEnded
    ) -> None:
        self._replica_manager = replica_manager
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._ended = ended

    def write(self, marker: WritableTxnMarker) -> Pending[Codes]:
        """Blocks while it is written. One batch for each partition with a replica here, answered once replicated.

        The others get UNKNOWN_TOPIC_OR_PARTITION.
        """
        replicas = self._replica_manager.hosted
        found: dict[TopicPartition, None] = {}
        missing: Codes = {}
        for topic in marker.topics:
            for index in topic.partition_indexes:
                give_way()
                partition = replicas.find(topic.name, index)
                if partition is None or partition.log is None:
                    missing[TopicPartition(topic.name, index)] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                else:
                    found[partition.topic_partition] = None
        answer: Pending[Codes] = Pending()
        if found and (marker.producer_id < 0 or marker.producer_epoch < 0):
            # No batch can say so; Kafka fails in the middle of the marker, what is missing included.
            answer.complete(dict.fromkeys([*missing, *found], ErrorCode.UNKNOWN_SERVER_ERROR))
            return answer
        if not found:
            answer.complete(missing)
            return answer
        batch = _batch_of(marker, self._clock.wall_ms())
        results = self._replica_manager.append_records(
            [(topic, index, memoryview(bytearray(batch))) for topic, index in found],
            required_acks=ACKS_ALL,
            timeout_ms=self._timeout_ms(),
            internal_topics_allowed=True,
            origin=Origin.COORDINATOR,
        )
        if isinstance(results, Pending):
            results.on_complete(lambda settled: self._take(marker, found, missing, answer, settled.value))
        else:
            self._take(marker, found, missing, answer, results)
        return answer

    def _take(
        self,
        marker: WritableTxnMarker,
        found: Iterable[TopicPartition],
        missing: Codes,
        answer: Pending[Codes],
        results: list[AppendInfo | AppendFailure],
    ) -> None:
        """Does not switch. What became of it; groups whose offsets it made final are told."""
        of_groups: dict[int, int] = {}
        codes = missing
        for topic_partition, result in zip(found, results, strict=True):
            if isinstance(result, AppendFailure):
                codes[topic_partition] = result.error.code
                continue
            codes[topic_partition] = ErrorCode.NONE
            if topic_partition.topic == GROUP_METADATA_TOPIC:
                of_groups[topic_partition.partition] = result.first_offset
        if of_groups:
            self._ended(marker.producer_id, of_groups, is_commit=marker.transaction_result)
        answer.complete(codes)


def _batch_of(marker: WritableTxnMarker, now_ms: int) -> bytearray:
    control_type = ControlType.COMMIT if marker.transaction_result else ControlType.ABORT
    return build_marker(
        EndTransactionMarker(control_type, marker.coordinator_epoch),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        timestamp_ms=now_ms,
    )
