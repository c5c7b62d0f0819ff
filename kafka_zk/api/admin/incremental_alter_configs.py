"""IncrementalAlterConfigs (key 44, v0-1): set, delete, append to or subtract from single keys of a resource.

Source      KafkaApis.handleIncrementalAlterConfigsRequest; KIP-339, KIP-412.
"""

from __future__ import annotations

from kafka_zk.admin.config_rules import Change
from kafka_zk.api.admin.altered_resources import Resource, alter_all
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.messages.incremental_alter_configs import (
    INCREMENTAL_ALTER_CONFIGS_REQUEST,
    INCREMENTAL_ALTER_CONFIGS_RESPONSE,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


@api(
    INCREMENTAL_ALTER_CONFIGS_REQUEST,
    INCREMENTAL_ALTER_CONFIGS_RESPONSE,
    errors=Form((Each("resources", "responses"),), Text.OWN),
)
def incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, ctx: RequestContext
) -> IncrementalAlterConfigsResponse:
    """Blocks. Apply single changes to the configs of each resource."""
    resources: list[Resource] = [
        (
            resource.resource_type,
            resource.resource_name,
            tuple(Change(config.config_operation, config.name, config.value) for config in in_turns(resource.configs)),
        )
        for resource in in_turns(request.resources)
    ]
    return IncrementalAlterConfigsResponse(
        responses=alter_all(
            resources, ctx, AlterConfigsResourceResponse, keep_others=True, validate_only=request.validate_only
        )
    )
