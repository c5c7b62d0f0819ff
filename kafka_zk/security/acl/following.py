"""Keeps this broker's rules up to date with what others change.

Role        Acts: two listeners of notices, and one reload for each new session.
Invariants  Paths, listeners, and only then the load: no change falls between them. Whatever this broker missed while it
            had no session is read again as a whole: notices live 15 minutes only.
Differs from Kafka: it reads nothing again after a lost session, so a broker cut off for longer keeps stale rules.
Source      AclAuthorizer.configure, startZkChangeListeners, processAclChangeNotification; ZkAclChangeStore.
"""

from __future__ import annotations

from functools import partial

from kafka_zk.clock import Clock
from kafka_zk.protocol.acl import PatternType, ResourceType
from kafka_zk.security.acl.rules import ResourcePattern, code_named
from kafka_zk.security.acl.store import AclStore
from kafka_zk.zk.errors import MalformedZNode
from kafka_zk.zk.sequence_listener import SequenceListener
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.access import ACL_CHANGES, AclChangeZNode
from kafka_zk.zk.znodes.access import PatternType as StoredPatternType

_STORES: tuple[StoredPatternType, ...] = ("LITERAL", "PREFIXED")


class AclFollower:
    """Follows the changes in ZooKeeper, from `start` to `stop`."""

    def __init__(self, zk: ZkClient, store: AclStore, clock: Clock) -> None:
        self._zk = zk
        self._store = store
        self._listeners = [
            SequenceListener(zk, ACL_CHANGES[stored], "acl_changes_", partial(self._handle, stored), clock)
            for stored in _STORES
        ]

    def start(self) -> None:
        """Blocks. Returns once all rules are loaded. Raises ZkError."""
        self._store.create_paths()
        for listener in self._listeners:
            listener.start()
        self._zk.on_session_expired(lambda: None, lambda _: self._store.load())
        self._store.load()

    def stop(self) -> None:
        """Blocks."""
        for listener in self._listeners:
            listener.stop()

    def _handle(self, stored: StoredPatternType, data: bytes | None) -> None:
        """Blocks. Read the rules that a notice is about. Raises ZkError."""
        change = AclChangeZNode.decode(data, stored)
        kind = code_named(ResourceType, change.resource_type)
        if kind in (ResourceType.UNKNOWN, ResourceType.ANY):
            raise MalformedZNode(ACL_CHANGES[stored], f"unknown resource type {change.resource_type}")
        self._store.refresh(ResourcePattern(kind, change.name, PatternType[stored]))
