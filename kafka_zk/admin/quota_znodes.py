"""Changes the configs of users, clients and ips in ZooKeeper, one after the other.

Role        Acts: writes the config, or deletes a znode that is left without one, and notifies every broker.
Invariants  A znode without config and children is deleted (KAFKA-14285).
            Concurrent changes of different keys are both applied.
Source      AdminZkClient.changeEntityConfig, fetchAllEntityConfigs, fetchAllChildEntityConfigs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_zk.security.quotas.limits import Entity
from kafka_zk.zk.entity_configs import (
    Change,
    Version,
    announce_config_change,
    change_entity_config,
    delete_entity,
    entities_with_config,
    entity_config,
    remove_entity,
    replace_entity_config,
    stored_config,
)
from kafka_zk.zk.errors import BadVersion
from kafka_zk.zk.operations import Create
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import entity_path

log = logging.getLogger("kafka.zk.AdminZkClient")


def overrides_of(zk: ZkClient, entity: Entity) -> dict[str, str]:
    """Blocks. All overrides of an entity, none where there is no znode."""
    return entity_config(zk, entity_path(*entity))


def change_overrides(zk: ZkClient, entity: Entity, change: Change) -> None:
    """Blocks. Replace the overrides of an entity with the result of `change`, and notify every broker.

    Raises what `change` raises, and ControllerMoved.
    """
    change_entity_config(zk, entity_path(*entity), change, replace=_replace)


def _replace(zk: ZkClient, path: str, overrides: Mapping[str, str], version: Version | None, notice: Create) -> bool:
    """Blocks. Write the overrides, or remove a znode without any, with the notice; False if it is not that version any
    more.
    """
    if overrides or entities_with_config(zk, path):
        was_that = replace_entity_config(zk, path, overrides, version, notice)
        if was_that and not overrides:
            # The last client of this user may have gone meanwhile, and left the user alone for its quotas.
            _remove_if_empty(zk, path)
        return was_that
    if version is not None:
        try:
            if not remove_entity(zk, path, version, notice):
                # A client of this user has just got a quota.
                return replace_entity_config(zk, path, overrides, version, notice)
        except BadVersion:
            return False
    else:
        announce_config_change(zk, path)
    _remove_empty_parents(zk, path)
    log.info("Deleting zk path /config/%s since its configs are empty", path)
    return True


def _remove_empty_parents(zk: ZkClient, path: str) -> None:
    """Blocks. Of the last client of a user: the znode that holds clients, and that of a user without quotas."""
    user, _, client = path.removeprefix("users/").partition("/clients/")
    if client and not entities_with_config(zk, f"users/{user}/clients"):
        delete_entity(zk, f"users/{user}/clients")
        _remove_if_empty(zk, f"users/{user}")


def _remove_if_empty(zk: ZkClient, path: str) -> None:
    """Blocks. Remove the entity's znode if it holds no config and has no children."""
    while True:
        stored = stored_config(zk, path)
        if stored.version is None or stored.overrides or entities_with_config(zk, path):
            return
        try:
            remove_entity(zk, path, stored.version)
        except BadVersion:
            # It has got a config, or something else of its type has just been removed.
            continue
        return
