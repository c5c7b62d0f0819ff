"""ControlledShutdown (key 7, v0-3): a stopping broker asks the controller to move its leaderships.

Source      KafkaApis.handleControlledShutdownRequest; KIP-380 (the broker epoch, v2).
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.charge import Charge
from kafka_zk.api.cluster.asking_the_controller import ask
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.controller.events import ControlledShutdown
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.controlled_shutdown import (
    CONTROLLED_SHUTDOWN_REQUEST,
    CONTROLLED_SHUTDOWN_RESPONSE,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafka_zk.protocol.types import TopicPartition


@api(CONTROLLED_SHUTDOWN_REQUEST, CONTROLLED_SHUTDOWN_RESPONSE, charge=Charge.EXEMPT)
def controlled_shutdown(request: ControlledShutdownRequest, ctx: RequestContext) -> Pending[ControlledShutdownResponse]:
    """Blocks while the controller's queue is full."""
    authorize_request(ctx, Operation.CLUSTER_ACTION)
    return ask(ctx, ControlledShutdown(request.broker_id, request.broker_epoch), _response)


def _response(remaining: list[TopicPartition]) -> ControlledShutdownResponse:
    return ControlledShutdownResponse(
        remaining_partitions=[
            RemainingPartition(topic_name=topic_partition.topic, partition_index=topic_partition.partition)
            for topic_partition in remaining
        ]
    )
