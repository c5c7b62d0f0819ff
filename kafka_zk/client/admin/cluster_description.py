"""Describes a cluster over the wire.

Role        Acts, through `Calls`.
Source      KafkaAdminClient.describeCluster, AdminMetadataManager.updateFailed.
"""

from __future__ import annotations

import logging

from kafka_zk.client.admin.admin_results import ClusterDescription, Node
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.errors import MismatchedEndpointType
from kafka_zk.protocol.messages.describe_cluster import (
    DESCRIBE_CLUSTER_REQUEST,
    DESCRIBE_CLUSTER_RESPONSE,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2
"""What an endpoint can describe."""

log = logging.getLogger("org.apache.kafka.clients.admin.internals.AdminMetadataManager")


def describe_cluster(calls: Calls, *, of_controllers: bool, call_name: str = "listNodes") -> ClusterDescription:
    """Blocks. Raises MismatchedEndpointType if controllers are requested and a broker answers.

    `call_name` is the call named by a timeout.
    """

    def build(_: int) -> DescribeClusterRequest:
        return DescribeClusterRequest(endpoint_type=CONTROLLERS if of_controllers else BROKERS)

    def check(answer: DescribeClusterResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    call = Call(call_name, DESCRIBE_CLUSTER_REQUEST, DESCRIBE_CLUSTER_RESPONSE, build, check)
    try:
        answer = calls.to_any_node(call)
    except MismatchedEndpointType:
        log.warning(calls.log_text("Metadata update failed due to mismatched endpoint type error"), exc_info=True)
        raise
    nodes = [Node(broker.broker_id, broker.host, broker.port, broker.rack) for broker in answer.brokers]
    return ClusterDescription(answer.cluster_id, answer.controller_id, nodes)
