"""DescribeCluster (key 60, v0-1): the brokers, the controller, the cluster id.

Source      KafkaApis.handleDescribeCluster.
"""

from __future__ import annotations

from kafka_zk.api.authorization import CLUSTER_NAME, NOT_REQUESTED, Operation, ResourceType, authorized_operations
from kafka_zk.api.error_form import Form, Text
from kafka_zk.api.registry import api
from kafka_zk.api.request_context import RequestContext
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.messages.describe_cluster import (
    DESCRIBE_CLUSTER_REQUEST,
    DESCRIBE_CLUSTER_RESPONSE,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2
"""Endpoint types; a broker can describe brokers only."""


@api(DESCRIBE_CLUSTER_REQUEST, DESCRIBE_CLUSTER_RESPONSE, errors=Form(text=Text.OWN))
def describe_cluster(
    request: DescribeClusterRequest, ctx: RequestContext
) -> DescribeClusterResponse | Pending[DescribeClusterResponse]:
    if request.endpoint_type != BROKERS:
        return _refuse_endpoint_type(request.endpoint_type, ctx.api_version)
    return ctx.services.first_update.answer(lambda: _answer(request, ctx))


def _answer(request: DescribeClusterRequest, ctx: RequestContext) -> DescribeClusterResponse:
    cache = ctx.services.metadata_cache
    nodes = cache.alive_brokers(ctx.listener_name)
    operations = NOT_REQUESTED
    if request.include_cluster_authorized_operations:
        described = ctx.may(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
        operations = authorized_operations(ctx, ResourceType.CLUSTER, CLUSTER_NAME) if described else 0
    return DescribeClusterResponse(
        error_code=ErrorCode.NONE,
        endpoint_type=BROKERS,
        cluster_id=ctx.services.cluster_id,
        controller_id=cache.controller_id if any(node.id == cache.controller_id for node in nodes) else -1,
        brokers=[
            DescribeClusterBroker(broker_id=node.id, host=node.host, port=node.port, rack=node.rack) for node in nodes
        ],
        cluster_authorized_operations=operations,
    )


def _refuse_endpoint_type(endpoint_type: int, api_version: int) -> DescribeClusterResponse:
    if endpoint_type == CONTROLLERS:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    else:
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        message = f"Unsupported endpoint type {endpoint_type}"
    if api_version == 0:
        code = ErrorCode.INVALID_REQUEST
    return DescribeClusterResponse(error_code=code, error_message=message)
