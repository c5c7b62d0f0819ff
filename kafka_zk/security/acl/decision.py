"""May this principal do this operation, from this host, on this resource?

Role        Pure.
Invariants  A matching DENY of the operation or of ALL wins over everything but a super user; implications are for ALLOW
            only: who is denied Read may still Describe.
Source      AclAuthorizer.authorizeAction, authorizeByResourceType, allowAny; AclOperation's table of implications.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_zk.protocol.acl import EVERYBODY, IMPLIED_BY, WILDCARD, Operation, PatternType, Permission
from kafka_zk.security.acl.cache import AclCache
from kafka_zk.security.acl.rules import Acl


class Decision(NamedTuple):
    """`because`: the rule that decided; None where none matched. `found_rules`: whether the resource has any."""

    allowed: bool
    because: Acl | None = None
    found_rules: bool = True


class Policy(NamedTuple):
    """What holds beside the rules. Super users as `type:name`, case and all."""

    super_users: frozenset[str] = frozenset()
    allow_everyone_if_no_acl_found: bool = False


SUPER_USER = Decision(True)
NO_MATCH = Decision(False)


def decide(
    cache: AclCache, policy: Policy, principal: str, host: str, operation: int, resource_type: int, name: str
) -> Decision:
    """The decision for one resource, named literally."""
    if principal in policy.super_users:
        return SUPER_USER
    applying = cache.applying(resource_type, name)
    if not applying:
        return Decision(policy.allow_everyone_if_no_acl_found, None, False)
    for permission, operations in (
        (Permission.DENY, (operation,)),
        (Permission.ALLOW, (operation, *IMPLIED_BY.get(operation, ()))),
    ):
        for rule in rules_about(principal, host, operations, permission):
            if any(rule in rules for rules in applying):
                return Decision(permission is Permission.ALLOW, Acl(*rule))
    return NO_MATCH


def decide_on_any(
    cache: AclCache, policy: Policy, principal: str, host: str, operation: int, resource_type: int
) -> bool:
    """Whether there may be a resource of the type on which the operation is allowed (KIP-679).

    An operation of `cache.ON_ANY`. Implications do not count. A denied prefix covers every allowed name and prefix that
    begins with it.
    """
    if principal in policy.super_users:
        return True
    denied, allowed = (
        tuple(rules_about(principal, host, (operation,), permission))
        for permission in (Permission.DENY, Permission.ALLOW)
    )
    denied_names = cache.names_with(resource_type, PatternType.LITERAL, denied)
    if WILDCARD in denied_names:
        return False
    if policy.allow_everyone_if_no_acl_found:
        return True
    denied_prefixes = cache.names_with(resource_type, PatternType.PREFIXED, denied)

    def is_covered(name: str) -> bool:
        return any(name[:length] in denied_prefixes for length in range(1, len(name) + 1))

    if any(not is_covered(prefix) for prefix in cache.names_with(resource_type, PatternType.PREFIXED, allowed)):
        return True
    return any(
        name == WILDCARD or (name not in denied_names and not is_covered(name))
        for name in cache.names_with(resource_type, PatternType.LITERAL, allowed)
    )


def rules_about(
    principal: str, host: str, operations: tuple[int, ...], permission: int
) -> Iterator[tuple[str, str, int, int]]:
    """The rules that match, as tuples: this principal or everybody, this host or every one, the operation or ALL."""
    for operation in (*operations, Operation.ALL):
        for who in (principal, EVERYBODY):
            yield who, host, operation, permission
            yield who, WILDCARD, operation, permission
