"""ListPartitionReassignments (key 46, v0): which partitions are being moved, and between which replicas.

Source      KafkaApis.handleListPartitionReassignmentsRequest; KIP-455.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.cluster.asking_the_controller import ask, known_and_unknown
from kafka_zk.api.error_form import Each, Form, Text, each_topic
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.controller.decisions.assignment import ReplicaAssignment
from kafka_zk.controller.events import ListPartitionReassignments
from kafka_zk.giving_way import in_turns
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS_REQUEST,
    LIST_PARTITION_REASSIGNMENTS_RESPONSE,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_zk.protocol.types import TopicPartition

ERRORS = Form(
    each_topic(Each("partition_indexes", "partitions", key="partition_index")),
    Text.OWN,
)


@api(LIST_PARTITION_REASSIGNMENTS_REQUEST, LIST_PARTITION_REASSIGNMENTS_RESPONSE, errors=ERRORS)
def list_partition_reassignments(
    request: ListPartitionReassignmentsRequest, ctx: RequestContext
) -> Pending[ListPartitionReassignmentsResponse]:
    """Blocks while the controller's queue is full. No list of topics means all."""
    authorize_request(ctx, Operation.DESCRIBE)
    asked = None
    if request.topics is not None:
        partitions = [
            TopicPartition(topic.name, index)
            for topic in in_turns(request.topics)
            for index in in_turns(topic.partition_indexes)
        ]
        asked = tuple(known_and_unknown(ctx, partitions)[0])
    return ask(ctx, ListPartitionReassignments(asked), _response)


def _response(moving: dict[TopicPartition, ReplicaAssignment]) -> ListPartitionReassignmentsResponse:
    by_topic: dict[str, list[OngoingPartitionReassignment]] = {}
    for partition, assignment in in_turns(moving.items()):
        by_topic.setdefault(partition.topic, []).append(
            OngoingPartitionReassignment(
                partition_index=partition.partition,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding),
                removing_replicas=list(assignment.removing),
            )
        )
    return ListPartitionReassignmentsResponse(
        topics=[OngoingTopicReassignment(name=name, partitions=parts) for name, parts in by_topic.items()]
    )
