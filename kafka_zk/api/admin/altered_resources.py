"""The walk that AlterConfigs and IncrementalAlterConfigs share: all resources looked at, then those left written.

Role        What a broker can tell by itself (loggers, its own values, requests that are malformed) comes first for all
            resources; topics and brokers are authorized and written after that.
Source      ConfigAdminManager.preprocess; KafkaApis.processIncrementalAlterConfigsRequest and
            processLegacyAlterConfigsRequest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kafka_zk.admin.config_rules import Change, ConfigResourceType, check_changes
from kafka_zk.api.authorization import CLUSTER_NAME, Operation, ResourceType
from kafka_zk.api.context import RequestContext
from kafka_zk.api.walk import per_item
from kafka_zk.protocol.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    InvalidRequest,
    TopicAuthorizationFailed,
)

Resource = tuple[int, str, Sequence[Change]]
"""Type, name, and what changes."""

_STORED = (ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.CLIENT_METRICS)


def alter_all(
    resources: Sequence[Resource], ctx: RequestContext, *, keep_others: bool, validate_only: bool
) -> list[BrokerError | None]:
    """Blocks. Alter each; its error, or None, in the request's order.

    `keep_others`: single keys change; else what is named replaces all that is there, and loggers are refused.
    """
    occurrences = Counter((kind, name) for kind, name, _ in resources)
    admin = ctx.services.config_admin

    def look_at(resource: Resource) -> BrokerError | None:
        """Returns None where the resource is not settled by this."""
        kind, name, changes = resource
        if occurrences[kind, name] > 1:
            raise InvalidRequest("Each resource must appear at most once.")
        check_changes(changes)
        if kind == ConfigResourceType.BROKER_LOGGER and keep_others:
            _authorize(resource, ctx)
            admin.alter_log_levels(name, changes, validate_only=validate_only)
            return _SETTLED
        if kind == ConfigResourceType.BROKER:
            admin.check_broker(name, changes, keep_others=keep_others)
        elif kind not in _STORED:
            raise InvalidRequest(f"Unknown resource type {kind}")
        return None

    def write(resource: Resource) -> BrokerError | None:
        kind, name, changes = resource
        _authorize(resource, ctx)
        if kind == ConfigResourceType.TOPIC:
            admin.alter_topic(name, changes, keep_others=keep_others, validate_only=validate_only)
        elif kind == ConfigResourceType.BROKER:
            admin.alter_broker(name, changes, keep_others=keep_others, validate_only=validate_only)
        else:
            noun = ConfigResourceType(kind).name
            raise InvalidRequest(f"AlterConfigs is only supported for topics and brokers, but resource type is {noun}")
        return None

    looked_at = per_item(resources, look_at, lambda _, error: error)
    left = [resource for resource, outcome in zip(resources, looked_at, strict=True) if outcome is None]
    written = iter(per_item(left, write, lambda _, error: error))
    outcomes = [next(written) if outcome is None else outcome for outcome in looked_at]
    return [None if outcome is _SETTLED else outcome for outcome in outcomes]


_SETTLED = BrokerError()
"""Stands for "done" among the outcomes of the first walk."""


def _authorize(resource: Resource, ctx: RequestContext) -> None:
    kind, name, _ = resource
    if kind == ConfigResourceType.TOPIC:
        if not ctx.may(Operation.ALTER_CONFIGS, ResourceType.TOPIC, name):
            raise TopicAuthorizationFailed
    elif not ctx.may(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME):
        raise ClusterAuthorizationFailed
