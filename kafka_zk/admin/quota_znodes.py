"""The configs of users, clients and ips in ZooKeeper, changed one after the other.

Role        Acts: writes the config, or removes a znode that is left without one, and tells every broker.
Invariants  No znode stays that holds nothing and has no children (KAFKA-14285).
Source      AdminZkClient.changeEntityConfig, fetchAllEntityConfigs, fetchAllChildEntityConfigs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_zk.security.quotas.limits import Entity
from kafka_zk.zk.entity_configs import (
    announce_config_change,
    delete_entity,
    entities_with_config,
    entity_config,
    write_entity_config,
)
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import entity_path

log = logging.getLogger("kafka.zk.AdminZkClient")


def overrides_of(zk: ZkClient, entity: Entity) -> dict[str, str]:
    """Blocks. All overrides of an entity, none where there is no znode."""
    return entity_config(zk, entity_path(*entity))


def change_overrides(zk: ZkClient, entity: Entity, overrides: Mapping[str, str]) -> None:
    """Blocks. Replace the overrides of an entity, and have every broker read them. Raises ControllerMoved."""
    path = entity_path(*entity)
    if overrides or not _remove(zk, path):
        write_entity_config(zk, path, overrides)
    announce_config_change(zk, path)


def _remove(zk: ZkClient, path: str) -> bool:
    """Blocks. Delete an entity's znode and those above it that are left empty; whether it is gone."""
    if entities_with_config(zk, path):
        return False
    if not delete_entity(zk, path):
        return False
    user, _, client = path.removeprefix("users/").partition("/clients/")
    if client and not entities_with_config(zk, f"users/{user}/clients"):
        delete_entity(zk, f"users/{user}/clients")
        if not entity_config(zk, f"users/{user}") and not entities_with_config(zk, f"users/{user}"):
            delete_entity(zk, f"users/{user}")
    log.info("Deleting zk path /config/%s since its configs are empty", path)
    return True
