"""SyncGroup (key 14, v0-5): the leader submits the assignment, every member receives its own.

v3 static members · v5 protocol type and name, which are then required
Source      KafkaApis.handleSyncGroupRequest.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.coordinator.group.decisions.actions import SyncResult
from kafka_zk.coordinator.group.decisions.syncing import Sync
from kafka_zk.giving_way import in_turns
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import InconsistentGroupProtocol
from kafka_zk.protocol.messages.sync_group import (
    SYNC_GROUP_REQUEST,
    SYNC_GROUP_RESPONSE,
    SyncGroupRequest,
    SyncGroupResponse,
)

PROTOCOL_REQUIRED_FROM = 5


@api(SYNC_GROUP_REQUEST, SYNC_GROUP_RESPONSE)
def sync_group(request: SyncGroupRequest, ctx: RequestContext) -> Pending[SyncGroupResponse]:
    """Blocks while it reads many assignments."""
    if ctx.api_version >= PROTOCOL_REQUIRED_FROM and (request.protocol_type is None or request.protocol_name is None):
        raise InconsistentGroupProtocol
    authorize(ctx, Operation.READ, ResourceType.GROUP, request.group_id)
    sync = Sync(
        member_id=request.member_id,
        generation=request.generation_id,
        group_instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments={each.member_id: bytes(each.assignment) for each in in_turns(request.assignments)},
    )
    return ctx.services.group_coordinator.sync_group(request.group_id, sync).then(_response)


def _response(synced: SyncResult) -> SyncGroupResponse:
    error, assignment, protocol_type, protocol_name = synced
    return SyncGroupResponse(
        error_code=error, protocol_type=protocol_type, protocol_name=protocol_name, assignment=assignment
    )
