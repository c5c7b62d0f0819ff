"""OffsetDelete (key 47, v0): remove offsets of a group that nobody reads on from.

Source      KafkaApis.handleOffsetDeleteRequest, OffsetDeleteResponse.Builder.merge; KIP-496.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.context import RequestContext
from kafka_zk.api.registry import api
from kafka_zk.protocol.errors import ErrorCode, GroupAuthorizationFailed
from kafka_zk.protocol.messages.offset_delete import (
    OFFSET_DELETE_REQUEST,
    OFFSET_DELETE_RESPONSE,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kafka_zk.protocol.types import TopicPartition


@api(OFFSET_DELETE_REQUEST, OFFSET_DELETE_RESPONSE)
def offset_delete(request: OffsetDeleteRequest, ctx: RequestContext) -> OffsetDeleteResponse:
    """Blocks while tombstones are written. If the group refuses, its code stands alone."""
    if not ctx.may(Operation.DELETE, ResourceType.GROUP, request.group_id):
        raise GroupAuthorizationFailed
    codes: dict[TopicPartition, ErrorCode] = {}
    known: list[TopicPartition] = []
    for topic in request.topics:
        may_read = ctx.may(Operation.READ, ResourceType.TOPIC, topic.name)
        for wanted in topic.partitions:
            partition = TopicPartition(topic.name, wanted.partition_index)
            if not may_read:
                codes[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif ctx.services.metadata_cache.partition(*partition) is None:
                codes[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                known.append(partition)
    error, deleted = ctx.services.group_coordinator.delete_offsets(request.group_id, known)
    if error is not ErrorCode.NONE:
        return OffsetDeleteResponse(error_code=error)
    return OffsetDeleteResponse(topics=_topics(codes | deleted))


def _topics(codes: dict[TopicPartition, ErrorCode]) -> list[OffsetDeleteResponseTopic]:
    topics: dict[str, OffsetDeleteResponseTopic] = {}
    for (name, index), code in codes.items():
        topic = topics.setdefault(name, OffsetDeleteResponseTopic(name=name, partitions=[]))
        topic.partitions.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code))
    return list(topics.values())
