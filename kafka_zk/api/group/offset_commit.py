"""OffsetCommit (key 8, v0-9): remember how far a group has read.

v0 into ZooKeeper · v1 own timestamp · v2-4 own retention · v6 leader epoch · v7 static members
Source      KafkaApis.handleOffsetCommitRequest, GroupCoordinatorAdapter.commitOffsets.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.context import RequestContext
from kafka_zk.api.group import zookeeper_offsets
from kafka_zk.api.registry import api
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.offset_store import CommitCodes
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode, GroupAuthorizationFailed
from kafka_zk.protocol.messages.offset_commit import (
    OFFSET_COMMIT_REQUEST,
    OFFSET_COMMIT_RESPONSE,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_zk.protocol.types import TopicPartition

USUAL_RETENTION = -1
NO_TIMESTAMP = -1

Accepted = dict[TopicPartition, OffsetCommitRequestPartition]


@api(OFFSET_COMMIT_REQUEST, OFFSET_COMMIT_RESPONSE)
def offset_commit(
    request: OffsetCommitRequest, ctx: RequestContext
) -> OffsetCommitResponse | Pending[OffsetCommitResponse]:
    """Blocks while the offsets are written."""
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        raise GroupAuthorizationFailed
    codes: CommitCodes = {}
    accepted: Accepted = {}
    for topic in request.topics:
        refusal = _refusal(topic, ctx)
        for wanted in topic.partitions:
            partition = TopicPartition(topic.name, wanted.partition_index)
            if refusal is not ErrorCode.NONE:
                codes[partition] = refusal
            elif ctx.services.metadata_cache.partition(*partition) is None:
                codes[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                accepted[partition] = wanted
    if not accepted:
        return _response(request, codes)
    if ctx.api_version == 0:
        codes.update(zookeeper_offsets.commit(request.group_id, accepted, ctx))
        return _response(request, codes)
    return _commit(request, accepted, codes, ctx)


def _refusal(topic: OffsetCommitRequestTopic, ctx: RequestContext) -> ErrorCode:
    """Why nothing of `topic` may be committed; NONE if that depends on the partition."""
    if not ctx.may(Operation.READ, ResourceType.TOPIC, topic.name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def _commit(
    request: OffsetCommitRequest, accepted: Accepted, codes: CommitCodes, ctx: RequestContext
) -> Pending[OffsetCommitResponse]:
    """Blocks while the batch is written."""
    now_ms = ctx.services.clock.wall_ms()
    retention_ms = request.retention_time_ms
    expire_timestamp = None if retention_ms == USUAL_RETENTION else now_ms + retention_ms
    offsets = {
        partition: OffsetAndMetadata(
            wanted.committed_offset,
            wanted.committed_leader_epoch,
            wanted.committed_metadata or "",
            now_ms if wanted.commit_timestamp == NO_TIMESTAMP else wanted.commit_timestamp,
            expire_timestamp,
        )
        for partition, wanted in accepted.items()
    }
    committed = ctx.services.group_coordinator.commit_offsets(
        request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        generation=request.generation_id_or_member_epoch,
        offsets=offsets,
    )
    return committed.then(lambda found: _response(request, codes | found))


def _response(request: OffsetCommitRequest, codes: CommitCodes) -> OffsetCommitResponse:
    """The codes in the order of the request."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=wanted.partition_index,
                        error_code=codes[TopicPartition(topic.name, wanted.partition_index)],
                    )
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
