"""OffsetForLeaderEpoch (key 23, v0-4): the end offset of a leader epoch, to detect truncation.

Source      Kafka 3.9 KafkaApis.handleOffsetForLeaderEpochRequest, ReplicaManager.lastOffsetForLeaderEpoch.
"""

from __future__ import annotations

from operator import attrgetter

from kafka_zk.api.authorization import CLUSTER_NAME, Audit, Operation, ResourceType
from kafka_zk.api.error_form import Each, Form, each_topic
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_partition
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.offset_for_leader_epoch import (
    OFFSET_FOR_LEADER_EPOCH_REQUEST,
    OFFSET_FOR_LEADER_EPOCH_RESPONSE,
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from kafka_zk.replication.serving.reading import end_offset_for_epoch

ERRORS = Form(each_topic(Each("partitions", "partitions", same_names=False, copied={"partition": "partition"})))


@api(OFFSET_FOR_LEADER_EPOCH_REQUEST, OFFSET_FOR_LEADER_EPOCH_RESPONSE, errors=ERRORS)
def offset_for_leader_epoch(request: OffsetForLeaderEpochRequest, ctx: RequestContext) -> OffsetForLeaderEpochResponse:
    hosted = ctx.services.replica_manager.hosted
    is_broker = ctx.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME, Audit.FILTER)

    def act(topic: OffsetForLeaderTopic, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        end = end_offset_for_epoch(
            hosted.get(topic.topic, asked.partition),
            asked.leader_epoch,
            current_leader_epoch=asked.current_leader_epoch,
        )
        return EpochEndOffset(
            error_code=ErrorCode.NONE, partition=asked.partition, leader_epoch=end.epoch, end_offset=end.end_offset
        )

    def refuse(topic: OffsetForLeaderTopic, asked: OffsetForLeaderPartition, error: BrokerError) -> EpochEndOffset:
        return EpochEndOffset(error_code=error.code, partition=asked.partition)

    return OffsetForLeaderEpochResponse(
        topics=per_partition(
            request.topics,
            act,
            refuse,
            lambda name, partitions: OffsetForLeaderTopicResult(topic=name, partitions=partitions),
            may=None if is_broker else lambda name: ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name),
            name_of=attrgetter("topic"),
        )
    )
