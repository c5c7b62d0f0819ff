"""ListOffsets (key 2, v0-9): offsets by time, and the earliest, latest and newest ones.

Source      Kafka 3.9 KafkaApis.handleListOffsetRequest, ReplicaManager.fetchOffset, legacyFetchOffsetsBefore.
"""

from __future__ import annotations

from collections import Counter

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.error_form import Each, Form, each_topic
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_partition
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    InvalidRequest,
    OffsetNotAvailable,
    UnsupportedVersion,
)
from kafka_zk.protocol.messages.list_offsets import (
    LIST_OFFSETS_REQUEST,
    LIST_OFFSETS_RESPONSE,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kafka_zk.replication.serving.reading import SpecialTimestamp, find_offset, offsets_before
from kafka_zk.replication.serving.records_view import ReadUpTo

CONSUMER = -1
DEBUGGING_CONSUMER = -2
READ_COMMITTED = 1

OFFSET_NOT_AVAILABLE_FROM = 5
LEADER_EPOCH_FROM = 4

_FROM = {SpecialTimestamp.MAX_TIMESTAMP: 7, SpecialTimestamp.EARLIEST_LOCAL: 8, SpecialTimestamp.LATEST_TIERED: 9}
"""The first version with each special time; -1 and -2 always work."""


ERRORS = Form(
    each_topic(Each("partitions", "partitions", same_names=False, copied={"partition_index": "partition_index"}))
)


@api(LIST_OFFSETS_REQUEST, LIST_OFFSETS_RESPONSE, errors=ERRORS)
def list_offsets(request: ListOffsetsRequest, ctx: RequestContext) -> ListOffsetsResponse:
    """Blocks while logs are searched."""
    asked_times = Counter(
        (topic.name, asked.partition_index)
        for topic in in_turns(request.topics)
        for asked in in_turns(topic.partitions)
    )

    def act(topic: ListOffsetsTopic, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
        if asked_times[topic.name, asked.partition_index] > 1 and ctx.api_version > 0:
            raise InvalidRequest
        if asked.timestamp < 0 and _unknown_to(ctx.api_version, asked.timestamp):
            raise UnsupportedVersion
        if ctx.api_version == 0:
            return _oldest_style(request, ctx, topic, asked)
        return _find(request, ctx, topic, asked)

    return ListOffsetsResponse(
        topics=per_partition(
            request.topics,
            act,
            lambda topic, asked, error: _refused(asked, error, ctx.api_version),
            lambda name, partitions: ListOffsetsTopicResponse(name=name, partitions=partitions),
            may=lambda name: ctx.may(Operation.DESCRIBE, ResourceType.TOPIC, name),
        )
    )


def _find(
    request: ListOffsetsRequest, ctx: RequestContext, topic: ListOffsetsTopic, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    up_to = _view_of(request)
    partition = ctx.services.replica_manager.hosted.get(topic.name, asked.partition_index)
    found = find_offset(
        partition,
        asked.timestamp,
        up_to=up_to,
        current_leader_epoch=asked.current_leader_epoch,
        leader_only=request.replica_id != DEBUGGING_CONSUMER,
    )
    answer = ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, error_code=ErrorCode.NONE, timestamp=found.timestamp, offset=found.offset
    )
    if ctx.api_version >= LEADER_EPOCH_FROM:
        answer.leader_epoch = found.leader_epoch
    return answer


def _unknown_to(api_version: int, timestamp: int) -> bool:
    if timestamp in (SpecialTimestamp.LATEST, SpecialTimestamp.EARLIEST):
        return False
    return timestamp not in _FROM or api_version < _FROM[SpecialTimestamp(timestamp)]


def _view_of(request: ListOffsetsRequest) -> ReadUpTo:
    if request.replica_id != CONSUMER:
        return ReadUpTo.LOG_END
    if not 0 <= request.isolation_level <= READ_COMMITTED:
        raise BrokerError(f"Unknown isolation level {request.isolation_level}")
    return ReadUpTo.LAST_STABLE_OFFSET if request.isolation_level == READ_COMMITTED else ReadUpTo.HIGH_WATERMARK


def _oldest_style(
    request: ListOffsetsRequest, ctx: RequestContext, topic: ListOffsetsTopic, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    """Version 0: up to max_num_offsets segment starts written before a time, newest first."""
    offsets = offsets_before(
        ctx.services.replica_manager.hosted.get(topic.name, asked.partition_index),
        asked.timestamp,
        limit=asked.max_num_offsets,
        committed_only=request.replica_id == CONSUMER,
        leader_only=request.replica_id != DEBUGGING_CONSUMER,
        now_ms=ctx.services.clock.wall_ms(),
    )
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, error_code=ErrorCode.NONE, old_style_offsets=offsets
    )


def _refused(asked: ListOffsetsPartition, error: BrokerError, api_version: int) -> ListOffsetsPartitionResponse:
    code = error.code
    if isinstance(error, OffsetNotAvailable) and api_version < OFFSET_NOT_AVAILABLE_FROM:
        code = ErrorCode.LEADER_NOT_AVAILABLE
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=code)
