"""AllocateProducerIds (key 67, v0): a broker asks the controller for its next block of producer ids.

Source      KafkaApis.handleAllocateProducerIdsRequest; KIP-730.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.cluster.asking_the_controller import ask
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.controller.events import AllocateProducerIds
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.allocate_producer_ids import (
    ALLOCATE_PRODUCER_IDS_REQUEST,
    ALLOCATE_PRODUCER_IDS_RESPONSE,
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


@api(ALLOCATE_PRODUCER_IDS_REQUEST, ALLOCATE_PRODUCER_IDS_RESPONSE)
def allocate_producer_ids(
    request: AllocateProducerIdsRequest, ctx: RequestContext
) -> Pending[AllocateProducerIdsResponse]:
    """Blocks while the controller's queue is full."""
    authorize_request(ctx, Operation.CLUSTER_ACTION)
    return ask(ctx, AllocateProducerIds(request.broker_id, request.broker_epoch), _response)


def _response(block: tuple[int, int]) -> AllocateProducerIdsResponse:
    first, count = block
    return AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=count)
