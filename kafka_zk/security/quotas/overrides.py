"""Quota keys and their allowed values, as stored in ZooKeeper.

Role        Pure. The one list of quota keys: enforcement, AlterClientQuotas and DescribeClientQuotas read it.
Source      QuotaConfigs, DynamicConfig.Client, .User and .Ip; QuotaConfigHandler, IpConfigHandler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.values import ConfigType, parse
from kafka_zk.protocol.errors import InvalidConfig


class QuotaKind(Enum):
    """What is bounded; the value is the type of Kafka's metrics for it."""

    PRODUCE = "Produce"
    FETCH = "Fetch"
    REQUEST = "Request"
    CONTROLLER_MUTATION = "ControllerMutation"


@dataclass(frozen=True, slots=True)
class QuotaKey:
    """One config key. `type` is INT, LONG or DOUBLE."""

    name: str
    type: ConfigType


CLIENT_KEYS: Mapping[QuotaKind, QuotaKey] = {
    QuotaKind.PRODUCE: QuotaKey("producer_byte_rate", ConfigType.LONG),
    QuotaKind.FETCH: QuotaKey("consumer_byte_rate", ConfigType.LONG),
    QuotaKind.REQUEST: QuotaKey("request_percentage", ConfigType.DOUBLE),
    QuotaKind.CONTROLLER_MUTATION: QuotaKey("controller_mutation_rate", ConfigType.DOUBLE),
}
"""Of users and clients: bytes, bytes, percent of a thread's time, partitions; each a second."""

CONNECTION_RATE = QuotaKey("connection_creation_rate", ConfigType.INT)
"""Of ips: new connections a second."""

SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
"""Credentials stand beside the quotas of their user."""


def client_bounds(overrides: Mapping[str, str]) -> dict[QuotaKind, float | None]:
    """The bounds in the config of a user or client; None where it has none. Raises InvalidConfig."""
    return {
        kind: _number(key, overrides[key.name]) if key.name in overrides else None for kind, key in CLIENT_KEYS.items()
    }


def connection_rate(overrides: Mapping[str, str]) -> int | None:
    """The bound in the config of an ip. Raises InvalidConfig."""
    text = overrides.get(CONNECTION_RATE.name)
    return None if text is None else int(_number(CONNECTION_RATE, text))


def _number(key: QuotaKey, text: str) -> float:
    try:
        value = parse(key.name, key.type, text)
    except ConfigException as error:
        raise InvalidConfig(f"Invalid quota in ZooKeeper: {error}") from error
    assert isinstance(value, int | float)
    return float(value)
