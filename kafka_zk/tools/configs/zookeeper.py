"""kafka-configs.sh --zookeeper: users' credentials, and brokers that are not running, in ZooKeeper itself.

Role        Reads, writes and prints. No broker is needed: credentials and passwords can be set before the first starts.
Invariants  What a running broker would check is not written while it runs.
Source      ConfigCommand.alterConfigWithZk, describeConfigWithZk, ConfigEntity.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_zk.config.dynamic import check_changes, is_password, scala_set
from kafka_zk.config.password_encoder import CIPHER, PasswordEncoder
from kafka_zk.tools.common.java_output import hash_order, illegal_argument, print_log_line
from kafka_zk.tools.common.options import Options
from kafka_zk.tools.common.zookeeper_option import connected
from kafka_zk.tools.configs.asking import check_deletions
from kafka_zk.tools.configs.changes import to_add, to_delete
from kafka_zk.tools.configs.options import BROKERS, CLIENTS, USERS, Entities
from kafka_zk.tools.configs.scram import MECHANISMS, iterations_and_password_for_zookeeper, stored_credential
from kafka_zk.zk.entity_configs import (
    announce_config_change,
    delete_entity,
    entities_with_config,
    entity_config,
    write_entity_config_before_any_broker,
)
from kafka_zk.zk.registration import live_broker_ids
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes.names import DEFAULT_ENTITY, desanitize, sanitize

WRITER = "kafka.zk.KafkaZkClient"
_NOUNS = {USERS: "user-principal", CLIENTS: "client-id"}


class Entity(NamedTuple):
    """One entity type with a name as it appears in a path; None is every name."""

    kind: str
    name: str | None

    def __str__(self) -> str:
        noun = _NOUNS.get(self.kind, self.kind)
        if self.name is None:
            return self.kind
        return f"default {noun}" if self.name == DEFAULT_ENTITY else f"{noun} '{desanitize(self.name)}'"


Path = tuple[Entity, ...]
"""A user or broker, or a user and its client."""


def run(options: Options, found: Entities) -> None:
    """Blocks. Do what was asked. Raises what `main` prints."""
    with connected(options, tls_config_file=options.text("zk-tls-config-file")) as zk:
        (_alter if options.has("alter") else _describe)(options, found, zk)


def _alter(options: Options, found: Entities, zk: ZkClient) -> None:
    added, deleted = to_add(options), to_delete(options)
    path = _path(options, found)
    kind = path[0].kind
    refusal = (
        f"--bootstrap-server option must be specified to update {kind} configs: "
        f"{{add: {_java_map(added)}, delete: {_list(deleted)}}}"
    )
    if kind == USERS:
        if any(key not in MECHANISMS for key in (*added, *deleted)):
            info = "User configuration updates using ZooKeeper are only supported for SCRAM credential updates."
            raise illegal_argument(f"requirement failed: {refusal}. {info}")
        for name, text in added.items():
            iterations, password = iterations_and_password_for_zookeeper(name, text)
            added[name] = stored_credential(MECHANISMS[name], password, iterations)
    else:
        _check_stopped(path[0], zk, refusal)
        added = _encoded(added, for_all_brokers=path[0].name == DEFAULT_ENTITY)
    place = _place(path)
    values = entity_config(zk, place)
    check_deletions(deleted, values)
    values |= added
    for key in deleted:
        values.pop(key, None)
    # A user without configs is removed, unless there are clients below it.
    if values or kind != USERS or not delete_entity(zk, place):
        print_log_line("WARN", "Setting entity configs without any checks on the controller.", WRITER)
        write_entity_config_before_any_broker(zk, place, values)
    announce_config_change(zk, place)
    print(f"Completed updating config for entity: {_shown(path)}.")


def _encoded(added: Mapping[str, str], *, for_all_brokers: bool) -> dict[str, str]:
    """The values of a broker as they are stored; the encoder's own settings are not stored."""
    settings = {key: value for key, value in added.items() if key.startswith("password.encoder.")}
    values = {key: value for key, value in added.items() if key not in settings}
    check_changes(values, for_all_brokers=for_all_brokers)
    secrets = [key for key in values if is_password(key)]
    if not secrets:
        return values
    if "password.encoder.secret" not in settings:
        raise illegal_argument(
            f"requirement failed: password.encoder.secret must be specified to update {scala_set(secrets)}. "
            "Other password encoder configs like cipher algorithm and iterations may also be specified "
            "to override the default encoding parameters. Password encoder configs will not be persisted in ZooKeeper."
        )
    encoder = PasswordEncoder(
        settings["password.encoder.secret"],
        os.urandom,
        key_factory=settings.get("password.encoder.keyfactory.algorithm"),
        cipher=settings.get("password.encoder.cipher.algorithm", CIPHER),
        key_length_bits=int(settings.get("password.encoder.key.length", "128")),
        iterations=int(settings.get("password.encoder.iterations", "4096")),
    )
    return values | {key: encoder.encode(values[key]) for key in secrets}


def _describe(options: Options, found: Entities, zk: ZkClient) -> None:
    path = _path(options, found)
    root = path[0]
    if root.kind == BROKERS:
        _check_stopped(root, zk, f"--bootstrap-server option must be specified to describe {BROKERS}")
    all_users = root.kind == USERS and root.name is None and len(path) == 1
    for each in _matching(path, zk):
        values = entity_config(zk, _place(each))
        # A user that is only the parent of its clients is not printed.
        if values or not all_users:
            print(f"Configs for {_shown(each)} are {','.join(f'{key}={values[key]}' for key in hash_order(values))}")


def _check_stopped(entity: Entity, zk: ZkClient, refusal: str) -> None:
    """Raise JavaError while a broker that the configuration belongs to is running."""
    if entity.name is None:
        raise illegal_argument("Error parsing broker . The broker's Entity Name must be a single integer value")
    running = live_broker_ids(zk)
    info = (
        "Broker configuration operations using ZooKeeper are only supported if the affected broker(s) are not running."
    )
    if entity.name == DEFAULT_ENTITY:
        if running:
            raise illegal_argument(f"requirement failed: {refusal} - {len(running)} brokers are running. {info}")
    elif int(entity.name) in running:
        raise illegal_argument(f"requirement failed: {refusal} - broker {int(entity.name)} is running. {info}")


def _path(options: Options, found: Entities) -> Path:
    if found.types[0] == BROKERS:
        return (Entity(BROKERS, (found.names[0] or DEFAULT_ENTITY) if found.names else None),)
    if options.has("alter") and len(found.names) != len(found.types):
        raise illegal_argument(
            "--entity-name or --entity-default must be specified with each --entity-type for --alter"
        )
    types, names = list(found.types), list(found.names)
    if len(types) == 2 and types[0] == CLIENTS:
        types.reverse()
        if len(names) == 2:
            names.reverse()
    given = iter(names)
    return tuple(
        Entity(kind, None if (name := next(given, None)) is None else sanitize(name) or DEFAULT_ENTITY)
        for kind in types
    )


def _matching(path: Path, zk: ZkClient) -> Iterator[Path]:
    """Blocks. The entities that match a path with open names. Under every user all clients are meant."""
    root, *below = path
    roots = _named(root, root.kind, zk)
    if not below:
        yield from ((each,) for each in roots)
        return
    (child,) = below
    if root.name is None:
        child = Entity(child.kind, None)
    for each in roots:
        yield from ((each, found) for found in _named(child, f"{_place((each,))}/{child.kind}", zk))


def _named(entity: Entity, directory: str, zk: ZkClient) -> Iterator[Entity]:
    if entity.name is not None:
        yield entity
        return
    for name in sorted(entities_with_config(zk, directory)):
        yield Entity(entity.kind, name)


def _place(path: Path) -> str:
    return "/".join(f"{each.kind}/{each.name}" for each in path)


def _shown(path: Path) -> str:
    return ", ".join(map(str, path))


def _java_map(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}={value}" for key, value in values.items()) + "}"


def _list(values: Sequence[str]) -> str:
    return f"{'ArrayBuffer' if values else 'List'}({', '.join(values)})"
