"""LeaderAndIsr (key 4, v0-7): the controller says which partitions this broker leads and follows.

Source      Kafka 3.9 KafkaApis.handleLeaderAndIsrRequest.
"""

from __future__ import annotations

from uuid import UUID

from kafka_zk.api.charge import Charge
from kafka_zk.api.cluster.control_request import check_control_request
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.leader_and_isr import (
    LEADER_AND_ISR_REQUEST,
    LEADER_AND_ISR_RESPONSE,
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafka_zk.protocol.types import TopicPartition

TOPIC_IDS_FROM = 5
"""From this version on the answer groups partitions by topic id."""


ERRORS = Form(
    (
        Each("ungrouped_partition_states", "partition_errors"),
        Each("topic_states.partition_states", "partition_errors"),
        Each("topic_states", "topics", inner=(Each("partition_states", "partition_errors"),)),
    )
)


@api(LEADER_AND_ISR_REQUEST, LEADER_AND_ISR_RESPONSE, errors=ERRORS, charge=Charge.EXEMPT)
def leader_and_isr(request: LeaderAndIsrRequest, ctx: RequestContext) -> LeaderAndIsrResponse:
    """Blocks while logs are created. Serialized with the controller's other requests."""
    check_control_request(ctx, request.broker_epoch)
    codes = ctx.services.replica_manager.become_leader_or_follower(request)
    return _response(codes, ctx.api_version)


def _response(codes: list[tuple[TopicPartition, UUID, ErrorCode]], api_version: int) -> LeaderAndIsrResponse:
    if api_version < TOPIC_IDS_FROM:
        return LeaderAndIsrResponse(
            partition_errors=[
                LeaderAndIsrPartitionError(
                    topic_name=topic_partition.topic, partition_index=topic_partition.partition, error_code=code
                )
                for topic_partition, _, code in codes
            ]
        )
    by_topic: dict[UUID, list[LeaderAndIsrPartitionError]] = {}
    for topic_partition, topic_id, code in codes:
        by_topic.setdefault(topic_id, []).append(
            LeaderAndIsrPartitionError(partition_index=topic_partition.partition, error_code=code)
        )
    return LeaderAndIsrResponse(
        topics=[
            LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=errors) for topic_id, errors in by_topic.items()
        ]
    )
