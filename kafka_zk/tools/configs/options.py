"""The options of kafka-configs.sh: what is declared, which ones may be combined, which entities are meant.

Role        Pure, but for looking up the host of an ip entity.
Source      ConfigCommand.ConfigCommandOptions.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from typing import NamedTuple

from kafka_zk.tools.common.java_output import illegal_argument
from kafka_zk.tools.common.options import Option, Options, UsageError

TOPICS, CLIENTS, USERS, BROKERS, IPS = "topics", "clients", "users", "brokers", "ips"
LOGGERS, CLIENT_METRICS = "broker-loggers", "client-metrics"
BOOTSTRAP_TYPES = (TOPICS, CLIENTS, USERS, BROKERS, IPS, LOGGERS, CLIENT_METRICS)
ZOOKEEPER_TYPES = (USERS, BROKERS)

# The order counts: it is that of the entities.
_FLAGS = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": LOGGERS,
    "ip": IPS,
}
_DEFAULT_FLAGS = {
    "client-defaults": CLIENTS,
    "user-defaults": USERS,
    "broker-defaults": BROKERS,
    "ip-defaults": IPS,
}
_CONNECTIONS = ("bootstrap-server", "bootstrap-controller", "zookeeper")

OPTIONS = (
    *(Option(name) for name in ("help", "version", "alter", "describe", "all", "entity-default", "force")),
    *(
        Option(name, takes_value=True)
        for name in (
            *_CONNECTIONS,
            "command-config",
            "entity-type",
            "entity-name",
            "add-config",
            "add-config-file",
            "delete-config",
            "zk-tls-config-file",
            *_FLAGS,
        )
    ),
    *(Option(name) for name in _DEFAULT_FLAGS),
)


class Entities(NamedTuple):
    """The entities named: types and names in their order; an empty name is the default of its type."""

    types: list[str]
    names: list[str]

    @property
    def has_name(self) -> bool:
        return any(self.names)

    @property
    def has_default(self) -> bool:
        return "" in self.names


def entities(options: Options) -> Entities:
    """Raises OptionError if a flag that names an entity was given twice."""
    types = options.texts("entity-type") + [
        kind for flag, kind in {**_FLAGS, **_DEFAULT_FLAGS}.items() if options.has(flag)
    ]
    given = iter(options.texts("entity-name"))
    names = [
        next(given) if name == "entity-name" else ""
        for name in options.in_order()
        if name in ("entity-name", "entity-default")
    ]
    names += [options.text(flag) or "" for flag in _FLAGS if options.has(flag)]
    names += ["" for flag in _DEFAULT_FLAGS if options.has(flag)]
    return Entities(types, names)


def check(options: Options) -> Entities:
    """Raise UsageError, OptionError or JavaError (IllegalArgumentException) for what makes no sense."""
    if options.has("alter") == options.has("describe"):
        raise UsageError("Command must include exactly one action: --describe, --alter")
    options.refuse_beside("alter", ["describe"])
    options.refuse_beside("describe", ["alter", "add-config", "delete-config"])
    found = entities(options)
    _check_types(options, found)
    _check_connection(options)
    _check_names(options, found)
    if options.has("describe") and LOGGERS in found.types and not found.has_name:
        raise illegal_argument(f"an entity name must be specified with --describe of {','.join(found.types)}")
    if options.has("alter"):
        _check_alteration(options, found)
    return found


def _check_types(options: Options, found: Entities) -> None:
    types = found.types
    doubled = _without_first(types)
    if doubled:
        raise illegal_argument(f"Duplicate entity type(s) specified: {','.join(doubled)}")
    if options.has("bootstrap-server") or options.has("bootstrap-controller"):
        allowed: tuple[str, ...] = BOOTSTRAP_TYPES
        connection = "--bootstrap-server or --bootstrap-controller"
    else:
        allowed, connection = ZOOKEEPER_TYPES, "--zookeeper"
    for kind in types:
        if kind not in allowed:
            raise illegal_argument(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(allowed)} "
                f"with a {connection} argument"
            )
    if not types:
        raise illegal_argument("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {USERS, CLIENTS}:
        raise illegal_argument(f"Only '{USERS}' and '{CLIENTS}' entity types may be specified together")
    general = any(map(options.has, ("entity-name", "entity-type", "entity-default")))
    if general and any(map(options.has, (*_FLAGS, *_DEFAULT_FLAGS))):
        raise illegal_argument(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )


def _without_first(values: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [value for value in values if value in seen or seen.add(value)]  # type: ignore[func-returns-value]


def _check_connection(options: Options) -> None:
    given = sum(map(options.has, _CONNECTIONS))
    if given == 0:
        raise illegal_argument(
            "One of the required --bootstrap-server, --boostrap-controller, or --zookeeper arguments must be specified"
        )
    if given > 1:
        raise illegal_argument(
            "Only one of --bootstrap-server, --boostrap-controller, and --zookeeper can be specified"
        )
    if options.has("all") and options.has("zookeeper"):
        raise illegal_argument("--bootstrap-server must be specified for --all")
    if options.has("zk-tls-config-file") and not options.has("zookeeper"):
        raise illegal_argument("Only the --zookeeper option can be used with the --zk-tls-config-file option.")


def _check_names(options: Options, found: Entities) -> None:
    if not found.has_name:
        return
    kind = found.types[0]
    if BROKERS in found.types or LOGGERS in found.types:
        for name in _named(options, "entity-name", "broker", "broker-logger"):
            if not re.fullmatch(r"[+-]?[0-9]{1,10}", name):
                raise illegal_argument(
                    f"The entity name for {kind} must be a valid integer broker id, but it is: {name}"
                )
    if IPS in found.types:
        for name in _named(options, "entity-name", "ip"):
            if not _is_host(name):
                raise illegal_argument(
                    f"The entity name for {kind} must be a valid IP or resolvable host, but it is: {name}"
                )


def _named(options: Options, *flags: str) -> list[str]:
    return [options.text(flag) or "" for flag in flags if options.has(flag)]


def _is_host(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def _check_alteration(options: Options, found: Entities) -> None:
    if not {USERS, CLIENTS, BROKERS, IPS}.isdisjoint(found.types):
        if not found.has_name and not found.has_default:
            raise illegal_argument(
                "an entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
    elif not found.has_name:
        raise illegal_argument(f"an entity name must be specified with --alter of {','.join(found.types)}")
    if options.has("add-config") and options.has("add-config-file"):
        raise illegal_argument("Only one of --add-config or --add-config-file must be specified")
    if not any(map(options.has, ("add-config", "add-config-file", "delete-config"))):
        raise illegal_argument(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
