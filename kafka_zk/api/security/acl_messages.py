"""ACLs between their messages and their values: what DescribeAcls, CreateAcls and DeleteAcls share.

Role        Pure, but for the wait between elements.
Invariants  The code 0 makes a request undecodable: its connection is closed. Other codes without a meaning count as
            UNKNOWN: a filter matches nothing then, and an ACL cannot be made.
Source      DescribeAclsRequest, CreateAclsRequest, DeleteAclsRequest: their checks for UNKNOWN, and for other patterns
            than literal ones in version 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Protocol

from kafka_zk.api.request_context import RequestContext
from kafka_zk.network.errors import CloseConnection
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.create_acls import AclCreation
from kafka_zk.security.acl.filters import AclFilter, EntryFilter, PatternFilter
from kafka_zk.security.acl.rules import Acl, AclBinding, ResourcePattern

PATTERN_TYPES_FROM = 1
"""Before this version there are literal patterns only."""


class FilterMessage(Protocol):
    """A filter, in the two requests that have one."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def filter_of(message: FilterMessage, ctx: RequestContext) -> AclFilter:
    """Raises CloseConnection."""
    kind, pattern_type = message.resource_type_filter, message.pattern_type_filter
    _check(ctx, kind, pattern_type, message.operation, message.permission_type)
    return AclFilter(
        PatternFilter(_known(ResourceType, kind), message.resource_name_filter, _known(PatternType, pattern_type)),
        EntryFilter(
            message.principal_filter,
            message.host_filter,
            _known(Operation, message.operation),
            _known(Permission, message.permission_type),
        ),
    )


def check_creation(message: AclCreation, ctx: RequestContext) -> None:
    """Raises CloseConnection."""
    _check(ctx, message.resource_type, message.resource_pattern_type, message.operation, message.permission_type)


def binding_of(message: AclCreation) -> AclBinding:
    """Raises BrokerError, which fails the request, for what only filters may say."""
    if (
        message.resource_type == ResourceType.ANY
        or message.resource_pattern_type in (PatternType.ANY, PatternType.MATCH)
        or message.operation == Operation.ANY
        or message.permission_type == Permission.ANY
    ):
        raise BrokerError("An ACL names one resource type, pattern type, operation and permission")
    return AclBinding(
        ResourcePattern(
            _known(ResourceType, message.resource_type),
            message.resource_name,
            _known(PatternType, message.resource_pattern_type),
        ),
        Acl(
            message.principal,
            message.host,
            _known(Operation, message.operation),
            _known(Permission, message.permission_type),
        ),
    )


def _known(kind: type[IntEnum], code: int) -> int:
    """UNKNOWN for a code without a meaning."""
    return code if 0 < code <= max(kind) else 0


def by_pattern(bindings: Iterator[AclBinding]) -> Iterator[tuple[ResourcePattern, Sequence[Acl]]]:
    """The rules of each pattern; those of one pattern come together."""
    pattern: ResourcePattern | None = None
    acls: list[Acl] = []
    for binding in bindings:
        if binding.pattern != pattern:
            if pattern is not None:
                yield pattern, acls
            pattern, acls = binding.pattern, []
        acls.append(binding.acl)
    if pattern is not None:
        yield pattern, acls


def _check(ctx: RequestContext, resource_type: int, pattern_type: int, operation: int, permission: int) -> None:
    if 0 in (resource_type, pattern_type, operation, permission):
        raise CloseConnection(f"Error getting request {ctx!r}: it contains UNKNOWN elements")
    if ctx.api_version < PATTERN_TYPES_FROM and pattern_type != PatternType.LITERAL:
        raise CloseConnection(f"Error getting request {ctx!r}: version 0 only supports literal resource pattern types")
