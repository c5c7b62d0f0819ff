"""AlterPartitionReassignments (key 45, v0): move partitions to other replicas, or stop moving them.

Answered once the moves are written to ZooKeeper, not when they are done.
Source      KafkaApis.handleAlterPartitionReassignmentsRequest; KIP-455.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.cluster.asking_the_controller import ask
from kafka_zk.api.context import RequestContext
from kafka_zk.api.registry import api
from kafka_zk.controller.events import ApiPartitionReassignment
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode, error_code_for
from kafka_zk.protocol.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS_REQUEST,
    ALTER_PARTITION_REASSIGNMENTS_RESPONSE,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kafka_zk.protocol.types import TopicPartition


@api(ALTER_PARTITION_REASSIGNMENTS_REQUEST, ALTER_PARTITION_REASSIGNMENTS_RESPONSE)
def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, ctx: RequestContext
) -> Pending[AlterPartitionReassignmentsResponse]:
    """Blocks while the controller's queue is full. A partition without replicas stops its move."""
    authorize(ctx, Operation.ALTER, ResourceType.CLUSTER)
    targets = {
        TopicPartition(topic.name, wanted.partition_index): None if wanted.replicas is None else tuple(wanted.replicas)
        for topic in request.topics
        for wanted in topic.partitions
    }
    return ask(ctx, ApiPartitionReassignment(targets), _response)


def _response(results: dict[TopicPartition, BrokerError | None]) -> AlterPartitionReassignmentsResponse:
    by_topic: dict[str, list[ReassignablePartitionResponse]] = {}
    for partition, error in results.items():
        by_topic.setdefault(partition.topic, []).append(
            ReassignablePartitionResponse(
                partition_index=partition.partition,
                error_code=ErrorCode.NONE if error is None else error_code_for(error),
                error_message=None if error is None else str(error),
            )
        )
    return AlterPartitionReassignmentsResponse(
        responses=[ReassignableTopicResponse(name=name, partitions=parts) for name, parts in by_topic.items()]
    )
