"""kafka-configs.sh --bootstrap-server: configurations of topics, brokers and loggers, through the admin client.

Role        Asks and prints. Users, clients and ips are in quotas.py.
Source      ConfigCommand.alterConfig, describeConfig, getResourceConfig.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kafka_zk.admin.topic_rules import check_name
from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.admin_results import (
    ConfigChange,
    ConfigEntry,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from kafka_zk.protocol.errors import InvalidConfig, UnsupportedVersion
from kafka_zk.tools.common.java_output import execution_error, hash_order, illegal_argument
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.configs.asking import asked, check_deletions
from kafka_zk.tools.configs.changes import to_add, to_delete
from kafka_zk.tools.configs.options import (
    BROKERS,
    CLIENT_METRICS,
    CLIENTS,
    IPS,
    LOGGERS,
    TOPICS,
    USERS,
    Entities,
)

T = TypeVar("T")

_RESOURCES = {
    TOPICS: ResourceType.TOPIC,
    BROKERS: ResourceType.BROKER,
    LOGGERS: ResourceType.BROKER_LOGGER,
    CLIENT_METRICS: ResourceType.CLIENT_METRICS,
}


def run(options: Options, found: Entities, admin: AdminClient) -> None:
    """Do what was asked. Raises what `main` prints."""
    if options.has("alter"):
        _alter(options, found, admin)
    else:
        _describe(options, found, admin)


# --- alter -----------------------------------------------------------------------------------------------------------


def _alter(options: Options, found: Entities, admin: AdminClient) -> None:
    kind, name = found.types[0], found.names[0]
    added, deleted = to_add(options), to_delete(options)
    if kind in (USERS, CLIENTS, IPS):
        from kafka_zk.tools.configs import quotas

        quotas.alter(found, added, deleted, admin)
    elif kind == BROKERS:
        _replace_broker_configs(name, added, deleted, admin)
    elif kind == LOGGERS:
        known = [entry.name for entry in _configs(admin, kind, name, with_all=False, synonyms=True)]
        unknown = [logger for logger in (*deleted, *added) if logger not in known]
        if unknown:
            raise InvalidConfig(f"Invalid broker logger(s): {','.join(unknown)}")
        _change(kind, name, added, deleted, admin)
    else:
        _check_present(deleted, _configs(admin, kind, name, with_all=False))
        _change(kind, name, added, deleted, admin)
    if name:
        print(f"Completed updating config for {kind[:-1]} {name}.")
    else:
        print(f"Completed updating default config for {kind} in the cluster.")


def _replace_broker_configs(name: str, added: dict[str, str], deleted: Sequence[str], admin: AdminClient) -> None:
    """The older call: it replaces all values, so those that are secrets must be given again."""
    standing = _configs(admin, BROKERS, name, with_all=False)
    _check_present(deleted, standing)
    values: dict[str, str | None] = {entry.name: entry.value for entry in standing}
    values.update(added)
    wanted = {key: value for key, value in values.items() if key not in deleted}
    missing = [key for key, value in wanted.items() if value is None]
    if missing:
        raise InvalidConfig(
            "All sensitive broker config entries must be specified for --alter, "
            f"missing entries: Set({', '.join(missing)})"
        )
    given = {key: value for key, value in wanted.items() if value is not None}
    asked(lambda: admin.alter_configs({ConfigResource(ResourceType.BROKER, name): given}))


def _change(kind: str, name: str, added: dict[str, str], deleted: Sequence[str], admin: AdminClient) -> None:
    changes = [ConfigChange(key, ConfigOperation.SET, value) for key, value in added.items()]
    changes += [ConfigChange(key, ConfigOperation.DELETE, "") for key in deleted]
    asked(lambda: admin.incremental_alter_configs({ConfigResource(_RESOURCES[kind], name): changes}))


def _check_present(deleted: Iterable[str], standing: Sequence[ConfigEntry]) -> None:
    """Raise InvalidConfig for keys that cannot be deleted because they are not set."""
    known = {entry.name for entry in standing}
    check_deletions(deleted, known)


# --- describe --------------------------------------------------------------------------------------------------------


def _describe(options: Options, found: Entities, admin: AdminClient) -> None:
    kind = found.types[0]
    if kind in (USERS, CLIENTS, IPS):
        from kafka_zk.tools.configs import quotas

        quotas.describe(found, admin)
        return
    with_all = options.has("all")
    for name in found.names[:1] or _all_of(kind, admin):
        if name:
            print(f"{'All' if with_all else 'Dynamic'} configs for {kind[:-1]} {name} are:")
        else:
            print(f"Default configs for {kind} in the cluster are:")
        for entry in _configs(admin, kind, name, with_all=with_all, synonyms=True):
            synonyms = ", ".join(
                f"{ConfigSource(source).name}:{synonym}={_shown(value)}" for synonym, value, source in entry.synonyms
            )
            sensitive = "true" if entry.is_sensitive else "false"
            print(f"  {entry.name}={_shown(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def _all_of(kind: str, admin: AdminClient) -> list[str]:
    if kind == TOPICS:
        topics = asked(lambda: admin.list_topics(internal=True))
        return hash_order([topic.name for topic in topics])
    if kind == CLIENT_METRICS:
        # No broker in ZooKeeper mode has any; the text is those of Apache's client.
        unsupported = UnsupportedVersion("The node does not support LIST_CLIENT_METRICS_RESOURCES")
        raise execution_error(unsupported) from unsupported
    return [str(node.id) for node in asked(admin.describe_cluster).nodes] + [""]


def _configs(admin: AdminClient, kind: str, name: str, *, with_all: bool, synonyms: bool = False) -> list[ConfigEntry]:
    """The configs of one entity, sorted; without `with_all` only those set on it. Loggers are always shown."""
    source = _source_of(kind, name)
    resource = ConfigResource(_RESOURCES[kind], name)
    entries = asked(lambda: admin.describe_configs([resource], synonyms=synonyms))[resource]
    return sorted(
        (entry for entry in entries if with_all or source is None or entry.source == source),
        key=lambda entry: entry.name,
    )


def _source_of(kind: str, name: str) -> ConfigSource | None:
    if kind == TOPICS:
        if name:
            check_name(name)
        return ConfigSource.DYNAMIC_TOPIC_CONFIG
    if kind == BROKERS:
        return ConfigSource.DYNAMIC_BROKER_CONFIG if name else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    if kind == CLIENT_METRICS:
        return ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG
    if kind == LOGGERS:
        return None
    raise illegal_argument(f"Invalid entity type: {kind}")
