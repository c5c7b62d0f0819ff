"""InitProducerId (key 22, v0-5): an id for an idempotent producer, or the next epoch of a transactional one.

v3 a producer may say who it was (KIP-360) · v4 PRODUCER_FENCED
Source      KafkaApis.handleInitProducerIdRequest, TransactionCoordinator.handleInitProducerId.
"""

from __future__ import annotations

from kafka_zk.api.authorization import CLUSTER_NAME, Audit, Operation, ResourceType, authorize
from kafka_zk.api.error_form import Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.txn.fencing import as_known
from kafka_zk.coordinator.transaction.coordinator import Initialized
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ClusterAuthorizationFailed, InvalidRequest
from kafka_zk.protocol.messages.init_producer_id import (
    INIT_PRODUCER_ID_REQUEST,
    INIT_PRODUCER_ID_RESPONSE,
    InitProducerIdRequest,
    InitProducerIdResponse,
)

NONE = -1
FIRST_EPOCH = 0
PRODUCER_FENCED_FROM = 4


@api(
    INIT_PRODUCER_ID_REQUEST,
    INIT_PRODUCER_ID_RESPONSE,
    errors=Form(constants={"producer_id": NONE, "producer_epoch": NONE}),
)
def init_producer_id(request: InitProducerIdRequest, ctx: RequestContext) -> Pending[InitProducerIdResponse]:
    """Waits up to a second for the first block of ids; blocks while the transaction's record is written.

    Raises BrokerError.
    """
    if request.transactional_id is not None:
        authorize(ctx, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    elif not (
        ctx.may(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.FILTER)
        or ctx.may_on_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        raise ClusterAuthorizationFailed
    if (request.producer_id == NONE) != (request.producer_epoch == NONE):
        raise InvalidRequest
    if request.transactional_id is None:
        return ctx.services.producer_ids.next_producer_id().then(_of_idempotent)

    def answer(initialized: Initialized) -> InitProducerIdResponse:
        return InitProducerIdResponse(
            error_code=as_known(initialized.error, ctx.api_version, PRODUCER_FENCED_FROM),
            producer_id=initialized.producer_id,
            producer_epoch=initialized.producer_epoch,
        )

    known = request.producer_id != NONE
    return ctx.services.transaction_coordinator.init_producer_id(
        request.transactional_id,
        timeout_ms=request.transaction_timeout_ms,
        expected=ProducerIdAndEpoch(request.producer_id, request.producer_epoch) if known else None,
    ).then(answer)


def _of_idempotent(producer_id: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=FIRST_EPOCH)
