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
from kafka_zk.coordinator.transaction.marker_writer import Codes as CodesOfMarker
from kafka_zk.giving_way import in_turns
from kafka_zk.log.unified_log import AppendInfo
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.write_txn_markers import (
    WRITE_TXN_MARKERS_REQUEST,
    WRITE_TXN_MARKERS_RESPONSE,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.replication.serving.append import AppendFailure

Codes = dict[int, CodesOfMarker]
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
        written = ctx.services.marker_writer.write(marker)
        written.on_complete(partial(answer.take, marker.producer_id))
    answer.ended()
    return then_apart(answer.pending, _response)


class _Answer:
    """Collects the codes of all markers, as Kafka does: a producer that is named by several has one answer, and none
    without a partition."""

    def __init__(self, marker_count: int) -> None:
        self.pending: Pending[Codes] = Pending()
        self._codes: Codes = {}
        # One more: that of the handler, which is still writing.
        self._unended = marker_count + 1

    def take(self, producer_id: int, written: Pending[CodesOfMarker]) -> None:
        if written.value:
            self._codes.setdefault(producer_id, {}).update(written.value)
        self.ended()

    def ended(self) -> None:
        self._unended -= 1
        if not self._unended:
            self.pending.complete(self._codes)


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
