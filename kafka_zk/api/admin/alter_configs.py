"""AlterConfigs (key 33, v0-2): replace all overrides of topics and brokers.

Source      KafkaApis.handleAlterConfigsRequest; KIP-133, KIP-226.
"""

from __future__ import annotations

from kafka_zk.admin.config_rules import Change, Operation
from kafka_zk.api.admin.altered_resources import Resource, alter_all
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.giving_way import in_turns
from kafka_zk.protocol.messages.alter_configs import (
    ALTER_CONFIGS_REQUEST,
    ALTER_CONFIGS_RESPONSE,
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


@api(ALTER_CONFIGS_REQUEST, ALTER_CONFIGS_RESPONSE, errors=Form((Each("resources", "responses"),), Text.OWN))
def alter_configs(request: AlterConfigsRequest, ctx: RequestContext) -> AlterConfigsResponse:
    """Blocks. Replace the configs of each resource."""
    resources: list[Resource] = [
        (
            resource.resource_type,
            resource.resource_name,
            tuple(Change(Operation.SET, config.name, config.value) for config in in_turns(resource.configs)),
        )
        for resource in in_turns(request.resources)
    ]
    return AlterConfigsResponse(
        responses=alter_all(
            resources, ctx, AlterConfigsResourceResponse, keep_others=False, validate_only=request.validate_only
        )
    )
