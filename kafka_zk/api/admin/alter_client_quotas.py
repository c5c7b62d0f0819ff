"""AlterClientQuotas (key 49, v0-1): set and remove quotas of users, client ids and ips.

Source      KafkaApis.handleAlterClientQuotasRequest, AlterClientQuotasRequest.entries.
"""

from __future__ import annotations

from kafka_zk.admin.client_quotas import alter_client_quotas
from kafka_zk.api.api_error import api_error_message
from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_item
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.alter_client_quotas import (
    ALTER_CLIENT_QUOTAS_REQUEST,
    ALTER_CLIENT_QUOTAS_RESPONSE,
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    RequestEntryData,
    ResponseEntryData,
)

ERRORS = Form((Each("entries", "entries", inner=(Each("entity", "entity"),)),), Text.STANDARD)


@api(ALTER_CLIENT_QUOTAS_REQUEST, ALTER_CLIENT_QUOTAS_RESPONSE, errors=ERRORS)
def alter(request: AlterClientQuotasRequest, ctx: RequestContext) -> AlterClientQuotasResponse:
    """Blocks. Alter each entry; of entries with the same entity the last result is returned."""
    authorize(ctx, Operation.ALTER_CONFIGS, ResourceType.CLUSTER)

    def alter_one(entry: RequestEntryData) -> ResponseEntryData:
        changes = [(operation.key, None if operation.remove else operation.value) for operation in in_turns(entry.ops)]
        alter_client_quotas(ctx.services.zk, _names(entry), changes, validate_only=request.validate_only)
        return ResponseEntryData(error_message=None, entity=_entity(entry))

    # An entity named twice is answered once, with its last result.
    by_entity: dict[frozenset[tuple[str, str | None]], ResponseEntryData] = {}
    for entry in in_turns(request.entries):
        (by_entity[frozenset(_names(entry).items())],) = per_item((entry,), alter_one, _refused)
    return AlterClientQuotasResponse(entries=list(by_entity.values()))


def _names(entry: RequestEntryData) -> dict[str, str | None]:
    return {part.entity_type: part.entity_name for part in in_turns(entry.entity)}


def _refused(entry: RequestEntryData, error: BrokerError) -> ResponseEntryData:
    return ResponseEntryData(error_code=error.code, error_message=api_error_message(error), entity=_entity(entry))


def _entity(entry: RequestEntryData) -> list[EntityData]:
    """Each type once: of two names the last one counts."""
    return [EntityData(entity_type=kind, entity_name=name) for kind, name in in_turns(_names(entry).items())]
