"""InitProducerId (key 22, v0-5): an id for an idempotent producer.

A transactional id is refused with a fatal error until there is a transaction coordinator: any retriable code would
leave the producer waiting for ever, and an id without a coordinator would let it believe in transactions.
Source      TransactionCoordinator.handleInitProducerId (its branch without a transactional id).
"""

from __future__ import annotations

from kafka_zk.api.authorization import CLUSTER_NAME, Audit, Operation, ResourceType, authorize
from kafka_zk.api.error_form import Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, InvalidRequest, TransactionalIdAuthorizationFailed
from kafka_zk.protocol.messages.init_producer_id import (
    INIT_PRODUCER_ID_REQUEST,
    INIT_PRODUCER_ID_RESPONSE,
    InitProducerIdRequest,
    InitProducerIdResponse,
)

NONE = -1
FIRST_EPOCH = 0


@api(
    INIT_PRODUCER_ID_REQUEST,
    INIT_PRODUCER_ID_RESPONSE,
    errors=Form(constants={"producer_id": NONE, "producer_epoch": NONE}),
)
def init_producer_id(request: InitProducerIdRequest, ctx: RequestContext) -> Pending[InitProducerIdResponse]:
    """Waits up to a second for the first block of ids. Raises BrokerError."""
    if request.transactional_id is not None:
        authorize(ctx, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
        raise TransactionalIdAuthorizationFailed
    if not (
        ctx.may(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.FILTER)
        or ctx.may_on_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        raise ClusterAuthorizationFailed
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        raise InvalidRequest
    return ctx.services.producer_ids.next_producer_id().then(_response)


def _response(producer_id: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=FIRST_EPOCH)
