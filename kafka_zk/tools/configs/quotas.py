"""kafka-configs.sh --bootstrap-server: quotas of users, clients and ips, and SCRAM credentials.

Role        Asks and prints.
Source      ConfigCommand.alterQuotaConfigs, alterUserScramCredentialConfigs, describeQuotaConfigs,
            describeClientQuotaAndUserScramCredentialConfigs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from kafka_zk.client.admin.admin_client import AdminClient
from kafka_zk.client.admin.quotas import CLIENT_ID, IP, USER, ClientQuotaEntity, FilterComponent, Match
from kafka_zk.client.admin.scram import ScramDeletion, ScramMechanism, ScramUpsertion
from kafka_zk.config.values import java_double
from kafka_zk.java_hash import string_hash
from kafka_zk.protocol.errors import BrokerError, ErrorCode
from kafka_zk.tools.common.java_output import execution_error, hash_order, hash_order_by, illegal_argument, stack_trace
from kafka_zk.tools.common.java_values import parse_double
from kafka_zk.tools.configs.asking import asked, check_deletions
from kafka_zk.tools.configs.options import CLIENTS, IPS, USERS, Entities
from kafka_zk.tools.configs.scram import MECHANISMS, iterations_and_password

_QUOTAS = frozenset({"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"})
_IP_QUOTAS = frozenset({"connection_creation_rate"})
_WIRE_TYPES = {USERS: USER, CLIENTS: CLIENT_ID, IPS: IP}
_SHOWN_TYPES = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}


# --- alter -----------------------------------------------------------------------------------------------------------


def alter(found: Entities, added: Mapping[str, str], deleted: Sequence[str], admin: AdminClient) -> None:
    """Blocks. Raises JavaError, InvalidConfig."""
    if found.types[0] == IPS:
        unknown = [key for key in (*added, *deleted) if key not in _IP_QUOTAS]
        if unknown:
            raise illegal_argument(
                f"Only connection quota configs can be added for '{IPS}' using --bootstrap-server. "
                f"Unexpected config names: {','.join(unknown)}"
            )
        _alter_quotas(found, added, deleted, admin)
        return
    _check_keys(found, added, deleted)
    if not _QUOTAS.isdisjoint((*added, *deleted)):
        _alter_quotas(found, added, deleted, admin)
    else:
        _alter_credentials(found.names[0], added, deleted, admin)


def _check_keys(found: Entities, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    of_clients = found.types[0] == CLIENTS or len(found.types) == 2
    for verb, keys, kind in (("added", list(added), "Set"), ("deleted", list(deleted), "ArrayBuffer")):
        unknown = [key for key in keys if key not in _QUOTAS and key not in MECHANISMS]
        if of_clients:
            unknown += [key for key in keys if key in MECHANISMS]
            allowed, whose = "quota configs", CLIENTS
        else:
            allowed, whose = "quota and SCRAM credential configs", USERS
        if unknown:
            raise illegal_argument(
                f"Only {allowed} can be {verb} for '{whose}' using --bootstrap-server. "
                f"Unexpected config names: {kind}({', '.join(unknown)})"
            )
    if of_clients or MECHANISMS.keys().isdisjoint((*added, *deleted)):
        return
    if found.has_default:
        raise illegal_argument(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials "
            "using --bootstrap-server."
        )
    if not _QUOTAS.isdisjoint((*added, *deleted)):
        raise illegal_argument(
            f"Cannot alter both quota and SCRAM credential configs simultaneously for '{USERS}' "
            "using --bootstrap-server."
        )


def _alter_quotas(found: Entities, added: Mapping[str, str], deleted: Sequence[str], admin: AdminClient) -> None:
    if len(found.types) != len(found.names):
        raise illegal_argument("Exactly one entity name must be specified for every entity type")
    standing = next(iter(_quotas(found, admin).values()), {})
    check_deletions(deleted, standing)
    changes: dict[str, float | None] = {}
    for key, text in added.items():
        try:
            changes[key] = parse_double(text)
        except ValueError:
            raise illegal_argument(f"Cannot parse quota configuration value for {key}: {text}") from None
    changes |= dict.fromkeys(deleted)
    names = zip(found.types, found.names, strict=True)
    entity = ClientQuotaEntity.of({_WIRE_TYPES[kind]: name or None for kind, name in names})
    asked(lambda: admin.alter_client_quotas({entity: changes}))


def _alter_credentials(user: str, added: Mapping[str, str], deleted: Sequence[str], admin: AdminClient) -> None:
    upsertions = []
    for name, text in added.items():
        iterations, password = iterations_and_password(name, text)
        upsertions.append(ScramUpsertion(user, MECHANISMS[name], password.encode(), iterations))
    deletions = [ScramDeletion(user, MECHANISMS[name]) for name in deleted]
    asked(lambda: admin.alter_user_scram_credentials(deletions=deletions, upsertions=upsertions))


# --- describe --------------------------------------------------------------------------------------------------------


def describe(found: Entities, admin: AdminClient) -> None:
    """Blocks. Print the quotas of the entities; of users also their credentials."""
    quotas = _quotas(found, admin)
    for entity in hash_order_by(quotas, _entity_hash, capacity=len(quotas)):
        values = quotas[entity]
        shown = ", ".join(f"{key}={java_double(values[key])}" for key in hash_order(values, capacity=len(values)))
        print(f"Quota configs for {_entity_text(entity)} are {shown}")
    if found.types[0] == IPS or CLIENTS in found.types or found.has_default:
        return
    credentials = asked(lambda: admin.describe_user_scram_credentials(found.names))
    for user, outcome in credentials.items():
        if isinstance(outcome, BrokerError):
            if outcome.code is not ErrorCode.RESOURCE_NOT_FOUND:
                cause = stack_trace(execution_error(outcome)).splitlines()[0].partition(": ")[2]
                print(
                    f"Error retrieving SCRAM credential configs for user-principal '{user}': "
                    f"ExecutionException: {cause}"
                )
            continue
        shown = ", ".join(
            f"{ScramMechanism(info.mechanism).mechanism_name}=iterations={info.iterations}" for info in outcome
        )
        print(f"SCRAM credential configs for user-principal '{user}' are {shown}")


def _quotas(found: Entities, admin: AdminClient) -> Mapping[ClientQuotaEntity, Mapping[str, float]]:
    components = list(_components(found))
    return asked(lambda: admin.describe_client_quotas(components, strict=True))


def _components(found: Entities) -> Iterable[FilterComponent]:
    for kind, name in zip_longest(found.types, found.names):
        if kind is None:
            raise illegal_argument("More entity names specified than entity types")
        wire = _WIRE_TYPES[kind]
        if name is None:
            yield FilterComponent(wire, Match.ANY)
        elif name:
            yield FilterComponent(wire, Match.EXACT, name)
        else:
            yield FilterComponent(wire, Match.DEFAULT)


def _entity_text(entity: ClientQuotaEntity) -> str:
    names = entity.names()
    parts = []
    for kind, noun in _SHOWN_TYPES.items():
        if kind in names:
            name = names[kind]
            parts.append(f"the default {noun}" if name is None else f"{noun} '{name}'")
    return ", ".join(parts)


def _entity_hash(entity: ClientQuotaEntity) -> int:
    """ClientQuotaEntity.hashCode: that of a map, within Objects.hash."""
    entries = sum(
        string_hash(kind) ^ (0 if name is None else string_hash(name)) for kind, name in entity.names().items()
    )
    return (31 + entries) & 0xFFFFFFFF
