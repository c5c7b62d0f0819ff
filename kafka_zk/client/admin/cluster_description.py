"""Who belongs to a cluster, asked over the wire.

Role        Acts, through `Calls`.
Source      KafkaAdminClient.describeCluster.
"""

from __future__ import annotations

from kafka_zk.client.admin.admin_results import ClusterDescription, Node
from kafka_zk.client.admin.calls import Call, Calls, raise_for
from kafka_zk.protocol.messages.describe_cluster import (
    DESCRIBE_CLUSTER_REQUEST,
    DESCRIBE_CLUSTER_RESPONSE,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2
"""What an endpoint can describe."""


def describe_cluster(calls: Calls, *, of_controllers: bool) -> ClusterDescription:
    """Blocks. Raises MismatchedEndpointType where controllers are asked for and a broker answers."""

    def build(_: int) -> DescribeClusterRequest:
        return DescribeClusterRequest(endpoint_type=CONTROLLERS if of_controllers else BROKERS)

    def check(answer: DescribeClusterResponse) -> None:
        raise_for(answer.error_code, answer.error_message)

    call = Call("listNodes", DESCRIBE_CLUSTER_REQUEST, DESCRIBE_CLUSTER_RESPONSE, build, check)
    answer = calls.to_any_node(call)
    nodes = [Node(broker.broker_id, broker.host, broker.port, broker.rack) for broker in answer.brokers]
    return ClusterDescription(answer.cluster_id, answer.controller_id, nodes)
