"""What handlers ask before they act, and the authorizedOperations of a resource.

Role        Pure. Handlers call `ctx.may` with the codes of `protocol.acl`; most only need the error raised.
Source      org.apache.kafka.common.acl.AclOperation, common.resource.ResourceType, AclEntry.supportedOperations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_zk.protocol.acl import CLUSTER_NAME, SUPPORTED_OPERATIONS, Operation, ResourceType
from kafka_zk.protocol.errors import (
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)
from kafka_zk.security.acl.audit import Audit

if TYPE_CHECKING:
    from kafka_zk.api.request_context import RequestContext

__all__ = [
    "CLUSTER_NAME",
    "NOT_REQUESTED",
    "SUPPORTED_OPERATIONS",
    "Audit",
    "Operation",
    "ResourceType",
    "authorize",
    "authorize_request",
    "authorized_operations",
]

NOT_REQUESTED = -(2**31)
"""authorizedOperations where the client did not ask for them."""


_REFUSALS = {
    ResourceType.TOPIC: TopicAuthorizationFailed,
    ResourceType.GROUP: GroupAuthorizationFailed,
    ResourceType.CLUSTER: ClusterAuthorizationFailed,
    ResourceType.TRANSACTIONAL_ID: TransactionalIdAuthorizationFailed,
}


def authorize(ctx: RequestContext, operation: Operation, resource_type: ResourceType, name: str = CLUSTER_NAME) -> None:
    """Raise the authorization error of the resource's type unless the client may do this with it."""
    if not ctx.may(operation, resource_type, name):
        raise _REFUSALS[resource_type]


def authorize_request(ctx: RequestContext, operation: Operation) -> None:
    """Raise ClusterAuthorizationFailed, for the request as a whole, unless the client may do this to the cluster.

    Kafka's text shows the request object with its addresses in memory.
    """
    if not ctx.may(operation, ResourceType.CLUSTER, CLUSTER_NAME):
        raise ClusterAuthorizationFailed("Request is not authorized.")


def authorized_operations(ctx: RequestContext, resource_type: ResourceType, name: str) -> int:
    """The bit field of what the client may do with a resource: bit n for the operation with code n."""
    return sum(
        1 << operation
        for operation in SUPPORTED_OPERATIONS[resource_type]
        if ctx.may(operation, resource_type, name, Audit.OPERATIONS)
    )
