"""OffsetDelete (key 47, v0): delete committed offsets of topics that a group no longer reads.

Source      KafkaApis.handleOffsetDeleteRequest, OffsetDeleteResponse.Builder.merge; KIP-496.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.group.refusals import answered, sort_out
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.offset_delete import (
    OFFSET_DELETE_REQUEST,
    OFFSET_DELETE_RESPONSE,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


@api(OFFSET_DELETE_REQUEST, OFFSET_DELETE_RESPONSE)
def offset_delete(request: OffsetDeleteRequest, ctx: RequestContext) -> OffsetDeleteResponse:
    """Blocks while tombstones are written. If the group refuses, only its error code is returned."""
    authorize(ctx, Operation.DELETE, ResourceType.GROUP, request.group_id)
    refused, known = sort_out(request.topics, ctx)
    error, codes = ctx.services.group_coordinator.delete_offsets(request.group_id, known)
    if error is not ErrorCode.NONE:
        return OffsetDeleteResponse(error_code=error)
    return OffsetDeleteResponse(
        topics=answered(
            refused,
            codes,
            lambda name, lines: OffsetDeleteResponseTopic(name=name, partitions=lines),
            lambda index, code: OffsetDeleteResponsePartition(partition_index=index, error_code=code),
        )
    )
