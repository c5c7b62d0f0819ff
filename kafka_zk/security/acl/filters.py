"""Which ACLs a filter matches.

Role        Pure.
Source      ResourcePatternFilter, AccessControlEntryFilter, AclBindingFilter; KIP-290.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_zk.protocol.acl import WILDCARD, Operation, PatternType, Permission, ResourceType
from kafka_zk.security.acl.rules import Acl, ResourcePattern


class PatternFilter(NamedTuple):
    """Any name is None. Pattern type ANY wants an equal name in either store; MATCH also literal `*` and prefixes."""

    resource_type: int
    name: str | None
    pattern_type: int

    def matches(self, pattern: ResourcePattern) -> bool:
        if self.resource_type not in (ResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None or self.name == pattern.name:
            return True
        if self.pattern_type != PatternType.MATCH:
            return False
        if pattern.pattern_type == PatternType.PREFIXED:
            return self.name.startswith(pattern.name)
        return pattern.name == WILDCARD

    @property
    def only_pattern(self) -> ResourcePattern | None:
        """The one pattern that it can match; None if there may be several."""
        if self.name is None or self.resource_type == ResourceType.ANY:
            return None
        if self.pattern_type in (PatternType.ANY, PatternType.MATCH):
            return None
        return ResourcePattern(self.resource_type, self.name, self.pattern_type)


class EntryFilter(NamedTuple):
    """Any principal or host is None; both compare as text. Operation and permission may be ANY."""

    principal: str | None
    host: str | None
    operation: int
    permission: int

    def matches(self, acl: Acl) -> bool:
        return (
            self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )


class AclFilter(NamedTuple):
    pattern: PatternFilter
    entry: EntryFilter


EVERYTHING = AclFilter(
    PatternFilter(ResourceType.ANY, None, PatternType.ANY), EntryFilter(None, None, Operation.ANY, Permission.ANY)
)
