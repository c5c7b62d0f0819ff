"""LeaveGroup (key 13, v0-5): members leave, or an operator removes static ones.

v3 several members, each with its own code · v5 reason
Source      KafkaApis.handleLeaveGroupRequest, LeaveGroupRequest.members, LeaveGroupResponse.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.coordinator.group.coordinator import Leaver
from kafka_zk.giving_way import in_turns, let_go
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.leave_group import (
    LEAVE_GROUP_REQUEST,
    LEAVE_GROUP_RESPONSE,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)

SEVERAL_MEMBERS_FROM = 3


@api(LEAVE_GROUP_REQUEST, LEAVE_GROUP_RESPONSE)
def leave_group(request: LeaveGroupRequest, ctx: RequestContext) -> LeaveGroupResponse:
    """Blocks if many members leave."""
    authorize(ctx, Operation.READ, ResourceType.GROUP, request.group_id)
    several = ctx.api_version >= SEVERAL_MEMBERS_FROM
    if several:
        leavers = [
            Leaver(member.member_id, member.group_instance_id, member.reason or "not provided")
            for member in in_turns(request.members)
        ]
    else:
        leavers = [Leaver(request.member_id, None, "not provided")]
    error, member_errors = ctx.services.group_coordinator.leave_group(request.group_id, leavers)
    if not several:
        # The one member's error has no other place.
        return LeaveGroupResponse(error_code=error or next(iter(member_errors), ErrorCode.NONE))
    members = [
        MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=code)
        for leaver, code in in_turns(zip(leavers, member_errors, strict=bool(member_errors)))
    ]
    let_go(leavers)
    return LeaveGroupResponse(error_code=error, members=members)
