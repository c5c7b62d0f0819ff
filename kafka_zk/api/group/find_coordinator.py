"""FindCoordinator (key 10, v0-6): which broker coordinates a group or a transactional id.

v1 types of keys · v4 several keys · v6 share groups, which ZooKeeper mode does not have
Source      KafkaApis.handleFindCoordinatorRequest, FindCoordinatorResponse.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from kafka_zk.api.authorization import Operation, ResourceType, authorize
from kafka_zk.api.error_form import Each, Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.api.throttling import mutation_quota
from kafka_zk.api.walk import per_distinct
from kafka_zk.metadata.snapshot import Node
from kafka_zk.protocol.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    ErrorCode,
    InvalidRequest,
    error_class_for,
)
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafka_zk.protocol.messages.find_coordinator import (
    FIND_COORDINATOR_REQUEST,
    FIND_COORDINATOR_RESPONSE,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_zk.protocol.schema import Versions

GROUP, TRANSACTION, SHARE = 0, 1, 2
SEVERAL_KEYS_FROM = 4
SHARE_FROM = 6

NO_NODE = Node(-1, "", -1, None)
SUCCESS_MESSAGE = "NONE"
"""The message of single-key versions on success: the name of the code."""

log = logging.getLogger("kafka.server.KafkaApis")


class _UnknownKeyType(InvalidRequest):
    """Neither a group nor anything else that has a coordinator."""


class _Found(NamedTuple):
    node: Node
    error: BrokerError | None


ERRORS = Form(
    (Each("coordinator_keys", "coordinators", key="key", constants={"node_id": -1, "port": -1}),),
    Text.STANDARD,
    versioned_constants=(("node_id", Versions.parse("0-3"), -1), ("port", Versions.parse("0-3"), -1)),
)


@api(FIND_COORDINATOR_REQUEST, FIND_COORDINATOR_RESPONSE, errors=ERRORS)
def find_coordinator(request: FindCoordinatorRequest, ctx: RequestContext) -> FindCoordinatorResponse:
    """Blocks while the coordinators' topic is created."""
    if ctx.api_version < SEVERAL_KEYS_FROM:
        node, error = _find(request.key, request.key_type, ctx)
        return FindCoordinatorResponse(
            error_code=ErrorCode.NONE if error is None else error.code,
            error_message=SUCCESS_MESSAGE if error is None else str(error_class_for(error.code)()),
            node_id=node.id,
            host=node.host,
            port=node.port,
        )

    def find(key: str) -> Coordinator:
        return _coordinator(key, _coordinator_of(key, request.key_type, ctx), ErrorCode.NONE, "")

    def refuse(key: str, error: BrokerError) -> Coordinator:
        # Only an error of the whole request has a message; key types are checked before keys.
        return _coordinator(key, NO_NODE, error.code, str(error) if isinstance(error, _UnknownKeyType) else "")

    return FindCoordinatorResponse(coordinators=per_distinct(request.coordinator_keys, str, find, refuse))


def _coordinator(key: str, node: Node, code: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=node.id, host=node.host, port=node.port, error_code=code, error_message=message)


def _find(key: str, key_type: int, ctx: RequestContext) -> _Found:
    try:
        return _Found(_coordinator_of(key, key_type, ctx), None)
    except BrokerError as error:
        return _Found(NO_NODE, error)


def _coordinator_of(key: str, key_type: int, ctx: RequestContext) -> Node:
    if key_type == SHARE and ctx.api_version >= SHARE_FROM:
        authorize(ctx, Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
        raise CoordinatorNotAvailable
    if key_type == SHARE:
        raise InvalidRequest
    if key_type == GROUP:
        authorize(ctx, Operation.DESCRIBE, ResourceType.GROUP, key)
        return _leader(GROUP_METADATA_TOPIC, ctx.services.group_coordinator.partition_for(key), ctx)
    if key_type == TRANSACTION:
        authorize(ctx, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, key)
        return _leader(TRANSACTION_STATE_TOPIC, ctx.services.transaction_coordinator.partition_for(key), ctx)
    raise _UnknownKeyType


def _leader(name: str, index: int, ctx: RequestContext) -> Node:
    """Blocks while the topic is created. Raises CoordinatorNotAvailable."""
    cache = ctx.services.metadata_cache
    topic = cache.topic(name)
    if topic is None:
        _create_topic(name, ctx)
        raise CoordinatorNotAvailable
    partition = topic.partitions.get(index)
    node = None if partition is None else cache.node(partition.leader, ctx.listener_name)
    if node is None:
        raise CoordinatorNotAvailable
    return node


def _create_topic(name: str, ctx: RequestContext) -> None:
    """Blocks. The client retries, so a failure (too few brokers, ZooKeeper unreachable) is only logged."""
    try:
        ctx.services.topic_admin.auto_create(name, mutation_quota(ctx, strict_from=None).record)
    except BrokerError as error:
        log.warning("Could not create %s yet: %s", name, error)
