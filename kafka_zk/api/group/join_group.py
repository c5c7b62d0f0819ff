"""JoinGroup (key 11, v0-9): join a group, or rejoin it.

v1 rebalance timeout · v4 member id required (KIP-394) · v5 static members (KIP-345) · v8 reason · v9 skip assignment
Source      KafkaApis.handleJoinGroupRequest, JoinGroupRequest, JoinGroupResponse.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.coordinator.group.decisions.actions import JoinResult
from kafka_zk.coordinator.group.decisions.joining import Join
from kafka_zk.coordinator.placement import LONGEST_STRING_BYTES, is_storable
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import InvalidRequest
from kafka_zk.protocol.messages.join_group import (
    JOIN_GROUP_REQUEST,
    JOIN_GROUP_RESPONSE,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafka_zk.protocol.schema import Versions

REBALANCE_TIMEOUT_FROM = 1
MEMBER_ID_REQUIRED_FROM = 4
NULL_PROTOCOL_NAME_FROM = 7
SKIP_ASSIGNMENT_FROM = 9
MAX_PROTOCOLS = 1_000
"""Limit per member. Clients name one to three; a group often scans those of all its members."""


ERRORS = Form(versioned_constants=(("protocol_name", Versions.parse("7+"), None),))


@api(JOIN_GROUP_REQUEST, JOIN_GROUP_RESPONSE, errors=ERRORS)
def join_group(request: JoinGroupRequest, ctx: RequestContext) -> Pending[JoinGroupResponse]:
    authorize(ctx, Operation.READ, ResourceType.GROUP, request.group_id)
    if len(request.protocols) > MAX_PROTOCOLS:
        raise InvalidRequest(f"A member may name {MAX_PROTOCOLS} protocols, not {len(request.protocols)}.")
    join = _join(request, ctx)
    if not all(map(is_storable, _stored(join))):
        raise InvalidRequest(f"A name of this member takes more than {LONGEST_STRING_BYTES} bytes in a record.")
    joined = ctx.services.group_coordinator.join_group(request.group_id, join)
    return joined.then(lambda result: _response(result, ctx.api_version))


def _stored(join: Join) -> Iterator[str]:
    """The strings of a request that may become part of the group's record. A new member id holds an instance id."""
    yield from (join.new_member_id, join.client_id, join.protocol_type)
    yield from (name for name, _ in join.protocols)


def _join(request: JoinGroupRequest, ctx: RequestContext) -> Join:
    """The request in the coordinator's terms; bytes are copied out of the frame."""
    version = ctx.api_version
    client_id = ctx.client_id or ""
    instance_id = request.group_instance_id
    return Join(
        member_id=request.member_id,
        new_member_id=ctx.services.group_coordinator.new_member_id(client_id, instance_id),
        group_instance_id=instance_id,
        client_id=client_id,
        client_host=f"/{ctx.client_host}",
        rebalance_timeout_ms=(
            request.session_timeout_ms if version < REBALANCE_TIMEOUT_FROM else request.rebalance_timeout_ms
        ),
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        requires_known_member_id=version >= MEMBER_ID_REQUIRED_FROM and instance_id is None,
        may_skip_assignment=version >= SKIP_ASSIGNMENT_FROM,
        reason=request.reason or "not provided",
    )


def _response(result: JoinResult, api_version: int) -> JoinGroupResponse:
    protocol_name = result.protocol_name
    if protocol_name is None and api_version < NULL_PROTOCOL_NAME_FROM:
        protocol_name = ""
    return JoinGroupResponse(
        error_code=result.error,
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=protocol_name,
        leader=result.leader_id,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
        members=[
            JoinGroupResponseMember(member_id=member_id, group_instance_id=instance_id, metadata=metadata)
            for member_id, instance_id, metadata in result.members
        ],
    )
