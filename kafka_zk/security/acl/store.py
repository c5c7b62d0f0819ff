"""The rules in ZooKeeper: reading, loading all, changing those of one pattern.

Role        Acts, through its own session. Every change of the cache happens here, under one lock.
Invariants  A write names the version that it has read: of two brokers that change one pattern none loses the other's.
            ZooKeeper first, then this broker's cache. If the rules differ, the write and the notice for the others are
            one transaction: no broker keeps a rule that was removed.
            A znode that cannot be read changes nothing here: the last good rules stay. It is not removed because its
            rules are not known.
Differs from Kafka: it takes unreadable data for "no rules", which opens the resource where
            allow.everyone.if.no.acl.found is true, and writes the notice on its own.
Source      AclAuthorizer.updateResourceAcls, loadCache, getAclsFromZk; KafkaZkClient.getVersionedAclsForResource,
            conditionalSetAclsForResource, createAclsForResourceIfNotExists, conditionalDelete; KAFKA-3328, 7255.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache

import gevent
from gevent.lock import RLock

from kafka_zk.giving_way import in_slices
from kafka_zk.protocol.acl import PatternType, ResourceType, pascal_case
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.security.acl.cache import ABSENT, NO_ACLS, NOBODY, AclCache, VersionedAcls
from kafka_zk.security.acl.rules import Acl, ResourcePattern, code_named, from_znode, stored_pattern_type, to_znode
from kafka_zk.zk.announced import change_announced
from kafka_zk.zk.errors import BadVersion, MalformedZNode, NoAuth, NodeExists, NoNode, ZkError
from kafka_zk.zk.operations import Create, Delete, SetData
from kafka_zk.zk.session import NodeData, ZkClient
from kafka_zk.zk.znodes.access import (
    ACL_CHANGES,
    ACL_ROOTS,
    RESOURCE_TYPES,
    AclChange,
    AclChangeZNode,
    ResourceZNode,
)

MOST_RETRIES = 10
RETRY_BACKOFF_MS = 100
RETRY_JITTER_MS = 50

MOST_KNOWN_TEXTS = 1_000
LONGEST_KNOWN_TEXT = 4_096
"""Bytes. Many topics have the same rules, word for word."""

READ_AT_ONCE = 1_000
"""Znodes that one call reads while the rules are loaded."""

log = logging.getLogger("kafka.security.authorizer.AclAuthorizer")

Change = Callable[[frozenset[Acl]], frozenset[Acl]]
"""From the rules of a pattern to its new ones. May be called more than once; what it raises ends the change."""


class AclStore:
    """Keeps `cache` equal to what is in ZooKeeper. `chance` spreads the retries of several brokers."""

    def __init__(self, zk: ZkClient, cache: AclCache, chance: random.Random | None = None) -> None:
        self._zk = zk
        self._cache = cache
        self._chance = chance or random.Random()
        self._is_loaded = False
        self.lock = RLock()
        """Held by whoever changes the cache; checks read without it."""

    def create_paths(self) -> None:
        """Blocks. Create the standing znodes."""
        roots = [f"{root}/{kind}" for root in ACL_ROOTS.values() for kind in RESOURCE_TYPES]
        self._zk.ensure_paths([*roots, *ACL_CHANGES.values()])

    # -- reading

    def load(self) -> None:
        """Blocks. Read all rules, and put them in place of those known so far at once.

        Raises ZkError; the first time also NoAuth for a single znode, which later keeps its last known rules.
        """
        with self.lock:
            loaded = AclCache()
            for patterns in _batches(self._stored_patterns(), READ_AT_ONCE):
                answers = self._zk.get_many([_path(pattern) for pattern in patterns])
                for pattern, answer in in_slices(list(zip(patterns, answers, strict=True))):
                    loaded.put(pattern, self._read(pattern, answer))
            self._cache.replace_all(loaded)
            self._is_loaded = True

    def refresh(self, pattern: ResourcePattern) -> None:
        """Blocks. Read the rules of one pattern after a notice. Raises ZkError."""
        with self.lock:
            found = self._fetch(pattern)
            log.info(
                "Processing Acl change notification for %s, versionedAcls : %s, zkVersion : %d",
                pattern,
                _set_text(found.acls),
                found.zk_version,
            )
            self._cache.put(pattern, found)

    def _stored_patterns(self) -> list[ResourcePattern]:
        """Blocks. Every pattern that has a znode."""
        found: list[ResourcePattern] = []
        for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            root = ACL_ROOTS[stored_pattern_type(pattern_type)]
            for word in self._children(root):
                kind = code_named(ResourceType, word)
                if kind in (ResourceType.UNKNOWN, ResourceType.ANY):
                    log.warning("Ignoring unknown ResourceType: %s", word)
                    continue
                names = self._children(f"{root}/{pascal_case(kind)}")
                found += [ResourcePattern(kind, name, pattern_type) for name in in_slices(names)]
        return found

    def _children(self, path: str) -> list[str]:
        try:
            return self._zk.children(path)
        except NoNode:
            return []

    def _fetch(self, pattern: ResourcePattern) -> VersionedAcls:
        return self._read(pattern, self._zk.get_many([_path(pattern)])[0])

    def _read(self, pattern: ResourcePattern, answer: NodeData | ZkError) -> VersionedAcls:
        """The rules that a znode holds; where it is unreadable, those known before, with its version."""
        before = self._cache.get(pattern)
        if isinstance(answer, NoNode):
            return NO_ACLS
        if isinstance(answer, NoAuth) and self._is_loaded:
            # All other changes must still be learned of.
            log.error("Keeping the last known ACLs of %s, whose znode may not be read: %s", pattern, answer)
            return (before or NO_ACLS)._replace(is_readable=False)
        if isinstance(answer, ZkError):
            raise answer
        data, stat = answer
        try:
            if not data:
                raise MalformedZNode(_path(pattern), "it is empty")
            return VersionedAcls(_rules_in(data, pattern), stat.version)
        except MalformedZNode as error:
            log.error("Keeping the last known ACLs of %s, whose znode cannot be read: %s", pattern, error)
            return VersionedAcls(NOBODY if before is None else before.acls, stat.version, is_readable=False)

    # -- changing

    def update(self, pattern: ResourcePattern, change: Change) -> None:
        """Blocks. Replace the rules of a pattern with what `change` makes of them, everywhere.

        Raises what `change` raises, ZkError, and BrokerError after eleven attempts that others came before.
        """
        with self.lock:
            before = self._cache.get(pattern) or self._fetch(pattern)
            for _ in range(MOST_RETRIES + 1):
                acls = change(before.acls)
                if not (acls or before.acls or before.is_readable):
                    return
                zk_version = self._write(pattern, before, acls)
                if zk_version is not None:
                    self._settle(pattern, before, VersionedAcls(acls, zk_version))
                    return
                gevent.sleep((RETRY_BACKOFF_MS + self._chance.randrange(RETRY_JITTER_MS)) / 1000)
                before = self._fetch(pattern)
            raise BrokerError(f"Failed to update ACLs for {pattern} after trying a maximum of {MOST_RETRIES} times")

    def _write(self, pattern: ResourcePattern, before: VersionedAcls, acls: frozenset[Acl]) -> int | None:
        """Blocks. The version of the znode now; None if somebody else has changed it since `before` was read."""
        path, data = _path(pattern), ResourceZNode.encode(to_znode(acls))
        try:
            if acls == before.acls:
                return self._write_again(path, data, before)
            if not before.exists:
                change_announced(self._zk, Create(path, data), _notice_of(pattern))
                return 0
            if acls:
                change = SetData(path, data, before.zk_version)
                zk_version: int = change_announced(self._zk, change, _notice_of(pattern)).version
                return zk_version
            change_announced(self._zk, Delete(path, before.zk_version), _notice_of(pattern))
        except (NodeExists, NoNode, BadVersion):
            return None
        return ABSENT

    def _write_again(self, path: str, data: bytes, before: VersionedAcls) -> int:
        """Blocks. Replace rules by the same ones: somebody else may have changed them. A znode without any goes."""
        if before.acls:
            return self._zk.set(path, data, before.zk_version).version
        if before.exists:
            self._zk.delete(path, before.zk_version)
        return ABSENT

    def _settle(self, pattern: ResourcePattern, before: VersionedAcls, now: VersionedAcls) -> None:
        # Also where the rules are the same: their version has grown.
        self._cache.put(pattern, now)
        if now.acls == before.acls:
            log.debug("Updated ACLs for %s, no change was made", pattern)
        else:
            log.info("Updated ACLs for %s with new version %d", pattern, max(now.zk_version, 0))


def _notice_of(pattern: ResourcePattern) -> Create:
    stored = stored_pattern_type(pattern.pattern_type)
    change = AclChange(stored, ResourceType(pattern.resource_type).name, pattern.name)
    return Create(AclChangeZNode.prefix(stored), AclChangeZNode.encode(change), sequential=True)


def _rules_in(data: bytes, pattern: ResourcePattern) -> frozenset[Acl]:
    """Raises MalformedZNode."""
    if len(data) <= LONGEST_KNOWN_TEXT:
        with suppress(MalformedZNode):
            return _rules_of_text(data)
    return from_znode(ResourceZNode.decode(data, None, _path(pattern)))


@lru_cache(maxsize=MOST_KNOWN_TEXTS)
def _rules_of_text(data: bytes) -> frozenset[Acl]:
    """Raises MalformedZNode, without the path."""
    return from_znode(ResourceZNode.decode(data))


def _path(pattern: ResourcePattern) -> str:
    kind = pascal_case(ResourceType(pattern.resource_type))
    return ResourceZNode.path(stored_pattern_type(pattern.pattern_type), kind, pattern.name)


def _set_text(acls: frozenset[Acl]) -> str:
    return f"Set({', '.join(str(acl) for acl in sorted(acls))})"


def _batches(patterns: list[ResourcePattern], size: int) -> Iterator[list[ResourcePattern]]:
    for start in range(0, len(patterns), size):
        yield patterns[start : start + size]
