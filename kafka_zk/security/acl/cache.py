"""The rules that this broker knows, arranged for decisions.

Role        Pure. One owner changes it (store.py); decisions read it.
Invariants  Never half changed: no method yields. `version` grows with each change, so that whoever keeps what follows
            from the rules (decisions) knows when it is stale.
            A pattern without rules is not kept, except one whose znode could not be read when there was nothing to keep
            from before: it counts as a pattern with rules of which none matches, and opens nothing.
Source      AclAuthorizer.aclCache, updateCache, matchingAcls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafka_zk.protocol.acl import WILDCARD, Operation, PatternType
from kafka_zk.security.acl.rules import Acl, ResourcePattern

NOBODY: frozenset[Acl] = frozenset()

ABSENT = -2
"""The version of rules that have no znode; Kafka's ZkVersion.UnknownVersion. (-1 would match every version.)"""


ON_ANY = frozenset((Operation.WRITE, Operation.ALL))
"""The operations that somebody may be asked to be allowed on any resource (KIP-679): rules about them are found by what
they say. For all rules that would double what the cache takes."""


class VersionedAcls(NamedTuple):
    """The rules of one pattern, and the version of their znode (ABSENT: there is none)."""

    acls: frozenset[Acl]
    zk_version: int
    is_readable: bool = True

    @property
    def exists(self) -> bool:
        return self.zk_version != ABSENT


NO_ACLS = VersionedAcls(NOBODY, ABSENT)


class AclCache:
    """All rules, by pattern."""

    __slots__ = ("_lengths", "_literal", "_named_by", "_prefixed", "version")

    def __init__(self) -> None:
        self.version = 0
        self._literal: dict[tuple[int, str], VersionedAcls] = {}
        self._prefixed: dict[tuple[int, str], VersionedAcls] = {}
        self._lengths: dict[int, Counter[int]] = {}
        # By type, pattern type and rule, for the operations ON_ANY: the names of the patterns.
        self._named_by: dict[tuple[int, int, Acl], set[str]] = {}

    def __len__(self) -> int:
        return len(self._literal) + len(self._prefixed)

    def __iter__(self) -> Iterator[tuple[ResourcePattern, VersionedAcls]]:
        for (kind, name), found in list(self._literal.items()):
            yield ResourcePattern(kind, name, PatternType.LITERAL), found
        for (kind, name), found in list(self._prefixed.items()):
            yield ResourcePattern(kind, name, PatternType.PREFIXED), found

    def get(self, pattern: ResourcePattern) -> VersionedAcls | None:
        return self._of(pattern.pattern_type).get((pattern.resource_type, pattern.name))

    def put(self, pattern: ResourcePattern, found: VersionedAcls) -> None:
        """Replace the rules of a pattern."""
        of_type = self._of(pattern.pattern_type)
        key = pattern.resource_type, pattern.name
        before = of_type.get(key)
        if found.acls or not found.is_readable:
            of_type[key] = found
        elif before is not None:
            del of_type[key]
        self._index(pattern, NOBODY if before is None else before.acls, found.acls)
        if pattern.pattern_type == PatternType.PREFIXED:
            self._count(key, (key in of_type) - (before is not None))
        self.version += 1

    def replace_all(self, other: AclCache) -> None:
        """Take over all rules of `other`, which nobody uses any more."""
        self._literal, self._prefixed, self._lengths = other._literal, other._prefixed, other._lengths
        self._named_by = other._named_by
        self.version += 1

    def applying(self, resource_type: int, name: str) -> list[frozenset[Acl]]:
        """The rules of every pattern that stands for this resource: prefixes from long to short, `*`, its own name."""
        found: list[frozenset[Acl]] = []
        lengths = self._lengths.get(resource_type)
        if lengths:
            # Each prefix is looked up: a sorted scan that ends at a mismatch would miss shorter ones (KAFKA-14265).
            for length in sorted(lengths, reverse=True):
                rules = self._prefixed.get((resource_type, name[:length])) if length <= len(name) else None
                if rules is not None:
                    found.append(rules.acls)
        for literal in (WILDCARD, name) if name != WILDCARD else (WILDCARD,):
            rules = self._literal.get((resource_type, literal))
            if rules is not None:
                found.append(rules.acls)
        return found

    def names_with(self, resource_type: int, pattern_type: int, rules: Sequence[tuple[str, str, int, int]]) -> set[str]:
        """The names of those patterns of a type that have one of the `rules`, which are about operations ON_ANY."""
        assert all(operation in ON_ANY for _, _, operation, _ in rules), rules
        return set[str]().union(*(self._named_by.get((resource_type, pattern_type, Acl(*rule)), ()) for rule in rules))

    def _index(self, pattern: ResourcePattern, before: frozenset[Acl], now: frozenset[Acl]) -> None:
        kind, name, pattern_type = pattern
        for acl in before - now:
            if acl.operation in ON_ANY:
                names = self._named_by[kind, pattern_type, acl]
                names.discard(name)
                if not names:
                    del self._named_by[kind, pattern_type, acl]
        for acl in now - before:
            if acl.operation in ON_ANY:
                self._named_by.setdefault((kind, pattern_type, acl), set()).add(name)

    def _of(self, pattern_type: int) -> dict[tuple[int, str], VersionedAcls]:
        return self._prefixed if pattern_type == PatternType.PREFIXED else self._literal

    def _count(self, key: tuple[int, str], change: int) -> None:
        kind, name = key
        lengths = self._lengths.setdefault(kind, Counter())
        lengths[len(name)] += change
        if not lengths[len(name)]:
            del lengths[len(name)]
