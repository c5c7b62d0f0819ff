"""Where kafka-acls.sh lists and changes rules: at a broker, or in ZooKeeper past the brokers.

Role        Acts.
Source      AclCommand.AdminClientService, AuthorizerService in Kafka 3.9.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from kafka_zk.client.admin.acls import ANY_PATTERN, AccessControlEntry, AclBinding, ResourcePattern
from kafka_zk.tools.common.command_config import api_timeout_ms, client_properties
from kafka_zk.tools.common.java_output import JavaError, awaited, show_warnings
from kafka_zk.tools.common.options import Options

AUTHORIZERS = ("kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer")
TIMEOUT_MS = 18_000


class Service(Protocol):
    """Lists, adds and removes rules. Errors are those that Java would show."""

    def listed(self, patterns: Sequence[ResourcePattern]) -> list[AclBinding]: ...

    def add(self, pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None: ...

    def remove(self, pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None:
        """Without entries all rules of the pattern go."""


@contextmanager
def service_of(options: Options) -> Iterator[Service]:
    """Blocks. Raises JavaError, KafkaException ..."""
    if options.has("bootstrap-server"):
        with _of_a_broker(options) as service:
            yield service
    else:
        with _of_zookeeper(options) as service:
            yield service


@contextmanager
def _of_a_broker(options: Options) -> Iterator[Service]:
    if options.has("command-config") and options.text("command-config") is None:
        print("Did not load any properties since the property file is not specified")
    properties = client_properties(options)
    show_warnings(api_timeout_ms(properties))
    from kafka_zk.client.admin.admin_client import AdminClient

    with AdminClient(properties) as admin:
        yield _Broker(admin)


class _Broker:
    def __init__(self, admin: object) -> None:
        from kafka_zk.client.admin.admin_client import AdminClient

        assert isinstance(admin, AdminClient)
        self._admin = admin

    def listed(self, patterns: Sequence[ResourcePattern]) -> list[AclBinding]:
        with _as_awaited():
            return [binding for pattern in patterns or [ANY_PATTERN] for binding in self._admin.describe_acls(pattern)]

    def add(self, pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None:
        with _as_awaited():
            self._admin.create_acls([AclBinding(pattern, entry) for entry in entries])

    def remove(self, pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None:
        with _as_awaited():
            self._admin.delete_acls(pattern, entries or None)


@contextmanager
def _as_awaited() -> Iterator[None]:
    """Java's futures wrap what went wrong."""
    from kafka_zk.client.errors import KafkaException
    from kafka_zk.protocol.errors import BrokerError

    try:
        yield
    except (BrokerError, KafkaException) as error:
        raise awaited(error) from error


@contextmanager
def _of_zookeeper(options: Options) -> Iterator[Service]:
    """The authorizer's own store, without a broker. zookeeper.set.acl is true where this tool has an identity."""
    named = options.text("authorizer") or AUTHORIZERS[0]
    if named not in AUTHORIZERS:
        raise JavaError(named, "java.lang.ClassNotFoundException")
    import gevent

    from kafka_zk.security.acl.cache import AclCache
    from kafka_zk.security.acl.changes import AclChanges
    from kafka_zk.security.acl.store import AclStore
    from kafka_zk.tools.common.connect_string import check_connect_string
    from kafka_zk.tools.common.zookeeper_identity import tool_identity
    from kafka_zk.zk.errors import AuthFailed, ConnectionTimeout
    from kafka_zk.zk.session import ZkClient

    properties = options.key_values("authorizer-properties")
    connect = properties.get("zookeeper.connect") or properties.get("authorizer.zookeeper.url") or ""
    check_connect_string(connect)
    show_warnings()
    hub = gevent.get_hub()
    hub.NOT_ERROR = (*hub.NOT_ERROR, KeyboardInterrupt)
    identity = tool_identity(options.text("zk-tls-config-file"), os.environ)
    protects = properties.get("zookeeper.set.acl")
    zk = ZkClient(
        connect,
        session_timeout_ms=TIMEOUT_MS,
        identity=identity,
        protects=identity.login is not None if protects is None else protects.lower() == "true",
        create_chroot=False,
    )
    try:
        zk.start()
    except ConnectionTimeout as error:
        raise JavaError(str(error), "kafka.zookeeper.ZooKeeperClientTimeoutException") from None
    except AuthFailed as error:
        raise JavaError(str(error), "kafka.zookeeper.ZooKeeperClientAuthFailedException") from None
    try:
        cache = AclCache()
        store = AclStore(zk, cache)
        store.create_paths()
        store.load()
        yield _ZooKeeper(AclChanges(cache, store))
    finally:
        zk.close()


class _ZooKeeper:
    def __init__(self, changes: object) -> None:
        from kafka_zk.security.acl.changes import AclChanges

        assert isinstance(changes, AclChanges)
        self._changes = changes

    def listed(self, patterns: Sequence[ResourcePattern]) -> list[AclBinding]:
        from kafka_zk.protocol.acl import Operation, PatternType, Permission, ResourceType
        from kafka_zk.security.acl.filters import AclFilter, EntryFilter, PatternFilter

        anything = EntryFilter(None, None, Operation.ANY, Permission.ANY)
        found = []
        for pattern in patterns or [ANY_PATTERN]:
            for stored, acl in self._changes.matching(AclFilter(PatternFilter(*pattern), anything)):
                shown = ResourcePattern(
                    ResourceType(stored.resource_type), stored.name, PatternType(stored.pattern_type)
                )
                entry = AccessControlEntry(
                    acl.principal, acl.host, Operation(acl.operation), Permission(acl.permission)
                )
                found.append(AclBinding(shown, entry))
        return found

    def add(self, pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None:
        from kafka_zk.security.acl.rules import Acl
        from kafka_zk.security.acl.rules import AclBinding as Stored
        from kafka_zk.security.acl.rules import ResourcePattern as StoredPattern

        stored = StoredPattern(pattern.resource_type, pattern.name or "", pattern.pattern_type)
        outcomes = self._changes.create([Stored(stored, Acl(*entry)) for entry in entries])
        for error in outcomes:
            if error is not None:
                # As Apache's tool: it tells, and goes on.
                print(f"Error while adding ACLs: {error}")
                break

    def remove(self, pattern: ResourcePattern, entries: Sequence[AccessControlEntry]) -> None:
        from kafka_zk.protocol.acl import Operation, Permission
        from kafka_zk.security.acl.filters import AclFilter, EntryFilter, PatternFilter

        wanted = [EntryFilter(*entry) for entry in entries] or [EntryFilter(None, None, Operation.ANY, Permission.ANY)]
        for removals in self._changes.delete([AclFilter(PatternFilter(*pattern), entry) for entry in wanted]):
            for removal in removals:
                if removal.error is not None:
                    print(f"Error while removing ACLs: {removal.error}", file=sys.stdout)
