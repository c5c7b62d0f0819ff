"""Lists, adds and removes ACLs over the wire.

Role        Acts, through `Calls`.
Source      KafkaAdminClient.describeAcls, createAcls, deleteAcls; AclBinding, AclBindingFilter and their parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.protocol.messages import create_acls as creating
from kafka_zk.protocol.messages import delete_acls as deleting
from kafka_zk.protocol.messages import describe_acls as describing


class ResourcePattern(NamedTuple):
    """What a rule is for. In a filter the name may be None (any), the type ANY, and the pattern type ANY or MATCH."""

    resource_type: ResourceType
    name: str | None
    pattern_type: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        name = "<any>" if self.name is None else self.name
        return (
            f"ResourcePattern(resourceType={self.resource_type.name}, name={name}, "
            f"patternType={self.pattern_type.name})"
        )


class AccessControlEntry(NamedTuple):
    """One rule: who may or may not do what, from where."""

    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        return (
            f"(principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission.name})"
        )


class AclBinding(NamedTuple):
    """A rule and what it is for."""

    pattern: ResourcePattern
    entry: AccessControlEntry


ANY_PATTERN = ResourcePattern(ResourceType.ANY, None, PatternType.ANY)


def describe_acls(calls: Calls, pattern: ResourcePattern = ANY_PATTERN) -> list[AclBinding]:
    """Blocks. All rules of what `pattern` matches. Raises ClusterAuthorizationFailed, SecurityDisabled ..."""

    def build(_: int) -> describing.DescribeAclsRequest:
        return describing.DescribeAclsRequest(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=None,
            host_filter=None,
            operation=Operation.ANY,
            permission_type=Permission.ANY,
        )

    def check(answer: describing.DescribeAclsResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    call = Call("describeAcls", describing.DESCRIBE_ACLS_REQUEST, describing.DESCRIBE_ACLS_RESPONSE, build, check)
    return [
        AclBinding(
            ResourcePattern(
                ResourceType(resource.resource_type), resource.resource_name, PatternType(resource.pattern_type)
            ),
            AccessControlEntry(acl.principal, acl.host, Operation(acl.operation), Permission(acl.permission_type)),
        )
        for resource in calls.to_any_node(call).resources
        for acl in resource.acls
    ]


def create_acls(calls: Calls, bindings: Sequence[AclBinding]) -> None:
    """Blocks. Add rules. Raises the error of the first that was refused, ClusterAuthorizationFailed ..."""
    creations = [
        creating.AclCreation(
            resource_type=pattern.resource_type,
            resource_name=pattern.name or "",
            resource_pattern_type=pattern.pattern_type,
            principal=entry.principal,
            host=entry.host,
            operation=entry.operation,
            permission_type=entry.permission,
        )
        for pattern, entry in bindings
    ]

    def build(_: int) -> creating.CreateAclsRequest:
        return creating.CreateAclsRequest(creations=creations)

    call = Call("createAcls", creating.CREATE_ACLS_REQUEST, creating.CREATE_ACLS_RESPONSE, build)
    for result in calls.to_any_node(call).results:
        raise_for(result.error_code, result.error_message)


def delete_acls(
    calls: Calls, pattern: ResourcePattern, entries: Sequence[AccessControlEntry] | None = None
) -> list[AclBinding]:
    """Blocks. Remove these rules of what `pattern` matches (None: all of them); returns what was removed.

    Raises the error of the first that could not be removed, ClusterAuthorizationFailed ...
    """

    def filter_of(entry: AccessControlEntry | None) -> deleting.DeleteAclsFilter:
        return deleting.DeleteAclsFilter(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=None if entry is None else entry.principal,
            host_filter=None if entry is None else entry.host,
            operation=Operation.ANY if entry is None else entry.operation,
            permission_type=Permission.ANY if entry is None else entry.permission,
        )

    def build(_: int) -> deleting.DeleteAclsRequest:
        wanted: Sequence[AccessControlEntry | None] = entries or [None]
        return deleting.DeleteAclsRequest(filters=[filter_of(entry) for entry in wanted])

    call = Call("deleteAcls", deleting.DELETE_ACLS_REQUEST, deleting.DELETE_ACLS_RESPONSE, build)
    removed = []
    for result in calls.to_any_node(call).filter_results:
        raise_for(result.error_code, result.error_message)
        for acl in result.matching_acls:
            raise_for(acl.error_code, acl.error_message)
            found = ResourcePattern(ResourceType(acl.resource_type), acl.resource_name, PatternType(acl.pattern_type))
            entry = AccessControlEntry(
                acl.principal, acl.host, Operation(acl.operation), Permission(acl.permission_type)
            )
            removed.append(AclBinding(found, entry))
    return removed
