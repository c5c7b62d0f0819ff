"""Config overrides in ZooKeeper: reads them, writes them checked against the controller, announces them.

Role        Acts, through the session.
Invariants  A write of existing overrides checks in the same multi that the controller seen just before is still
            the controller: a cluster taken over by a KRaft controller must not be written to any more.
            A change of some overrides applies to the overrides at the moment of the write: of two concurrent changes,
            on one broker or on two, neither is lost.
            Written first, announced second: a reader of the notice finds the new overrides. A change of some overrides
            and its notice are one transaction: no broker goes on believing in a credential that was removed.
Differs from Kafka: it writes back what it has read without checking the znode's version, its removals do not count in
            the version of /config/TYPE, and it announces on its own.
Source      KafkaZkClient.setOrCreateEntityConfigs, getEntityConfigs, createConfigChangeNotification; KIP-866.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kafka_zk.zk.cluster import controller
from kafka_zk.zk.errors import BadVersion, ControllerMoved, MalformedZNode, NodeExists, NoNode, NotEmpty, ZkError
from kafka_zk.zk.existing import existing
from kafka_zk.zk.operations import Check, Create, Delete, Operation, SetData, Stat
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import (
    ConfigChangeZNode,
    ConfigEntityTypeZNode,
    ConfigEntityZNode,
    ControllerZNode,
)

log = logging.getLogger("kafka.zk.KafkaZkClient")


class Version(NamedTuple):
    """Which overrides were read: the version of the entity's znode, and that of /config/TYPE, which counts removals.

    A znode that is created again starts with version 0: by that alone it could pass for the one that was read.
    """

    zk_version: int
    type_zk_version: int


class Stored(NamedTuple):
    """The overrides of an entity and their version; None where there is no znode."""

    overrides: dict[str, str]
    version: Version | None


Replace: TypeAlias = Callable[[ZkClient, str, Mapping[str, str], Version | None, Create], bool]
"""As `replace_entity_config`."""

Change: TypeAlias = Callable[[dict[str, str]], Mapping[str, str] | None]
"""From the current overrides to the new ones; None changes nothing. It may be called more than once."""


def entity_config(zk: ZkClient, entity_path: str) -> dict[str, str]:
    """Blocks. The overrides of `topics/t`, `users/<default>/clients/c` ...; none when there is no such znode."""
    return entity_configs(zk, [entity_path])[entity_path]


def entity_configs(zk: ZkClient, entity_paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """Blocks. The same for many, pipelined. Raises MalformedZNode where a value is not a string.

    A znode without a map of overrides has none, as in Kafka; here the log names it.
    """
    overrides: dict[str, dict[str, str]] = {path: {} for path in entity_paths}
    for path, (data, stat) in existing(zk, overrides, ConfigEntityZNode.path):
        overrides[path] = _decoded(data, stat, path)
    return overrides


def stored_config(zk: ZkClient, entity_path: str) -> Stored:
    """Blocks. The same, for an entity about to be changed."""
    # The type first: its version shows every removal from now on.
    found = dict(existing(zk, [_type_of(entity_path), entity_path], ConfigEntityZNode.path))
    if entity_path not in found:
        return Stored({}, None)
    (_, of_type), (data, stat) = found[_type_of(entity_path)], found[entity_path]
    return Stored(_decoded(data, stat, entity_path), Version(stat.version, of_type.version))


def _decoded(data: bytes | None, stat: Stat, entity_path: str) -> dict[str, str]:
    try:
        return ConfigEntityZNode.decode(data, stat, entity_path)
    except MalformedZNode as error:
        if ConfigEntityZNode.holds_map(data):
            raise
        log.error("%s; treating it as empty", error)
        return {}


def _type_of(entity_path: str) -> str:
    return entity_path.partition("/")[0]


def entities_with_config(zk: ZkClient, entity_type: str) -> list[str]:
    """Blocks. Sanitized names below /config/TYPE (`bob`, `bob/clients` for a path); none when it is missing."""
    try:
        return zk.children(ConfigEntityTypeZNode.path(entity_type))
    except NoNode:
        return []


def quota_entities(zk: ZkClient) -> list[str]:
    """Blocks. The paths of all clients, users, client ids of users, and ips that have a znode."""
    users = entities_with_config(zk, "users")
    paths = [f"clients/{name}" for name in entities_with_config(zk, "clients")]
    paths += [f"users/{name}" for name in users]
    for user in users:
        paths += [f"users/{user}/clients/{name}" for name in entities_with_config(zk, f"users/{user}/clients")]
    return paths + [f"ips/{name}" for name in entities_with_config(zk, "ips")]


def write_entity_config_before_any_broker(zk: ZkClient, entity_path: str, overrides: Mapping[str, str]) -> None:
    """Blocks. Replace all overrides of an entity without checking the controller: there may never have been one."""
    path = ConfigEntityZNode.path(entity_path)
    data = ConfigEntityZNode.encode(overrides)
    try:
        zk.set(path, data)
    except NoNode:
        zk.create(path, data, make_parents=True)


def write_entity_config(zk: ZkClient, entity_path: str, overrides: Mapping[str, str]) -> None:
    """Blocks. Replace all overrides of an entity. Raises ControllerMoved when there is no ZooKeeper controller."""
    path = ConfigEntityZNode.path(entity_path)
    data = ConfigEntityZNode.encode(overrides)
    while True:
        check = controller_check(zk, entity_path)
        checked, written = zk.multi([check, SetData(path, data)])
        if isinstance(checked, BadVersion | NoNode):
            continue
        if not isinstance(written, NoNode):
            if isinstance(written, ZkError):
                raise written
            return
        try:
            zk.create(path, data, make_parents=True)
        except NodeExists:
            continue
        return


def change_entity_config(
    zk: ZkClient,
    entity_path: str,
    change: Change,
    *,
    replace: Replace | None = None,
) -> None:
    """Blocks. Replace the overrides of an entity with the result of `change`, and notify every broker.

    `change` is called again if another client has written meanwhile. `replace` writes, with the notice, as
    `replace_entity_config` does. Raises what `change` raises, and ControllerMoved.
    """
    written: Mapping[str, str] | None = None
    while True:
        stored = stored_config(zk, entity_path)
        if written is not None and stored.overrides == written:
            # No other client: the reply to our own write was lost with a connection, and it was sent again.
            break
        written = change(dict(stored.overrides))
        if written is None:
            return
        if (replace or replace_entity_config)(zk, entity_path, written, stored.version, notice_of(entity_path)):
            return
    announce_config_change(zk, entity_path)


def replace_entity_config(
    zk: ZkClient, entity_path: str, overrides: Mapping[str, str], version: Version | None, notice: Create | None = None
) -> bool:
    """Blocks. Replace all overrides if they are of this version (None: there are none); returns whether they were.

    `notice` comes with it. Raises ControllerMoved when there is no ZooKeeper controller.
    """
    path = ConfigEntityZNode.path(entity_path)
    data = ConfigEntityZNode.encode(overrides)
    while True:
        check = controller_check(zk, entity_path)
        if version is None:
            return _create(zk, path, data, notice)
        nothing_removed = Check(ConfigEntityTypeZNode.path(_type_of(entity_path)), version.type_zk_version)
        replaced = SetData(path, data, version.zk_version)
        checked, kept, written = _together(zk, [check, nothing_removed, replaced], notice)
        if isinstance(checked, BadVersion | NoNode):
            continue
        if isinstance(kept, BadVersion) or isinstance(written, BadVersion | NoNode):
            return False
        if isinstance(written, ZkError):
            raise written
        return True


def _create(zk: ZkClient, path: str, data: bytes, notice: Create | None) -> bool:
    """Blocks. Create the znode and its parents; False if it is there."""
    for _ in range(2):
        (created,) = _together(zk, [Create(path, data)], notice)
        if not isinstance(created, ZkError):
            return True
        if isinstance(created, NodeExists):
            return False
        if not isinstance(created, NoNode):
            raise created
        zk.ensure_path(path.rpartition("/")[0])
    # Another client has just removed the parent again, with its last child.
    return False


def _together(zk: ZkClient, operations: Sequence[Operation], notice: Create | None) -> Sequence[Any]:
    """Blocks. The results of `operations`, all of which are carried out, and announced, or none."""
    if notice is None:
        return zk.multi(operations)
    results = zk.multi([*operations, notice])
    if isinstance(results[-1], NoNode):
        zk.ensure_path(notice.path.rpartition("/")[0])
        results = zk.multi([*operations, notice])
    return results[:-1]


def controller_check(zk: ZkClient, entity_path: str) -> Check:
    """Blocks. A check that fails if the controller changes before the write. Raises ControllerMoved."""
    registration = controller(zk)
    if registration is None:
        raise ControllerMoved(_refusal(entity_path, "when there is no controller."))
    if registration.kraft_controller_epoch > 0:
        raise ControllerMoved(_refusal(entity_path, "directly when there is a KRaft controller."))
    return Check(ControllerZNode.PATH, registration.zk_version)


def _refusal(entity_path: str, why: str) -> str:
    entity_type, _, name = entity_path.partition("/")
    return f"Cannot set entity configs for {entity_type} {name} {why}"


def delete_entity(zk: ZkClient, entity_path: str) -> bool:
    """Blocks. Delete an entity's znode unless it has children (clients of a user); returns whether it is gone."""
    try:
        zk.delete(ConfigEntityZNode.path(entity_path))
    except NoNode:
        return True
    except NotEmpty:
        return False
    return True


def remove_entity(zk: ZkClient, entity_path: str, version: Version, notice: Create | None = None) -> bool:
    """Blocks. The same if its overrides are of this version. `notice` comes with it. Raises BadVersion."""
    deletion = Delete(ConfigEntityZNode.path(entity_path), version.zk_version)
    # It never holds anything.
    count = SetData(ConfigEntityTypeZNode.path(_type_of(entity_path)), None, version.type_zk_version)
    deleted, counted = _together(zk, [deletion, count], notice)
    if isinstance(deleted, NoNode):
        if notice is not None:
            announce_config_change(zk, entity_path)
        return True
    if isinstance(deleted, NotEmpty):
        return False
    if isinstance(counted, BadVersion):
        raise counted
    if isinstance(deleted, ZkError):
        raise deleted
    return True


def announce_config_change(zk: ZkClient, entity_path: str) -> None:
    """Blocks. Notify every broker to reload the overrides of `entity_path`."""
    notice = notice_of(entity_path)
    zk.create(notice.path, notice.data, sequential=True, make_parents=True)


def notice_of(entity_path: str) -> Create:
    """What tells every broker to reload the overrides of `entity_path`."""
    return Create(ConfigChangeZNode.PREFIX, ConfigChangeZNode.encode(entity_path), sequential=True)
