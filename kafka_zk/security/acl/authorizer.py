"""The authorizer: decisions from rules, remembered, and told to the audit log.

Role        Acts on the log only. Rules come through `cache`, which others keep up to date.
Invariants  A remembered decision is of the rules as they are: the first check after a change forgets all of them.
            What is remembered is bounded, since clients choose names.
            A check does not switch.
Source      AclAuthorizer.authorize, authorizeByResourceType, isSuperUser.
"""

from __future__ import annotations

import logging
from typing import Final, Protocol

from kafka_zk.protocol.acl import Operation, PatternType, Permission
from kafka_zk.security.acl.audit import Audit, line, resource_text
from kafka_zk.security.acl.cache import AclCache
from kafka_zk.security.acl.changes import AclChanges
from kafka_zk.security.acl.decision import SUPER_USER, Decision, Policy, decide, decide_on_any
from kafka_zk.security.acl.rules import ResourcePattern

TRACE: Final = 5
"""log4j's level below DEBUG."""

MOST_REMEMBERED: Final = 50_000
"""Decisions; about 20 MB with long names. Then all are forgotten."""

LONGEST_REMEMBERED: Final = 512
"""Characters of a principal and a name: no topic is longer. Clients may ask about names of 32 KB."""

log = logging.getLogger("kafka.authorizer.logger")

# By Audit: the level of a permission's line, and of a denial's.
_LEVELS: Final = {
    Audit.ACCESS: (logging.DEBUG, logging.INFO),
    Audit.FILTER: (logging.DEBUG, TRACE),
    Audit.OPERATIONS: (TRACE, TRACE),
}
_ALLOWED_LEVELS: Final = tuple(_LEVELS[audit][0] for audit in Audit)
_DENIED_LEVELS: Final = tuple(_LEVELS[audit][1] for audit in Audit)


class Asker(Protocol):
    """The client of a request: a RequestContext."""

    api_key: int

    @property
    def principal(self) -> str: ...

    @property
    def client_host(self) -> str: ...


class AclAuthorizer:
    """Decides by the rules in `cache` and by `policy`. `changes` alters the rules."""

    def __init__(self, cache: AclCache, policy: Policy, changes: AclChanges) -> None:
        self.cache = cache
        self.changes = changes
        self._policy = policy
        self._remembered: dict[tuple[str, str, int, int, str], Decision] = {}
        self._remembered_version = -1

    def may(
        self,
        asker: Asker,
        operation: int,
        resource_type: int,
        name: str,
        audit: int = Audit.ACCESS,
        reference_count: int = 1,
    ) -> bool:
        """Whether the client may do this to one resource; tells the audit log."""
        cache = self.cache
        if cache.version != self._remembered_version:
            self._remembered.clear()
            self._remembered_version = cache.version
        key = (asker.principal, asker.client_host, operation, resource_type, name)
        decision = self._remembered.get(key)
        if decision is None:
            decision = decide(cache, self._policy, *key)
            if len(name) + len(asker.principal) <= LONGEST_REMEMBERED:
                if len(self._remembered) >= MOST_REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = decision
        level = _ALLOWED_LEVELS[audit] if decision.allowed else _DENIED_LEVELS[audit]
        if log.isEnabledFor(level):
            self._tell(level, asker, key, decision, reference_count)
        return decision.allowed

    def may_on_any(self, asker: Asker, operation: int, resource_type: int) -> bool:
        """Whether the client may do this to some resource of the type, an operation of `cache.ON_ANY`."""
        principal, host = asker.principal, asker.client_host
        if principal in self._policy.super_users:
            _tell_super_user(principal)
            return True
        allowed = decide_on_any(self.cache, self._policy, principal, host, operation, resource_type)
        level = logging.DEBUG if allowed else logging.INFO
        if log.isEnabledFor(level):
            resource = resource_text(resource_type, "NONE", PatternType.UNKNOWN)
            log.log(
                level,
                line(principal, host, asker.api_key, operation, resource, allowed=allowed, reference_count=0),
            )
        return allowed

    def _tell(
        self,
        level: int,
        asker: Asker,
        key: tuple[str, str, int, int, str],
        decision: Decision,
        reference_count: int,
    ) -> None:
        principal, host, operation, resource_type, name = key
        if log.isEnabledFor(logging.DEBUG):
            if decision is SUPER_USER:
                _tell_super_user(principal)
            else:
                _tell_why(decision, host, operation, ResourcePattern(resource_type, name, PatternType.LITERAL))
        log.log(
            level,
            line(
                principal,
                host,
                asker.api_key,
                operation,
                resource_text(resource_type, name),
                allowed=decision.allowed,
                reference_count=reference_count,
            ),
        )


def _tell_super_user(principal: str) -> None:
    log.debug("principal = %s is a super user, allowing operation without checking acls.", principal)


def _tell_why(decision: Decision, host: str, operation: int, resource: ResourcePattern) -> None:
    if not decision.found_rules:
        log.debug("No acl found for resource %s, authorized = %s", resource, str(decision.allowed).lower())
    elif decision.because is not None:
        log.debug(
            "operation = %s on resource = %s from host = %s is %s based on acl = %s",
            Operation(operation).name,
            resource,
            host,
            Permission(decision.because.permission).name,
            decision.because,
        )
