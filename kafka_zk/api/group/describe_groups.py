"""DescribeGroups (key 15, v0-5): state, protocol and members of groups.

v3 authorized operations · v4 static members
Source      KafkaApis.handleDescribeGroupsRequest, GroupCoordinatorAdapter.describeGroups.
"""

from __future__ import annotations

from kafka_zk.api.authorization import NOT_REQUESTED, Operation, ResourceType, authorize, authorized_operations
from kafka_zk.api.error_form import Each, Form
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_distinct
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.protocol.messages.describe_groups import (
    DESCRIBE_GROUPS_REQUEST,
    DESCRIBE_GROUPS_RESPONSE,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

ERRORS = Form((Each("groups", "groups", key="group_id"),))


@api(DESCRIBE_GROUPS_REQUEST, DESCRIBE_GROUPS_RESPONSE, errors=ERRORS)
def describe_groups(request: DescribeGroupsRequest, ctx: RequestContext) -> DescribeGroupsResponse:
    """Yields to other greenlets. Describe each group."""

    def describe(group_id: str) -> DescribedGroup:
        authorize(ctx, Operation.DESCRIBE, ResourceType.GROUP, group_id)
        error, group = ctx.services.group_coordinator.describe_group(group_id)
        operations = NOT_REQUESTED
        if request.include_authorized_operations and error is ErrorCode.NONE:
            operations = authorized_operations(ctx, ResourceType.GROUP, group_id)
        return DescribedGroup(
            error_code=error,
            group_id=group_id,
            group_state=group.state,
            protocol_type=group.protocol_type,
            protocol_data=group.protocol,
            authorized_operations=operations,
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata,
                    member_assignment=member.assignment,
                )
                for member in group.members
            ],
        )

    return DescribeGroupsResponse(groups=per_distinct(request.groups, str, describe, _refused))


def _refused(group_id: str, error: BrokerError) -> DescribedGroup:
    return DescribedGroup(error_code=error.code, group_id=group_id)
