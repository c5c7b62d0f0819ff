"""Adds and removes rules, as clients ask for it.

Role        Acts, through the store. Says of each rule or filter what became of it.
Invariants  Rules of one pattern are written together and share one fate. A removal takes what a filter matched, no more
            (CVE-2024-27309), and looks also at patterns that this broker has not heard of yet but a filter names
            (KAFKA-9386).
            Between two patterns what others have changed is learned: thousands of rules take many seconds.
Differs from Kafka: it hears of nothing until all of a request is done.
Source      AclAuthorizer.createAcls, deleteAcls, acls, validateAclBinding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import gevent

from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
from kafka_zk.protocol.errors import BrokerError, InvalidRequest
from kafka_zk.security.acl.cache import AclCache
from kafka_zk.security.acl.filters import AclFilter
from kafka_zk.security.acl.rules import Acl, AclBinding, ResourcePattern, check_principal
from kafka_zk.security.acl.store import AclStore
from kafka_zk.zk.znodes.names import may_be_znode


class Removal(NamedTuple):
    """A rule that a filter matched; `error` if it could not be removed."""

    binding: AclBinding
    error: BrokerError | None = None


class AclChanges:
    """The rules of a cluster, to be listed and changed."""

    def __init__(self, cache: AclCache, store: AclStore) -> None:
        self._cache = cache
        self._store = store

    def matching(self, wanted: AclFilter) -> Iterator[AclBinding]:
        """Yields to other greenlets. The rules known to this broker that a filter matches."""
        for pattern, found in in_turns(self._cache):
            if wanted.pattern.matches(pattern):
                yield from (AclBinding(pattern, acl) for acl in sorted(found.acls) if wanted.entry.matches(acl))

    def create(self, bindings: Sequence[AclBinding]) -> list[BrokerError | None]:
        """Blocks. Add rules; for each one None, or why it was not added."""
        outcomes: list[BrokerError | None] = [None] * len(bindings)
        by_pattern: dict[ResourcePattern, list[int]] = {}
        for index, binding in in_turns(enumerate(bindings)):
            if _is_storable(binding):
                by_pattern.setdefault(binding.pattern, []).append(index)
            else:
                outcomes[index] = InvalidRequest("Failed to create ACL")
        for pattern, indexes in by_pattern.items():
            error = self._add(pattern, [bindings[index].acl for index in in_turns(indexes)])
            for index in indexes:
                outcomes[index] = error
            gevent.sleep(0)
        return outcomes

    def _add(self, pattern: ResourcePattern, acls: list[Acl]) -> BrokerError | None:
        try:
            if not may_be_znode(pattern.name):
                raise BrokerError(f"No znode can have the name {pattern.name!r}")
            for acl in acls:
                check_principal(acl.principal)
            self._store.update(pattern, lambda present: present | frozenset(acls))
        except BrokerError as error:
            return error
        return None

    def delete(self, filters: Sequence[AclFilter]) -> list[list[Removal]]:
        """Blocks. Remove what the filters match; each rule is reported under the first filter that took it."""
        removals: list[list[Removal]] = [[] for _ in filters]
        with self._store.lock:
            patterns = dict.fromkeys(pattern for pattern, _ in in_turns(self._cache))
        named = (wanted.pattern.only_pattern for wanted in filters)
        patterns |= dict.fromkeys(pattern for pattern in named if pattern is not None and _is_named(pattern))
        for pattern in in_turns(patterns):
            wanted = [(index, each) for index, each in enumerate(filters) if each.pattern.matches(pattern)]
            if wanted:
                for index, removal in self._remove(pattern, wanted):
                    removals[index].append(removal)
                gevent.sleep(0)
        return removals

    def _remove(self, pattern: ResourcePattern, wanted: list[tuple[int, AclFilter]]) -> list[tuple[int, Removal]]:
        taken: dict[Acl, int] = {}

        def without(present: frozenset[Acl]) -> frozenset[Acl]:
            taken.clear()
            for acl in sorted(present):
                by = next((index for index, each in wanted if each.entry.matches(acl)), None)
                if by is not None:
                    taken[acl] = by
            return present - taken.keys()

        failed: BrokerError | None = None
        try:
            self._store.update(pattern, without)
        except BrokerError as error:
            failed = error
        return [(index, Removal(AclBinding(pattern, acl), failed)) for acl, index in taken.items()]


def _is_storable(binding: AclBinding) -> bool:
    pattern, acl = binding
    codes = (
        ResourceType(pattern.resource_type),
        PatternType(pattern.pattern_type),
        Operation(acl.operation),
        Permission(acl.permission),
    )
    return all(codes) and "/" not in pattern.name


def _is_named(pattern: ResourcePattern) -> bool:
    """Whether there can be a znode of this name."""
    return "/" not in pattern.name and may_be_znode(pattern.name)
