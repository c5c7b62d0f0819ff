"""WriteTxnMarkers (key 27, v0-1): end transactions in the partitions that this broker leads.

Sent by transaction coordinators, and by operators who abort a transaction that hangs.
Source      KafkaApis.handleWriteTxnMarkersRequest, WriteTxnMarkersResponse.
"""

from __future__ import annotations

from functools import partial

from kafka_zk.api.authorization import CLUSTER_NAME, Audit, Operation, ResourceType, authorize_request
from kafka_zk.api.charge import Charge
from kafka_zk.api.error_form import Each, Form, each_topic
from kafka_zk.api.late_answers import then_apart
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.services import Services
from kafka_zk.giving_way import in_turns
from kafka_zk.log.unified_log import AppendInfo
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC
from kafka_zk.protocol.messages.write_txn_markers import (
    WRITE_TXN_MARKERS_REQUEST,
    WRITE_TXN_MARKERS_RESPONSE,
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.record.control import ControlType, EndTransactionMarker, build_marker
from kafka_zk.record.produced import Origin
from kafka_zk.replication.partition import ACKS_ALL
from kafka_zk.replication.serving.append import AppendFailure

Codes = dict[int, dict[TopicPartition, ErrorCode]]
"""By producer id: one code for each of its partitions."""
Results = list[AppendInfo | AppendFailure]

ERRORS = Form(
    (
        Each(
            "markers",
            "markers",
            inner=each_topic(Each("partition_indexes", "partitions", key="partition_index")),
        ),
    )
)


@api(WRITE_TXN_MARKERS_REQUEST, WRITE_TXN_MARKERS_RESPONSE, errors=ERRORS, charge=Charge.EXEMPT)
def write_txn_markers(request: WriteTxnMarkersRequest, ctx: RequestContext) -> Pending[WriteTxnMarkersResponse]:
    """Blocks while the markers are written; the answer comes when all are replicated."""
    if not ctx.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME, Audit.FILTER):
        authorize_request(ctx, Operation.CLUSTER_ACTION)
    answer = _Answer(len(request.markers))
    for marker in in_turns(request.markers):
        _write(marker, answer, ctx.services)
    answer.ended(1)
    return then_apart(answer.pending, _response)


class _Answer:
    """Collects the codes of all markers, as Kafka does: a producer that is named by several has one answer, and none
    without a partition."""

    def __init__(self, marker_count: int) -> None:
        self.pending: Pending[Codes] = Pending()
        self._codes: Codes = {}
        # One more: that of the handler, which is still writing.
        self._unended = marker_count + 1

    def add(self, producer_id: int, codes: dict[TopicPartition, ErrorCode]) -> None:
        if codes:
            self._codes.setdefault(producer_id, {}).update(codes)

    def ended(self, count: int) -> None:
        self._unended -= count
        if not self._unended:
            self.pending.complete(self._codes)


def _write(marker: WritableTxnMarker, answer: _Answer, services: Services) -> None:
    """Blocks. One batch for each partition with a replica here; the others get UNKNOWN_TOPIC_OR_PARTITION."""
    replicas = services.replica_manager.hosted
    found: dict[TopicPartition, None] = {}
    missing: dict[TopicPartition, ErrorCode] = {}
    for topic in in_turns(marker.topics):
        for index in in_turns(topic.partition_indexes):
            partition = replicas.find(topic.name, index)
            if partition is None or partition.log is None:
                missing[TopicPartition(topic.name, index)] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                found[TopicPartition(topic.name, index)] = None
    if found and (marker.producer_id < 0 or marker.producer_epoch < 0):
        # No batch can say so; Kafka fails in the middle of the marker, what is missing included.
        answer.add(marker.producer_id, dict.fromkeys([*missing, *found], ErrorCode.UNKNOWN_SERVER_ERROR))
        answer.ended(1)
        return
    answer.add(marker.producer_id, missing)
    if not found:
        answer.ended(1)
        return
    batch = _batch_of(marker, services.clock.wall_ms())
    results = services.replica_manager.append_records(
        [(topic, index, memoryview(bytearray(batch))) for topic, index in found],
        required_acks=ACKS_ALL,
        timeout_ms=services.config.request_timeout_ms,
        internal_topics_allowed=True,
        origin=Origin.COORDINATOR,
    )
    take = partial(_take, marker, list(found), answer, services)
    if isinstance(results, Pending):
        results.on_complete(lambda settled: take(settled.value))
    else:
        take(results)


def _batch_of(marker: WritableTxnMarker, now_ms: int) -> bytearray:
    control_type = ControlType.COMMIT if marker.transaction_result else ControlType.ABORT
    return build_marker(
        EndTransactionMarker(control_type, marker.coordinator_epoch),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        timestamp_ms=now_ms,
    )


def _take(
    marker: WritableTxnMarker, found: list[TopicPartition], answer: _Answer, services: Services, results: Results
) -> None:
    """Does not switch. What became of one marker; groups whose offsets it made final are told."""
    codes = {
        topic_partition: result.error.code if isinstance(result, AppendFailure) else ErrorCode.NONE
        for topic_partition, result in zip(found, results, strict=True)
    }
    of_groups = [
        topic_partition.partition
        for topic_partition, code in codes.items()
        if topic_partition.topic == GROUP_METADATA_TOPIC and code is ErrorCode.NONE
    ]
    if of_groups:
        services.group_coordinator.handle_txn_completion(
            marker.producer_id, of_groups, is_commit=marker.transaction_result
        )
    answer.add(marker.producer_id, codes)
    answer.ended(1)


def _response(codes: Codes) -> WriteTxnMarkersResponse:
    """Yields to other greenlets."""
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(producer_id=producer_id, topics=_topics(of_producer))
            for producer_id, of_producer in in_turns(codes.items())
        ]
    )


def _topics(codes: dict[TopicPartition, ErrorCode]) -> list[WritableTxnMarkerTopicResult]:
    """Yields to other greenlets."""
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for (name, index), code in in_turns(sorted(codes.items())):
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = WritableTxnMarkerTopicResult(name=name)
        topic.partitions.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=code))
    return list(topics.values())
