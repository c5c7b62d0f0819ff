"""ACLs as values: a rule, the pattern of resources it is for, and both as Kafka writes them.

Role        Pure.
Source      AccessControlEntry, ResourcePattern, AclBinding; org.apache.kafka.security.authorizer.AclEntry;
            SecurityUtils.parseKafkaPrincipal.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, TypeVar

from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType, pascal_case
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.zk.znodes.access import AclEntry
from kafka_zk.zk.znodes.access import PatternType as StoredPatternType

E = TypeVar("E", bound=IntEnum)


class Acl(NamedTuple):
    """One rule. Codes of `protocol.acl`; UNKNOWN where ZooKeeper holds a word that this version does not know.

    A plain tuple of these values equals it: decisions look rules up without making one.
    """

    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        permission, operation = Permission(self.permission).name, Operation(self.operation).name
        return f"{self.principal} has {permission} permission for operations: {operation} from hosts: {self.host}"


class ResourcePattern(NamedTuple):
    """What rules are for: one resource, all of a type (the literal name `*`), or those whose names begin so."""

    resource_type: int
    name: str
    pattern_type: int

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={ResourceType(self.resource_type).name}, name={self.name}, "
            f"patternType={PatternType(self.pattern_type).name})"
        )


class AclBinding(NamedTuple):
    """A rule and what it is for."""

    pattern: ResourcePattern
    acl: Acl


def check_principal(text: str) -> None:
    """Raise BrokerError unless `text` has the form `type:name`."""
    if ":" not in text:
        raise BrokerError(f"expected a string in format principalType:principalName but got {text}")


def from_znode(entries: Iterable[AclEntry]) -> frozenset[Acl]:
    """The rules of one znode; words are taken in any case."""
    return frozenset(
        Acl(
            entry.principal,
            entry.host,
            code_named(Operation, entry.operation),
            code_named(Permission, entry.permission_type),
        )
        for entry in entries
    )


def to_znode(acls: Iterable[Acl]) -> list[AclEntry]:
    """The entries of one znode, in a steady order."""
    return [
        AclEntry(
            acl.principal, pascal_case(Permission(acl.permission)), acl.host, pascal_case(Operation(acl.operation))
        )
        for acl in sorted(acls)
    ]


@lru_cache(maxsize=256)
def code_named(kind: type[E], word: str) -> E:
    """The code of `ClusterAction`, `clusteraction` or `CLUSTER_ACTION`; UNKNOWN (0) for any other word."""
    wanted = word.replace("_", "").lower()
    return next((code for code in kind if code.name.replace("_", "").lower() == wanted), kind(0))


def stored_pattern_type(pattern_type: int) -> StoredPatternType:
    """The store that holds the rules of such patterns."""
    return "PREFIXED" if pattern_type == PatternType.PREFIXED else "LITERAL"
