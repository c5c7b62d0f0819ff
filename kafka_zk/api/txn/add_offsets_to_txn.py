"""AddOffsetsToTxn (key 25, v0-4): a transaction reaches the partition that keeps a group's offsets.

v2 PRODUCER_FENCED
Source      KafkaApis.handleAddOffsetsToTxnRequest.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.txn.fencing import as_known
from kafka_zk.coordinator.transaction.decisions.requests import ProducerIdAndEpoch
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC
from kafka_zk.protocol.messages.add_offsets_to_txn import (
    ADD_OFFSETS_TO_TXN_REQUEST,
    ADD_OFFSETS_TO_TXN_RESPONSE,
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafka_zk.protocol.types import TopicPartition


@api(ADD_OFFSETS_TO_TXN_REQUEST, ADD_OFFSETS_TO_TXN_RESPONSE)
def add_offsets_to_txn(request: AddOffsetsToTxnRequest, ctx: RequestContext) -> Pending[AddOffsetsToTxnResponse]:
    """Blocks while the transaction's record is written. Raises BrokerError."""
    authorize(ctx, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
    authorize(ctx, Operation.READ, ResourceType.GROUP, request.group_id)
    partition = TopicPartition(GROUP_METADATA_TOPIC, ctx.services.group_coordinator.partition_for(request.group_id))
    added = ctx.services.transaction_coordinator.add_partitions(
        request.transactional_id, ProducerIdAndEpoch(request.producer_id, request.producer_epoch), [partition]
    )
    answer = added.then(lambda code: AddOffsetsToTxnResponse(error_code=as_known(code, ctx.api_version)))
    answer.when_left(added.leave)
    return answer
