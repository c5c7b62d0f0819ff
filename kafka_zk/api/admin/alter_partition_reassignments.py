"""AlterPartitionReassignments (key 45, v0): move partitions to other replicas, or stop moving them.

Answered once the moves are written to ZooKeeper, not when they are done.
Source      KafkaApis.handleAlterPartitionReassignmentsRequest; KIP-455.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.cluster.asking_the_controller import ask, known_and_unknown
from kafka_zk.api.error_form import PARTITIONS, Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_item
from kafka_zk.controller.decisions.reassignment import planned_assignment
from kafka_zk.controller.events import ApiPartitionReassignment
from kafka_zk.giving_way import in_turns
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import BrokerError, ErrorCode, UnknownTopicOrPartition, error_code_for
from kafka_zk.protocol.messages.alter_partition_reassignments import (
    ALTER_PARTITION_REASSIGNMENTS_REQUEST,
    ALTER_PARTITION_REASSIGNMENTS_RESPONSE,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kafka_zk.protocol.types import TopicPartition

MOST_REPLICAS = 10_000
"""More than any cluster has brokers: this much of a longer list is enough to refuse it."""


@api(
    ALTER_PARTITION_REASSIGNMENTS_REQUEST,
    ALTER_PARTITION_REASSIGNMENTS_RESPONSE,
    errors=Form((Each("topics", "responses", inner=(PARTITIONS,)),), Text.OWN),
)
def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, ctx: RequestContext
) -> AlterPartitionReassignmentsResponse | Pending[AlterPartitionReassignmentsResponse]:
    """Blocks while the controller's queue is full. Null replicas cancel the reassignment of a partition."""
    authorize_request(ctx, Operation.ALTER)
    targets = {
        TopicPartition(topic.name, wanted.partition_index): None
        if wanted.replicas is None
        else tuple(wanted.replicas[:MOST_REPLICAS])
        for topic in in_turns(request.topics)
        for wanted in in_turns(topic.partitions)
    }
    known, unknown = known_and_unknown(ctx, list(targets))
    lines = list(zip(unknown, _refusals(unknown, targets, ctx), strict=True)) if unknown else []
    event = ApiPartitionReassignment(targets if not unknown else {each: targets[each] for each in known})

    def answer(results: dict[TopicPartition, BrokerError | None]) -> AlterPartitionReassignmentsResponse:
        return _response([*lines, *((partition, _line(partition, error)) for partition, error in results.items())])

    if lines:
        # Wait here: while they exist, Python's collector, which would scan them all, must stay off.
        return answer(ctx.services.controller.submit(event).result())
    return ask(ctx, event, answer)


def _refusals(
    unknown: list[TopicPartition], targets: Mapping[TopicPartition, Sequence[int] | None], ctx: RequestContext
) -> list[ReassignablePartitionResponse]:
    """Yields to other greenlets. The controller's errors for a large number of missing partitions."""
    active_controller = ctx.services.controller.active_controller
    assert active_controller is not None, "only a controller knows that they are not there"

    def refused(partition: TopicPartition) -> ReassignablePartitionResponse:
        planned_assignment(active_controller.context, partition, targets[partition])
        # It was created just now.
        raise UnknownTopicOrPartition("The partition does not exist.")

    return per_item(unknown, refused, _line)


def _line(partition: TopicPartition, error: BrokerError | None) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(
        partition_index=partition.partition,
        error_code=ErrorCode.NONE if error is None else error_code_for(error),
        error_message=None if error is None else str(error),
    )


def _response(
    lines: list[tuple[TopicPartition, ReassignablePartitionResponse]],
) -> AlterPartitionReassignmentsResponse:
    by_topic: dict[str, list[ReassignablePartitionResponse]] = {}
    for partition, line in in_turns(lines):
        by_topic.setdefault(partition.topic, []).append(line)
    return AlterPartitionReassignmentsResponse(
        responses=[ReassignableTopicResponse(name=name, partitions=parts) for name, parts in by_topic.items()]
    )
