"""Heartbeat (key 12, v0-4): keeps a member alive, and checks its generation.

Source      KafkaApis.handleHeartbeatRequest.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.protocol.messages.heartbeat import (
    HEARTBEAT_REQUEST,
    HEARTBEAT_RESPONSE,
    HeartbeatRequest,
    HeartbeatResponse,
)


@api(HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE)
def heartbeat(request: HeartbeatRequest, ctx: RequestContext) -> HeartbeatResponse:
    authorize(ctx, Operation.READ, ResourceType.GROUP, request.group_id)
    error = ctx.services.group_coordinator.heartbeat(
        request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        generation=request.generation_id,
    )
    return HeartbeatResponse(error_code=error)
