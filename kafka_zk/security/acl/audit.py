"""The lines of the audit log, kafka.authorizer.logger.

Role        Pure.
Invariants  One check gives one line: no name makes two of it.
Source      AclAuthorizer.logAuditMessage; Action.logIfAllowed, logIfDenied.
"""

from __future__ import annotations

from enum import IntEnum

from kafka_zk.one_line import one_line
from kafka_zk.protocol.acl import Operation, PatternType, ResourceType, pascal_case
from kafka_zk.protocol.api_table import API_TABLE


class Audit(IntEnum):
    """What a check is for, which decides the level of its line."""

    ACCESS = 0
    """The client asked for this: a denial is told at INFO, a permission at DEBUG."""
    FILTER = 1
    """Another right would do, or what is denied is only left out: a denial is told at TRACE."""
    OPERATIONS = 2
    """For a field of authorized operations, which gives no access: TRACE."""


def resource_text(resource_type: int, name: str, pattern_type: int = PatternType.LITERAL) -> str:
    """`Topic:LITERAL:t`."""
    return f"{pascal_case(ResourceType(resource_type))}:{PatternType(pattern_type).name}:{name}"


def line(
    principal: str, host: str, api_key: int, operation: int, resource: str, *, allowed: bool, reference_count: int
) -> str:
    """One line, whatever characters a client has put into a name. `reference_count`: how often the request names it."""
    outcome = "Allowed" if allowed else "Denied"
    api = API_TABLE.get(api_key)
    text = (
        f"Principal = {principal} is {outcome} Operation = {pascal_case(Operation(operation))} "
        f"from host = {host} on resource = {resource} "
        f"for request = {api.name if api else api_key} with resourceRefCount = {reference_count}"
    )
    return one_line(text)
