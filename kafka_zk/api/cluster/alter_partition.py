"""AlterPartition (key 56, v0-3): a leader asks the controller to change an ISR.

v1 recovery state · v2 topic ids · v3 broker epochs of the members (-1 in ZooKeeper mode)
Source      KafkaApis.handleAlterPartitionRequest; KIP-497, KIP-704, KIP-841, KIP-903.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.charge import Charge
from kafka_zk.api.cluster.asking_the_controller import ask
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.controller.events import AlterPartitionReceived
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.alter_partition import (
    ALTER_PARTITION_REQUEST,
    ALTER_PARTITION_RESPONSE,
    AlterPartitionRequest,
    AlterPartitionResponse,
)


@api(ALTER_PARTITION_REQUEST, ALTER_PARTITION_RESPONSE, charge=Charge.EXEMPT)
def alter_partition(request: AlterPartitionRequest, ctx: RequestContext) -> Pending[AlterPartitionResponse]:
    """Blocks while the controller's queue is full."""
    authorize_request(ctx, Operation.CLUSTER_ACTION)
    return ask(ctx, AlterPartitionReceived(request, ctx.api_version), _unchanged)


def _unchanged(response: AlterPartitionResponse) -> AlterPartitionResponse:
    return response
