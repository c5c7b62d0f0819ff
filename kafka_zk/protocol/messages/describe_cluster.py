"""DescribeCluster (key 60, v0-1): cluster id, controller and brokers."""

from __future__ import annotations

from kafka_zk.protocol.message import Message
from kafka_zk.protocol.schema import BOOL, INT8, INT16, INT32, STRING, Array, Field, Struct

DESCRIBE_CLUSTER_REQUEST = Message(
    "DescribeClusterRequest",
    api_key=60,
    versions="0-1",
    flexible="0+",
    fields=(
        Field("include_cluster_authorized_operations", "0+", BOOL),
        Field("endpoint_type", "1+", INT8, default=1),
    ),
)

DESCRIBE_CLUSTER_RESPONSE = Message(
    "DescribeClusterResponse",
    api_key=60,
    versions="0-1",
    flexible="0+",
    fields=(
        Field("throttle_time_ms", "0+", INT32),
        Field("error_code", "0+", INT16),
        Field("error_message", "0+", STRING, nullable="0+", default=None),
        Field("endpoint_type", "1+", INT8, default=1),
        Field("cluster_id", "0+", STRING),
        Field("controller_id", "0+", INT32, default=-1),
        Field(
            "brokers",
            "0+",
            Array(
                Struct(
                    "DescribeClusterBroker",
                    (
                        Field("broker_id", "0+", INT32),
                        Field("host", "0+", STRING),
                        Field("port", "0+", INT32),
                        Field("rack", "0+", STRING, nullable="0+", default=None),
                    ),
                )
            ),
        ),
        Field("cluster_authorized_operations", "0+", INT32, default=-(2**31)),
    ),
)

DescribeClusterRequest = DESCRIBE_CLUSTER_REQUEST.value_class
DescribeClusterResponse = DESCRIBE_CLUSTER_RESPONSE.value_class
DescribeClusterBroker = DESCRIBE_CLUSTER_RESPONSE.class_of("DescribeClusterBroker")
