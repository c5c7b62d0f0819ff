"""DeleteGroups (key 42, v0-2): delete groups without members, and their offsets.

Source      KafkaApis.handleDeleteGroupsRequest.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.delete_groups import (
    DELETE_GROUPS_REQUEST,
    DELETE_GROUPS_RESPONSE,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

ERRORS = Form((Each("groups_names", "results", key="group_id"),))


@api(DELETE_GROUPS_REQUEST, DELETE_GROUPS_RESPONSE, errors=ERRORS)
def delete_groups(request: DeleteGroupsRequest, ctx: RequestContext) -> DeleteGroupsResponse:
    """Blocks while tombstones are written. A group named twice is answered once."""
    wanted = list(dict.fromkeys(in_turns(request.groups_names)))
    allowed = [name for name in in_turns(wanted) if ctx.may(Operation.DELETE, ResourceType.GROUP, name)]
    codes = ctx.services.group_coordinator.delete_groups(allowed)
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=name, error_code=codes.get(name, ErrorCode.GROUP_AUTHORIZATION_FAILED))
            for name in in_turns(wanted)
        ]
    )
