"""Operations and resource types as ACLs and authorizedOperations number them.

Role        Pure. Handlers call `ctx.may` with these codes; most only need the error raised.
Source      org.apache.kafka.common.acl.AclOperation, common.resource.ResourceType, AclEntry.supportedOperations.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from kafka_zk.protocol.errors import ClusterAuthorizationFailed, GroupAuthorizationFailed, TopicAuthorizationFailed

if TYPE_CHECKING:
    from kafka_zk.api.request_context import RequestContext

CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""

NOT_REQUESTED = -(2**31)
"""authorizedOperations where the client did not ask for them."""


class Operation(IntEnum):
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class ResourceType(IntEnum):
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


SUPPORTED_OPERATIONS: dict[ResourceType, tuple[Operation, ...]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (Operation.READ, Operation.DELETE, Operation.DESCRIBE),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
}


_REFUSALS = {
    ResourceType.TOPIC: TopicAuthorizationFailed,
    ResourceType.GROUP: GroupAuthorizationFailed,
    ResourceType.CLUSTER: ClusterAuthorizationFailed,
}


def authorize(ctx: RequestContext, operation: Operation, resource_type: ResourceType, name: str = CLUSTER_NAME) -> None:
    """Raise the authorization error of a topic, a group or the cluster unless the client may do this with it."""
    if not ctx.may(operation, resource_type, name):
        raise _REFUSALS[resource_type]


def authorized_operations(ctx: RequestContext, resource_type: ResourceType, name: str) -> int:
    """The bit field of what the client may do with a resource: bit n for the operation with code n."""
    return sum(
        1 << operation for operation in SUPPORTED_OPERATIONS[resource_type] if ctx.may(operation, resource_type, name)
    )
