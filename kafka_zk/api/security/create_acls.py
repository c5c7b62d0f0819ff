"""CreateAcls (key 30, v0-3): add rules. Answered once they are in ZooKeeper and known to this broker.

v1 pattern types
Source      AclApis.handleCreateAcls, CreateAclsRequest.
"""

from __future__ import annotations

from kafka_zk.api.api_error import api_error_message
from kafka_zk.api.authorization import Operation, authorize_request
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.security.acl_messages import binding_of, check_creation
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.acl import CLUSTER_NAME, ResourceType
from kafka_zk.protocol.errors import BrokerError, InvalidRequest, SecurityDisabled
from kafka_zk.protocol.messages.create_acls import (
    CREATE_ACLS_REQUEST,
    CREATE_ACLS_RESPONSE,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from kafka_zk.security.acl.rules import ResourcePattern


@api(CREATE_ACLS_REQUEST, CREATE_ACLS_RESPONSE, errors=Form((Each("creations", "results"),), Text.OWN))
def create_acls(request: CreateAclsRequest, ctx: RequestContext) -> CreateAclsResponse:
    """Blocks. Add each rule."""
    for creation in in_turns(request.creations):
        check_creation(creation, ctx)
    authorize_request(ctx, Operation.ALTER)
    authorizer = ctx.services.authorizer
    if authorizer is None:
        raise SecurityDisabled("No Authorizer is configured.")
    bindings = [binding_of(creation) for creation in in_turns(request.creations)]
    errors = [_fault_of(binding.pattern) for binding in in_turns(bindings)]
    valid = [binding for binding, error in zip(bindings, errors, strict=True) if error is None]
    outcomes = iter(authorizer.changes.create(valid))
    return CreateAclsResponse(
        results=[_result(next(outcomes) if error is None else error) for error in in_turns(errors)]
    )


def _fault_of(pattern: ResourcePattern) -> BrokerError | None:
    if pattern.resource_type == ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        return InvalidRequest(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not pattern.name:
        return InvalidRequest("Invalid empty resource name")
    return None


def _result(error: BrokerError | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error_code=error.code, error_message=api_error_message(error))
