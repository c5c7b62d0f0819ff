"""Which operation a client must be authorized for to read or alter a resource's configs.

Source      ConfigHelper, KafkaApis.authorizeAlterConfigs: topics have their own, everything else is the cluster's.
"""

from __future__ import annotations

from kafka_zk.admin.config_rules import ConfigResourceType
from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.request_context import RequestContext


def authorize_configs(ctx: RequestContext, operation: Operation, kind: int, name: str) -> None:
    """Raise TopicAuthorizationFailed or ClusterAuthorizationFailed unless the client may do this to the configs."""
    if kind == ConfigResourceType.TOPIC:
        authorize(ctx, operation, ResourceType.TOPIC, name)
    else:
        authorize(ctx, operation, ResourceType.CLUSTER)
