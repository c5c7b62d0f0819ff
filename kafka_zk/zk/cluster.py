"""Shared znodes of the cluster: top-level paths, cluster id, features, notifications to the controller.

Role        Acts, through the session. What several packages need and none owns; brokers are in registration.py, topics
            in topics.py, configs in entity_configs.py.
Source      KafkaZkClient.createTopLevelPaths, createOrGetClusterId, propagateLogDirEvent.
"""

from __future__ import annotations

from kafka_zk.zk.errors import NodeExists, NoNode
from kafka_zk.zk.operations import Stat
from kafka_zk.zk.session import ZkClient
from kafka_zk.zk.znodes import (
    PERSISTENT_PATHS,
    ClusterIdZNode,
    ControllerRegistration,
    ControllerZNode,
    FeatureState,
    FeatureZNode,
    LogDirEventNotificationZNode,
)


def create_top_level_paths(zk: ZkClient) -> None:
    """Blocks. Create what every broker expects to find, in Kafka's order."""
    zk.ensure_paths(PERSISTENT_PATHS)


def cluster_id(zk: ZkClient) -> str | None:
    """Blocks. The cluster's id, None while it has none."""
    try:
        return ClusterIdZNode.decode(*zk.get(ClusterIdZNode.PATH))
    except NoNode:
        return None


def create_or_get_cluster_id(zk: ZkClient, proposed: str) -> str:
    """Blocks. Set the cluster id to `proposed` unless there is one; returns the cluster id."""
    try:
        zk.create(ClusterIdZNode.PATH, ClusterIdZNode.encode(proposed), make_parents=True)
    except NodeExists:
        # Also if the reply to our own attempt was lost: the znode has the answer.
        return ClusterIdZNode.decode(*zk.get(ClusterIdZNode.PATH))
    return proposed


def controller(zk: ZkClient) -> ControllerRegistration | None:
    """Blocks. The id of the current controller, or None."""
    try:
        return ControllerZNode.decode(*zk.get(ControllerZNode.PATH))
    except NoNode:
        return None


def features(zk: ZkClient) -> tuple[FeatureState, Stat] | None:
    """Blocks. The finalized features with the znode's Stat (its version is their epoch); None if there are none."""
    try:
        data, stat = zk.get(FeatureZNode.PATH)
    except NoNode:
        return None
    return FeatureZNode.decode(data, stat), stat


def report_log_dir_failure(zk: ZkClient, broker_id: int) -> None:
    """Blocks. Tell the controller that this broker has lost a log directory."""
    zk.create(LogDirEventNotificationZNode.PREFIX, LogDirEventNotificationZNode.encode(broker_id), sequential=True)
