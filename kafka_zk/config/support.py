"""Configs that this broker does not support: refused, or ignored with a warning.

Role        Pure. The one list of what is refused; remove a line when its feature is implemented.
Invariants  A config that protects data or access is never ignored silently: it works, or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kafka_zk.config.authorizer import ALLOW_EVERYONE, AUTHORIZERS, PREFIX, SUPER_USERS, AuthorizerSettings
from kafka_zk.config.declaration import INT, LOW, PASSWORD, STRING, Config, ConfigTable, UpdateMode
from kafka_zk.config.errors import UnsupportedConfig, invalid_value
from kafka_zk.config.layers import PER_LISTENER, listener_key, listener_key_base
from kafka_zk.config.parsed_broker import ParsedBroker
from kafka_zk.config.security_values import BUILT_IN_CLASSES, security_remark, without_mechanism
from kafka_zk.config.tables.broker import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from kafka_zk.config.validators import between
from kafka_zk.config.values import ConfigType, ConfigValue

METRICS = "kafka_zk.metrics."
_TLS_OF_METRICS = (
    "ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.key",
    "ssl.keystore.certificate.chain", "ssl.key.password", "ssl.truststore.type", "ssl.truststore.location",
    "ssl.truststore.password", "ssl.truststore.certificates", "ssl.client.auth", "ssl.enabled.protocols",
)  # fmt: skip


def _of_metrics(name: str) -> Config:
    """A listener's TLS key for the Prometheus endpoint; its stores are PEM unless told otherwise."""
    row = BROKER_KEYS[name]
    default = "PEM" if name.endswith("store.type") else row.default
    return replace(
        row,
        name=METRICS + name,
        default=default,
        update_mode=UpdateMode.READ_ONLY,
        doc=f"As {name}, for the Prometheus endpoint.",
        read_by="broker.metrics_port",
    )


# fmt: off
OWN_KEYS = ConfigTable((
    Config("kafka_zk.metrics.port", INT, None, between(-1, 65535), LOW,
           "Port of the Prometheus endpoint; 0 takes any free port; -1 or unset disables it.",
           read_by="broker.server"),
    Config("kafka_zk.metrics.host", STRING, "127.0.0.1", None, LOW,
           "Address of the Prometheus endpoint, loopback by default; an empty value means every interface.",
           read_by="broker.server"),
    Config("kafka_zk.metrics.basic.username", STRING, None, None, LOW,
           "Name that a reader of the Prometheus endpoint must give; unset: none is asked for.",
           read_by="broker.metrics_port"),
    Config("kafka_zk.metrics.basic.password", PASSWORD, None, None, LOW,
           "Password of that name.",
           read_by="broker.metrics_port"),
    Config("kafka_zk.metrics.basic.password.file", STRING, None, None, LOW,
           "A file that holds the password, instead of the key above.",
           read_by="broker.metrics_port"),
    *map(_of_metrics, _TLS_OF_METRICS),
))

# Keys of plug-ins that Kafka itself ships; they are not in Kafka's own table.
_AUTHORIZER_KEYS = (SUPER_USERS, ALLOW_EVERYONE, PREFIX)

_REFUSED: tuple[tuple[str, Callable[[ParsedBroker], bool], str], ...] = (
    ("process.roles", lambda config: bool(config.process_roles),
     "this broker needs ZooKeeper, KRaft is not supported"),
    ("zookeeper.metadata.migration.enable", lambda config: config.zookeeper_metadata_migration_enable,
     "migration to KRaft is not supported"),
    ("remote.log.storage.system.enable", lambda config: config.remote_log_storage_system_enable,
     "tiered storage is not supported"),
    ("authorizer.class.name", lambda config: config.authorizer_class_name not in ("", *AUTHORIZERS),
     "there is no such authorizer here, and ignoring this would let every client do everything"),
    ("config.providers", lambda config: bool(config.originals.get("config.providers", "").strip()),
     "values from config providers are not supported yet"),
)
# fmt: on

_REPLICA_SELECTORS = (
    "org.apache.kafka.common.replica.LeaderSelector",
    "org.apache.kafka.common.replica.RackAwareReplicaSelector",
)
# They size parts of Apache Kafka that one event loop replaces; nothing is lost by leaving them unread.
_MEANT_FOR_THREADS = (
    "auto.include.jmx.reporter",
    "background.threads",
    "delete.records.purgatory.purge.interval.requests",
    "fetch.purgatory.purge.interval.requests",
    "kafka.metrics.polling.interval.secs",
    "num.io.threads",
    "num.network.threads",
    "producer.purgatory.purge.interval.requests",
)
_LISTENER_SECURITY = ("ssl.", "sasl.", "plain.", "scram-sha-", "gssapi.", "oauthbearer.", "principal.builder.class",
                      "connections.max.reauth.ms")  # fmt: skip
# Behind a listener's and a mechanism's name broker/logins.py reads them, or refuses them.
_OF_MECHANISMS = (".sasl.jaas.config", ".sasl.server.callback.handler.class", ".connections.max.reauth.ms",
                  ".sasl.login.callback.handler.class", ".sasl.login.class")  # fmt: skip
_CLASSES_OF_LISTENERS = ("principal.builder.class", "ssl.engine.factory.class")
# All they do is said by a rule between keys (broker_rules.py).
_HELD_BY_A_RULE = ("broker.id.generation.enable",)
# Of a key that is refused, what passed asks for nothing.
_SILENT = frozenset((*_MEANT_FOR_THREADS, *_HELD_BY_A_RULE, *(name for name, _, _ in _REFUSED)))
# Plug-ins that only watch: the broker does its work without them.
_IGNORED_PLUGINS = ("metric.reporters", "kafka.metrics.reporters", "security.providers", "zookeeper.clientCnxnSocket")
_HARMLESS_CLASSES = (
    "org.apache.kafka.common.metrics.JmxReporter",
    "org.apache.zookeeper.ClientCnxnSocketNIO",
    "org.apache.zookeeper.ClientCnxnSocketNetty",
)


def check_supported(config: ParsedBroker) -> None:
    """Raise UnsupportedConfig, one sentence long, for what must not be ignored; ConfigException for a Java class
    that decides something and cannot be loaded here."""
    for name, refused, why in _REFUSED:
        if refused(config):
            raise UnsupportedConfig(f"{name}={config.originals.get(name, '')} cannot be used: {why}.")
    if config.authorizer_class_name:
        AuthorizerSettings.of(config.originals)
    for name, row in BROKER_KEYS.items():
        check_loadable(row, config.values[name])
    for end_point in config.listeners:
        for name in _CLASSES_OF_LISTENERS:
            check_loadable(BROKER_KEYS[name], config.for_listener(end_point.listener_name, name))
    selector = config.replica_selector_class
    if selector and selector not in _REPLICA_SELECTORS:
        raise invalid_value("replica.selector.class", selector, f"Class {selector} could not be found.")


def check_loadable(row: Config, value: ConfigValue) -> None:
    """Raise ConfigException for a Java class: there are none here but those that Kafka itself brings."""
    if row.type is ConfigType.CLASS and value not in (None, row.default, *BUILT_IN_CLASSES.get(row.name, ())):
        raise invalid_value(row.name, value, f"Class {value} could not be found.")


def start_up_warnings(config: ParsedBroker) -> list[str]:
    """One line for each key of the user's that changes nothing, in the order of the keys."""
    warnings = []
    for name in sorted(config.originals):
        row = BROKER_KEYS.get(name) or OWN_KEYS.get(name) or DYNAMIC_ONLY_KEYS.get(name)
        if name in _IGNORED_PLUGINS:
            warnings += _plugin_warning(config, name)
        elif row is not None:
            if row.read_by is None and name in config.layers.given and name not in _SILENT:
                warnings += _unread_warning(config, name)
        elif name.startswith("listener.name."):
            warnings += _listener_warning(config, name)
        elif not name.startswith(_AUTHORIZER_KEYS):
            warnings.append(f"Config {name} is unknown: its value is reported, but has no effect.")
    return warnings


def _unread_warning(config: ParsedBroker, name: str) -> list[str]:
    if name in DYNAMIC_ONLY_KEYS:
        return [f"Config {name} has no effect in a file: it can only be set dynamically (kafka-configs.sh)."]
    remark = security_remark(name, config.originals[name].strip(), has_mechanism=False)
    if remark is not None:
        return _told(name, remark)
    return [f"Config {name} is not supported yet: its value is validated and reported, but has no effect."]


def _told(name: str, remark: str) -> list[str]:
    """One sentence, or none: a remark goes on after the key, some after a colon."""
    return [f"Config {name}{'' if remark.startswith(':') else ' '}{remark}"] if remark else []


def _listener_warning(config: ParsedBroker, name: str) -> list[str]:
    """Of a listener's own keys Kafka reads a few; the others say what they say for all listeners or for none."""
    base = listener_key_base(name)
    if name not in [listener_key(each.listener_name, base) for each in config.listeners]:
        return [f"Config {name} has no effect: there is no such listener (write its name in lower case here)."]
    if base in PER_LISTENER:
        return []
    if base.startswith(_LISTENER_SECURITY):
        if base.endswith(_OF_MECHANISMS):
            return []
        key = without_mechanism(base)
        if any(row.read_by is not None and base.endswith(read) for read, row in BROKER_KEYS.items()):
            return []
        remark = security_remark(key, config.originals[name].strip(), has_mechanism=key != base)
        if remark is not None:
            return _told(name, remark)
        return [f"Config {name} is not supported yet: its value is reported, but has no effect."]
    return [f"Config {name} has no effect: {base} cannot be set per listener."]


def _plugin_warning(config: ParsedBroker, name: str) -> list[str]:
    classes = [entry for entry in config.originals[name].split(",") if entry.strip() not in ("", *_HARMLESS_CLASSES)]
    if not classes:
        return []
    return [f"Config {name}: ignoring {','.join(classes)}, since Java classes cannot be loaded."]
