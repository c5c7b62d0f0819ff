"""DeleteAcls (key 31, v0-3): remove the rules that filters match, and tell which.

v1 pattern types
Source      AclApis.handleDeleteAcls, DeleteAclsRequest, DeleteAclsResponse.filterResult.
"""

from __future__ import annotations

from kafka_zk.api.api_error import api_error_message
from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.security.acl_messages import filter_of
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import ErrorCode, SecurityDisabled
from kafka_zk.protocol.messages.delete_acls import (
    DELETE_ACLS_REQUEST,
    DELETE_ACLS_RESPONSE,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kafka_zk.security.acl.changes import Removal

ERRORS = Form((Each("filters", "filter_results"),), Text.OWN, uncounted="filter_results.matching_acls")


@api(DELETE_ACLS_REQUEST, DELETE_ACLS_RESPONSE, errors=ERRORS)
def delete_acls(request: DeleteAclsRequest, ctx: RequestContext) -> DeleteAclsResponse:
    """Blocks. Remove what each filter matches."""
    filters = [filter_of(each, ctx) for each in in_turns(request.filters)]
    authorize_request(ctx, Operation.ALTER)
    authorizer = ctx.services.authorizer
    if authorizer is None:
        raise SecurityDisabled("No Authorizer is configured.")
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(
                error_code=ErrorCode.NONE,
                error_message=None,
                matching_acls=[_matching(removal) for removal in in_turns(removals)],
            )
            for removals in authorizer.changes.delete(filters)
        ]
    )


def _matching(removal: Removal) -> DeleteAclsMatchingAcl:
    (pattern, acl), error = removal
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else api_error_message(error),
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
