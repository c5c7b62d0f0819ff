"""BrokerConfig: the typed view of a broker's configuration.

Role        Pure. A broker has one for its whole life, which becomes another at each dynamic change; packages
            read attributes and keep no copies, or are notified (admin/broker_configs.py).
Invariants  Every rule of Kafka held when the object was made. An attribute is its key in snake case. Where Kafka has
            several keys for one matter the attribute holds the outcome: `log_retention_ms` is never None, `log_dirs`
            falls back to log.dir, `listeners` are EndPoints. The parsed texts are in `values`.
Source      KafkaConfig.scala, AbstractKafkaConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_zk.config.broker_rules import check_rules
from kafka_zk.config.endpoints import parse_csv_map, parse_end_points, parse_security_protocol_map, split_csv
from kafka_zk.config.errors import ConfigException, require
from kafka_zk.config.layers import Layers, with_both_ids
from kafka_zk.config.metadata_version import MetadataVersion, find_version
from kafka_zk.config.parsed_broker import ParsedBroker
from kafka_zk.config.support import OWN_KEYS, check_supported
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from kafka_zk.config.values import ConfigValue

_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000


class BrokerConfig(ParsedBroker):
    """All broker keys as attributes, plus what follows from them.

    `kafka_zk_metrics_port`  our own key: port of the Prometheus endpoint, None for none, 0 for any free port.
    `kafka_zk_metrics_host`  our own key: its address (127.0.0.1), "" for every interface.
    `own_values`             all of our own keys but the port, parsed, by name.
    """

    kafka_zk_metrics_port: int | None
    kafka_zk_metrics_host: str
    own_values: dict[str, ConfigValue]

    def __init__(self, layers: Layers) -> None:
        """Raises ConfigException with Kafka's message, UnsupportedConfig for what is unsafe to ignore."""
        self.layers = layers
        self.originals = layers.effective()
        if "zookeeper.connect" not in self.originals and not self.originals.get("process.roles"):
            raise ConfigException("Missing required configuration `zookeeper.connect` which has no default value.")
        self.values = BROKER_KEYS.parse_all(self.originals)
        for name, value in self.values.items():
            setattr(self, BROKER_KEYS[name].attribute, value)
        self._resolve_id()
        self._resolve_log_keys()
        self._resolve_listeners()
        self._resolve_rest()
        check_rules(self)
        check_supported(self)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> BrokerConfig:
        """The configuration that a server.properties file asks for."""
        return cls(Layers(static=with_both_ids(properties), given=frozenset(properties)))

    def with_dynamic(self, *, default: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
        """The same file under other dynamic values (/config/brokers/<default> and /config/brokers/<id>)."""
        return BrokerConfig(replace(self.layers, dynamic_default=default, dynamic_broker=broker))

    def become(self, other: BrokerConfig) -> None:
        """Take over every value of `other`, at once: packages hold this object and read the current values."""
        self.__dict__.update(other.__dict__)

    def copy(self) -> BrokerConfig:
        """The configuration as it is now, to be compared with what it becomes."""
        copied = object.__new__(BrokerConfig)
        copied.become(self)
        return copied

    def is_set(self, name: str) -> bool:
        """Whether the user gave `name` a value."""
        return name in self.originals

    @property
    def unknown(self) -> dict[str, str]:
        """Undeclared keys. They are kept and reported, as Kafka does, because plug-ins read some of them."""
        return {
            name: value
            for name, value in self.originals.items()
            if name not in BROKER_KEYS and name not in DYNAMIC_ONLY_KEYS and name not in OWN_KEYS
        }

    def _resolve_id(self) -> None:
        if "broker.id" in self.originals and self.broker_id != self.node_id:
            raise ConfigException("You must set `node.id` to the same value as `broker.id`.")

    def _resolve_log_keys(self) -> None:
        values = self.values
        retention_ms = _first_int(values["log.retention.ms"])
        if retention_ms is None:
            minutes = _first_int(values["log.retention.minutes"])
            retention_ms = self.log_retention_hours * _HOUR_MS if minutes is None else minutes * _MINUTE_MS
        self.log_retention_ms = -1 if retention_ms < 0 else retention_ms
        self.log_roll_ms = _or(values["log.roll.ms"], self.log_roll_hours * _HOUR_MS)
        self.log_roll_jitter_ms = _or(values["log.roll.jitter.ms"], self.log_roll_jitter_hours * _HOUR_MS)
        self.log_flush_interval_ms = _or(values["log.flush.interval.ms"], self.log_flush_scheduler_interval_ms)
        directories = values["log.dirs"]
        self.log_dirs = split_csv(directories if isinstance(directories, str) else self.log_dir)
        require(bool(self.log_dirs), "At least one log directory must be defined via log.dirs or log.dir.")
        self.num_replica_alter_log_dirs_threads = _or(values["num.replica.alter.log.dirs.threads"], len(self.log_dirs))
        for attribute in ("before", "after"):
            name = f"log.message.timestamp.{attribute}.max.ms"
            if values[name] == BROKER_KEYS[name].default:
                # The older single limit counts where the newer key was left alone.
                setattr(self, BROKER_KEYS[name].attribute, self.log_message_timestamp_difference_max_ms)

    def _resolve_listeners(self) -> None:
        protocols = parse_security_protocol_map(str(self.values["listener.security.protocol.map"]))
        self.listener_security_protocol_map = protocols
        listeners_text = str(self.values["listeners"])
        self._resolve_inter_broker_listener(protocols)
        self.control_plane_listener_name = self._control_plane_listener(protocols)
        advertised = self.values["advertised.listeners"]
        if isinstance(advertised, str):
            self.advertised_listeners = parse_end_points(advertised, protocols, distinct_ports=False)
            self.listeners = parse_end_points(listeners_text, protocols, distinct_ports=True)
        else:
            self.listeners = parse_end_points(listeners_text, protocols, distinct_ports=True)
            self.advertised_listeners = list(self.listeners)

    def _resolve_inter_broker_listener(self, protocols: Mapping[str, str]) -> None:
        name = self.values["inter.broker.listener.name"]
        if not isinstance(name, str):
            self.inter_broker_listener_name = self.security_inter_broker_protocol
            return
        if "security.inter.broker.protocol" in self.originals:
            raise ConfigException(
                "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set."
            )
        if name.upper() not in protocols:
            raise ConfigException(
                f"Listener with name {name.upper()} defined in inter.broker.listener.name not found in "
                "listener.security.protocol.map."
            )
        self.inter_broker_listener_name = name.upper()
        self.security_inter_broker_protocol = protocols[name.upper()]

    def _control_plane_listener(self, protocols: Mapping[str, str]) -> str | None:
        name = self.values["control.plane.listener.name"]
        if not isinstance(name, str):
            return None
        if name.upper() not in protocols:
            raise ConfigException(
                f"Listener with {name.upper()} defined in control.plane.listener.name not found in "
                "listener.security.protocol.map."
            )
        return name.upper()

    def _resolve_rest(self) -> None:
        self.zookeeper_connection_timeout_ms = _or(
            self.values["zookeeper.connection.timeout.ms"], self.zookeeper_session_timeout_ms
        )
        self.inter_broker_protocol_version = _version(self.values["inter.broker.protocol.version"])
        self.log_message_format_version = _version(self.values["log.message.format.version"])
        if self.delegation_token_secret_key is None:
            self.delegation_token_secret_key = self.delegation_token_master_key
        overrides = parse_csv_map(
            "max.connections.per.ip.overrides", str(self.values["max.connections.per.ip.overrides"])
        )
        self.max_connections_per_ip_overrides = {host: _count(text) for host, text in overrides.items()}
        port = self.originals.get("kafka_zk.metrics.port", "")
        parsed = OWN_KEYS["kafka_zk.metrics.port"].parse(port) if port.strip() else -1
        # The port's own rule is that an empty one is none.
        given = {name: value for name, value in self.originals.items() if name != "kafka_zk.metrics.port"}
        self.own_values = OWN_KEYS.parse_all(given)
        self.kafka_zk_metrics_host = self.originals.get("kafka_zk.metrics.host", "127.0.0.1").strip()
        self.kafka_zk_metrics_port = parsed if isinstance(parsed, int) and parsed >= 0 else None


def _or(value: ConfigValue, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _first_int(value: ConfigValue) -> int | None:
    return value if isinstance(value, int) else None


def _version(value: ConfigValue) -> MetadataVersion:
    version = find_version(str(value))
    assert version is not None, "the validator let only known versions pass"
    return version


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigException(f'For input string: "{text}"') from None
