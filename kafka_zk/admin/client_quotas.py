"""Describes and alters client quotas in ZooKeeper on behalf of clients. Any broker may do it.

Role        Acts, through quota_znodes; what is allowed is decided by the keys' types.
Source      ZkAdminManager.alterClientQuotas, describeClientQuotas; DynamicConfig.Client, .User, .Ip.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kafka_zk.admin.quota_entities import Names, QuotaFilter, entity_of
from kafka_zk.admin.quota_znodes import change_overrides
from kafka_zk.config.values import ConfigType, java_double
from kafka_zk.protocol.errors import BrokerError, InvalidRequest
from kafka_zk.security.quotas.addresses import address_of
from kafka_zk.security.quotas.limits import Entity
from kafka_zk.security.quotas.overrides import CLIENT_KEYS, CONNECTION_RATE, QuotaKey
from kafka_zk.zk.entity_configs import entity_configs, quota_entities
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import entities_of, sanitize

_OF_CLIENTS = {key.name: key for key in CLIENT_KEYS.values()}
_OF_IPS = {CONNECTION_RATE.name: CONNECTION_RATE}
_EPSILON = 1e-6
_LIMITS = {ConfigType.INT: 2**31, ConfigType.LONG: 2**63}


def describe_client_quotas(zk: ZkClient, wanted: QuotaFilter) -> dict[Entity, dict[str, float]]:
    """Blocks. The quotas of every entity that matches the filter."""
    entities = {path: tuple(entities_of(path)) for path in quota_entities(zk)}
    asked = [path for path, entity in entities.items() if wanted.lets_through(entity)]
    found: dict[Entity, dict[str, float]] = {}
    for path, overrides in entity_configs(zk, asked).items():
        keys = _keys_of(entities[path])
        quotas = {name: _number(name, text) for name, text in overrides.items() if name in keys}
        if quotas:
            found[entities[path]] = quotas
    return found


def alter_client_quotas(
    zk: ZkClient, names: Names, changes: Sequence[tuple[str, float | None]], *, validate_only: bool = False
) -> None:
    """Blocks. Set quotas of one entity, or remove them (None), one after the other. Raises InvalidRequest."""
    entity = entity_of(names)
    entity_type, name = entity[0]
    if entity_type == "ips" and name is not None and address_of(name) is None:
        raise InvalidRequest(f"{sanitize(name)} is not a valid IP or resolvable host.")
    keys = _keys_of(entity)

    def change(overrides: dict[str, str]) -> dict[str, str] | None:
        for key, value in changes:
            if value is None:
                overrides.pop(key, None)
            elif key in keys:
                overrides[key] = _text(keys[key], value)
            else:
                raise InvalidRequest(f"Invalid configuration key {key}")
        return None if validate_only else overrides

    change_overrides(zk, entity, change)


def _keys_of(entity: Entity) -> Mapping[str, QuotaKey]:
    return _OF_IPS if entity[0][0] == "ips" else _OF_CLIENTS


def _text(key: QuotaKey, value: float) -> str:
    """A value as stored in ZooKeeper."""
    if key.type is ConfigType.DOUBLE:
        return java_double(value)
    # Cut off towards 0: a number below 0 is refused, as Kafka refuses it.
    whole = _narrowed(value + _EPSILON, _LIMITS[key.type])
    if abs(float(whole) - value) > _EPSILON:
        raise InvalidRequest(f"Configuration {key.name} must be a {key.type.name} value")
    return str(whole)


def _narrowed(value: float, limit: int) -> int:
    """As a double becomes an integer in Java: cut off, held within its range, 0 where it is no number."""
    if math.isnan(value):
        return 0
    return int(max(-limit, min(limit - 1, value))) if math.isfinite(value) else (limit - 1 if value > 0 else -limit)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        # It was written without a broker; Kafka fails the whole request.
        raise BrokerError(f"Unexpected client quota configuration value: {name} -> {text}") from None
