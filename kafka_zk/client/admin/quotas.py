"""Describes and alters client quotas over the wire.

Role        Acts, through `Calls`.
Source      KafkaAdminClient.describeClientQuotas, alterClientQuotas; ClientQuotaEntity, ClientQuotaFilterComponent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.messages import alter_client_quotas as altering
from kafka_zk.protocol.messages import describe_client_quotas as describing

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"


class Match(IntEnum):
    """How a filter matches the name of one entity type."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


@dataclass(frozen=True, slots=True)
class ClientQuotaEntity:
    """The entity of a quota: names by entity type, None for the default of the type."""

    entries: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, names: Mapping[str, str | None]) -> ClientQuotaEntity:
        return cls(tuple(sorted(names.items())))

    def names(self) -> dict[str, str | None]:
        return dict(self.entries)

    def __str__(self) -> str:
        return (
            "ClientQuotaEntity(entries={" + ", ".join(f"{kind}={name or 'null'}" for kind, name in self.entries) + "})"
        )


class FilterComponent(NamedTuple):
    """One entity type of a filter. `name` is used for EXACT only."""

    entity_type: str
    match: Match = Match.ANY
    name: str | None = None


def describe_client_quotas(
    calls: Calls, components: Sequence[FilterComponent], *, strict: bool
) -> dict[ClientQuotaEntity, dict[str, float]]:
    """Blocks. Returns the quotas of every entity that has all of `components` (strict: and no others).

    Raises InvalidRequest, UnsupportedVersion, ClusterAuthorizationFailed.
    """

    def build(_: int) -> describing.DescribeClientQuotasRequest:
        return describing.DescribeClientQuotasRequest(
            components=[
                describing.ComponentData(entity_type=kind, match_type=match, match=name)
                for kind, match, name in components
            ],
            strict=strict,
        )

    def check(answer: describing.DescribeClientQuotasResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    request, response = describing.DESCRIBE_CLIENT_QUOTAS_REQUEST, describing.DESCRIBE_CLIENT_QUOTAS_RESPONSE
    answer = calls.to_any_node(Call("describeClientQuotas", request, response, build, check))
    return {
        ClientQuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries or ()
    }


def alter_client_quotas(
    calls: Calls,
    alterations: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
    *,
    validate_only: bool = False,
) -> None:
    """Blocks. Set quotas by their keys, or remove them (None). Raises InvalidRequest ..., the first in the answer."""

    def build(_: int) -> altering.AlterClientQuotasRequest:
        return altering.AlterClientQuotasRequest(
            entries=[
                altering.RequestEntryData(entity=list(_parts(entity)), ops=list(_operations(changes)))
                for entity, changes in alterations.items()
            ],
            validate_only=validate_only,
        )

    def check(answer: altering.AlterClientQuotasResponse) -> None:
        for entry in answer.entries:
            raise_for(entry.error_code, entry.error_message)

    request, response = altering.ALTER_CLIENT_QUOTAS_REQUEST, altering.ALTER_CLIENT_QUOTAS_RESPONSE
    calls.to_any_node(Call("alterClientQuotas", request, response, build, check))


def _parts(entity: ClientQuotaEntity) -> Iterable[altering.EntityData]:
    for kind, name in entity.entries:
        yield altering.EntityData(entity_type=kind, entity_name=name)


def _operations(changes: Mapping[str, float | None]) -> Iterable[altering.OpData]:
    for key, value in changes.items():
        yield altering.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
