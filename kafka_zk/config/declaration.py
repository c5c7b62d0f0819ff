"""A config key as one row, and a table of such rows.

Role        Pure. A row is the only place where a key exists: parsing, DescribeConfigs, the fallback from topic to
            broker, the typed views and the start-up warnings all come from it.
Invariants  Names are unique within a table. A default is a parsed value that its own validator lets pass.
Source      ConfigDef.ConfigKey, ConfigDef.parse, DynamicBrokerConfig.dynamicConfigUpdateModes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from kafka_zk.config.errors import ConfigException
from kafka_zk.config.validators import Validator
from kafka_zk.config.values import ConfigType, ConfigValue, java_text, parse


class Importance(Enum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class UpdateMode(Enum):
    """When a broker key may change: at start only, on one broker, or on the whole cluster (and on one broker)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Required(Enum):
    """The default of a key that has none and must be given."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED
BOOLEAN, STRING, INT, SHORT, LONG = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.SHORT,
    ConfigType.LONG,
)
DOUBLE, LIST, CLASS, PASSWORD = ConfigType.DOUBLE, ConfigType.LIST, ConfigType.CLASS, ConfigType.PASSWORD
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
READ_ONLY, PER_BROKER, CLUSTER_WIDE = UpdateMode.READ_ONLY, UpdateMode.PER_BROKER, UpdateMode.CLUSTER_WIDE
MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1
MAX_DOUBLE: Final = 1.7976931348623157e308
KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB


@cache
def _attribute_of(name: str) -> str:
    """Kept, because every topic's configuration asks for the names of all its attributes."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name).replace(".", "_").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Config:
    """One key.

    `read_by` is the dotted name (below kafka_zk) of the module that acts on the value; None: the key is accepted,
    checked and reported, and the start-up log tells a user who sets it that nothing reads it yet.
    `broker_keys` (topic keys only) are the broker keys that give the default, the strongest first.
    `internal` keys work like others but are left out of DescribeConfigs.
    """

    name: str
    type: ConfigType
    default: ConfigValue | Required
    validator: Validator | None
    importance: Importance
    doc: str
    update_mode: UpdateMode = UpdateMode.READ_ONLY
    read_by: str | None = None
    broker_keys: tuple[str, ...] = ()
    internal: bool = False

    @property
    def attribute(self) -> str:
        """The key as a Python name: log.segment.bytes is log_segment_bytes."""
        return _attribute_of(self.name)

    @property
    def sensitive(self) -> bool:
        """Whether the value is a secret and never leaves the process."""
        return self.type is ConfigType.PASSWORD

    @property
    def default_text(self) -> str | None:
        """The default as Kafka prints it; None when there is none."""
        return None if isinstance(self.default, Required) else java_text(self.default)

    def parse(self, text: str) -> ConfigValue:
        """The checked value of `text`. Raises ConfigException."""
        value = parse(self.name, self.type, text)
        if self.validator is not None:
            self.validator(self.name, value)
        return value

    def default_value(self) -> ConfigValue:
        """The default, a fresh list each time. Raises ConfigException for a required key."""
        if isinstance(self.default, Required):
            raise ConfigException(f'Missing required configuration "{self.name}" which has no default value.')
        return list(self.default) if isinstance(self.default, list) else self.default


class ConfigTable(Mapping[str, Config]):
    """Rows by key, in the order of declaration."""

    def __init__(self, rows: Iterable[Config]) -> None:
        self._rows: dict[str, Config] = {}
        for row in rows:
            assert row.name not in self._rows, f"{row.name} is declared twice"
            self._rows[row.name] = row

    def __getitem__(self, name: str) -> Config:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def parse_all(self, properties: Mapping[str, str]) -> dict[str, ConfigValue]:
        """Every declared key with its value or default. Raises ConfigException at the first key that is wrong."""
        return {
            name: row.parse(properties[name]) if name in properties else row.default_value()
            for name, row in self._rows.items()
        }
