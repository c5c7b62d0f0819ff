"""DescribeAcls (key 29, v0-3): the rules that a filter matches, as far as this broker knows them.

v1 pattern types
Source      AclApis.handleDescribeAcls, DescribeAclsRequest, DescribeAclsResponse.aclsResources.
"""

from __future__ import annotations

from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.error_form import Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.security.acl_messages import by_pattern, filter_of
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import SecurityDisabled
from kafka_zk.protocol.messages.describe_acls import (
    DESCRIBE_ACLS_REQUEST,
    DESCRIBE_ACLS_RESPONSE,
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


@api(DESCRIBE_ACLS_REQUEST, DESCRIBE_ACLS_RESPONSE, errors=Form(text=Text.OWN))
def describe_acls(request: DescribeAclsRequest, ctx: RequestContext) -> DescribeAclsResponse:
    """Yields to other greenlets."""
    wanted = filter_of(request, ctx)
    authorize_request(ctx, Operation.DESCRIBE)
    authorizer = ctx.services.authorizer
    if authorizer is None:
        raise SecurityDisabled("No Authorizer is configured on the broker")
    return DescribeAclsResponse(
        resources=[
            DescribeAclsResource(
                resource_type=pattern.resource_type,
                resource_name=pattern.name,
                pattern_type=pattern.pattern_type,
                acls=[
                    AclDescription(
                        principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
                    )
                    for acl in in_turns(acls)
                ],
            )
            for pattern, acls in by_pattern(authorizer.changes.matching(wanted))
        ]
    )
