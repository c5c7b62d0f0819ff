"""OffsetCommit (key 8, v0-9): store committed offsets of a group.

v0 into ZooKeeper · v1 own timestamp · v2-4 own retention · v6 leader epoch · v7 static members
Source      KafkaApis.handleOffsetCommitRequest, GroupCoordinatorAdapter.commitOffsets.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.error_form import PARTITIONS, Form, each_topic
from kafka_zk.api.group import zookeeper_offsets
from kafka_zk.api.group.refusals import Lines, answered, sort_out
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.offset_store import CommitCodes
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import GroupAuthorizationFailed
from kafka_zk.protocol.messages.offset_commit import (
    OFFSET_COMMIT_REQUEST,
    OFFSET_COMMIT_RESPONSE,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_zk.protocol.types import TopicPartition

USUAL_RETENTION = -1
NO_TIMESTAMP = -1

Accepted = dict[TopicPartition, OffsetCommitRequestPartition]


@api(OFFSET_COMMIT_REQUEST, OFFSET_COMMIT_RESPONSE, errors=Form(each_topic(PARTITIONS)))
def offset_commit(
    request: OffsetCommitRequest, ctx: RequestContext
) -> OffsetCommitResponse | Pending[OffsetCommitResponse]:
    """Blocks while the offsets are written."""
    if not ctx.may(Operation.READ, ResourceType.GROUP, request.group_id):
        raise GroupAuthorizationFailed
    refused, accepted = sort_out(request.topics, ctx)
    if not accepted:
        return _response(refused, {}, gives_way=True)
    if ctx.api_version == 0:
        return _response(refused, zookeeper_offsets.commit(request.group_id, accepted, ctx))
    return _commit(request, accepted, refused, ctx)


def _expiry(now_ms: int, retention_ms: int) -> int | None:
    """When offsets with this retention expire; wraps around in 64 bits, as in Java."""
    if retention_ms == USUAL_RETENTION:
        return None
    return (now_ms + retention_ms + 2**63) % 2**64 - 2**63


def _commit(
    request: OffsetCommitRequest, accepted: Accepted, refused: Lines, ctx: RequestContext
) -> OffsetCommitResponse | Pending[OffsetCommitResponse]:
    """Blocks while the batch is written."""
    now_ms = ctx.services.clock.wall_ms()
    expire_timestamp = _expiry(now_ms, request.retention_time_ms)
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
    if committed.is_done and committed.error is None:
        return _response(refused, committed.value, gives_way=True)
    # The greenlet that completes it must not switch.
    return committed.then(lambda codes: _response(refused, codes))


def _response(refused: Lines, codes: CommitCodes, *, gives_way: bool = False) -> OffsetCommitResponse:
    """Yields to other greenlets if `gives_way`."""
    return OffsetCommitResponse(
        topics=answered(
            refused,
            codes,
            lambda name, lines: OffsetCommitResponseTopic(name=name, partitions=lines),
            lambda index, code: OffsetCommitResponsePartition(partition_index=index, error_code=code),
            gives_way=gives_way,
        )
    )
