"""DescribeConfigs (key 32, v0-4): every config of a topic or a broker, where its value comes from, and its synonyms.

Source      ConfigHelper.handleDescribeConfigsRequest, KafkaApis.handleDescribeConfigsRequest.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.admin.configs import ConfigResourceType
from kafka_zk.api.admin.config_authorization import authorize_configs
from kafka_zk.api.authorization import Operation
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.walk import per_distinct
from kafka_zk.config.describe import ConfigEntry, ConfigSource
from kafka_zk.giving_way import in_turns
from kafka_zk.java_hash import in_scala_order, string_hash
from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidRequest
from kafka_zk.protocol.messages.describe_configs import (
    DESCRIBE_CONFIGS_REQUEST,
    DESCRIBE_CONFIGS_RESPONSE,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_TYPES = frozenset(ConfigResourceType)

UNKNOWN_TYPE = 0
"""The type of a log level: Kafka declares none."""


ERRORS = Form(
    (
        Each(
            "resources",
            "results",
            same_names=False,
            copied={"resource_type": "resource_type", "resource_name": "resource_name"},
        ),
    ),
    Text.STANDARD,
)


@api(DESCRIBE_CONFIGS_REQUEST, DESCRIBE_CONFIGS_RESPONSE, errors=ERRORS)
def describe_configs(request: DescribeConfigsRequest, ctx: RequestContext) -> DescribeConfigsResponse:
    """Blocks. Each distinct resource is looked up once, however often it is named."""
    if any(resource.resource_type not in _TYPES for resource in in_turns(request.resources)):

        def refuse(_: DescribeConfigsResource) -> DescribeConfigsResult:
            raise InvalidRequest

        return DescribeConfigsResponse(results=per_distinct(request.resources, _asked, refuse, _refused))

    def describe(resource: DescribeConfigsResource) -> DescribeConfigsResult:
        # An empty list means all keys, as no list does.
        names = resource.configuration_keys or None
        return DescribeConfigsResult(
            error_code=ErrorCode.NONE,
            error_message="",
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=list(in_turns(_configs(resource, names, request, ctx))),
        )

    allowed, refused = _sorted_out(request.resources, ctx)
    return DescribeConfigsResponse(
        results=[*per_distinct(allowed, _asked, describe, _refused), *(_refused(each, why) for each, why in refused)]
    )


def _sorted_out(
    resources: Iterable[DescribeConfigsResource], ctx: RequestContext
) -> tuple[list[DescribeConfigsResource], list[tuple[DescribeConfigsResource, BrokerError]]]:
    """Yields to other greenlets. Those that the client may look at, and the others, which Kafka answers last."""
    allowed: list[DescribeConfigsResource] = []
    refused: list[tuple[DescribeConfigsResource, BrokerError]] = []
    for resource in in_turns(resources):
        try:
            authorize_configs(ctx, Operation.DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name)
        except BrokerError as error:
            refused.append((resource, error.with_traceback(None)))
        else:
            allowed.append(resource)
    return allowed, refused


def _asked(resource: DescribeConfigsResource) -> tuple[int, str, tuple[str, ...]]:
    return resource.resource_type, resource.resource_name, tuple(resource.configuration_keys or ())


def _configs(
    resource: DescribeConfigsResource, names: list[str] | None, request: DescribeConfigsRequest, ctx: RequestContext
) -> Iterable[DescribeConfigsResourceResult]:
    admin = ctx.services.config_admin
    if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
        levels = admin.log_levels(resource.resource_name, names)
        for logger in in_scala_order(levels, string_hash):
            yield _log_level(logger, levels[logger])
    elif resource.resource_type != ConfigResourceType.CLIENT_METRICS:
        if resource.resource_type == ConfigResourceType.TOPIC:
            entries = admin.describe_topic(resource.resource_name, names)
        else:
            entries = admin.describe_broker(resource.resource_name, names)
        for entry in in_scala_order(entries, lambda entry: string_hash(entry.name)):
            yield _config(entry, request)
    elif not resource.resource_name:
        raise InvalidRequest("Client metrics subscription name must not be empty")
    else:
        raise InvalidRequest("Config type client-metrics is only supported on KRaft clusters")


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    result = DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        config_type=entry.type_code,
        documentation=entry.documentation if request.include_documentation else None,
    )
    if request.include_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in entry.synonyms
        ]
    return result


def _log_level(logger: str, level: str) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=logger,
        value=level,
        config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
        config_type=UNKNOWN_TYPE,
        documentation="",
    )


def _refused(resource: DescribeConfigsResource, error: BrokerError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
