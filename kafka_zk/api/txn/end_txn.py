"""EndTxn (key 26, v0-4): commit or abort a transaction.

v2 PRODUCER_FENCED
Source      KafkaApis.handleEndTxnRequest.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.txn.fencing import as_known
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.end_txn import END_TXN_REQUEST, END_TXN_RESPONSE, EndTxnRequest, EndTxnResponse


@api(END_TXN_REQUEST, END_TXN_RESPONSE, gives_way=False)
def end_txn(request: EndTxnRequest, ctx: RequestContext) -> EndTxnResponse | Pending[EndTxnResponse]:
    """Blocks while the decision is written. Raises BrokerError."""
    authorize(ctx, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    ended = ctx.services.transaction_coordinator.end_transaction(
        request.transactional_id,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        is_commit=request.committed,
    )
    if ended.is_done:
        return EndTxnResponse(error_code=as_known(ended.value, ctx.api_version))
    return ended.then(lambda code: EndTxnResponse(error_code=as_known(code, ctx.api_version)))
