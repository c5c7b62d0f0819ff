"""DescribeClientQuotas (key 48, v0-1): the quotas of users, client ids and ips that match a filter.

Source      KafkaApis.handleDescribeClientQuotasRequest, DescribeClientQuotasRequest.filter.
"""

from __future__ import annotations

from kafka_zk.admin.client_quotas import describe_client_quotas
from kafka_zk.admin.quota_entities import ANYTHING, Anything, QuotaFilter, names_of
from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.messages.describe_client_quotas import (
    DESCRIBE_CLIENT_QUOTAS_REQUEST,
    DESCRIBE_CLIENT_QUOTAS_RESPONSE,
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

EXACT, DEFAULT, SPECIFIED = range(3)


@api(
    DESCRIBE_CLIENT_QUOTAS_REQUEST,
    DESCRIBE_CLIENT_QUOTAS_RESPONSE,
    errors=Form(text=Text.OWN, constants={"entries": None}),
)
def describe(request: DescribeClientQuotasRequest, ctx: RequestContext) -> DescribeClientQuotasResponse:
    """Blocks. Return the quotas of all entities that match the filter."""
    authorize(ctx, Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
    wanted = QuotaFilter.of(
        [(each.entity_type, _match(each)) for each in in_turns(request.components)], strict=request.strict
    )
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in names_of(entity).items()],
                values=[ValueData(key=key, value=value) for key, value in quotas.items()],
            )
            for entity, quotas in describe_client_quotas(ctx.services.zk, wanted).items()
        ],
    )


def _match(component: ComponentData) -> str | Anything | None:
    if component.match_type == DEFAULT:
        return None
    if component.match_type == SPECIFIED:
        return ANYTHING
    if component.match_type != EXACT or component.match is None:
        # Kafka fails on both.
        raise BrokerError
    return component.match
