"""Every znode of a Kafka 3.9 cluster, declared once: path, content, encoding and decoding.

All of it is pure. A decoder takes the data and the Stat of a read and raises MalformedZNode, nothing else.
"""

from kafka_zk.zk.znodes.access import (
    ACL_CHANGES,
    ACL_ROOTS,
    RESOURCE_TYPES,
    AclChange,
    AclChangeZNode,
    AclEntry,
    DelegationToken,
    DelegationTokenChangeZNode,
    DelegationTokenZNode,
    ResourceZNode,
)
from kafka_zk.zk.znodes.admin import (
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
)
from kafka_zk.zk.znodes.brokers import BrokerIdsZNode, BrokerIdZNode, BrokerRegistration, BrokerSequenceIdZNode
from kafka_zk.zk.znodes.configs import ConfigChangesZNode, ConfigChangeZNode, ConfigEntityTypeZNode, ConfigEntityZNode
from kafka_zk.zk.znodes.consumers import ConsumerOffsetZNode
from kafka_zk.zk.znodes.controller import (
    ClusterIdZNode,
    ControllerEpochZNode,
    ControllerRegistration,
    ControllerZNode,
    FeatureState,
    FeatureZNode,
    ProducerIdBlock,
    ProducerIdBlockZNode,
)
from kafka_zk.zk.znodes.names import (
    CONFIG_TYPES,
    DEFAULT_ENTITY,
    PERSISTENT_PATHS,
    desanitize,
    entities_of,
    entity_path,
    sanitize,
    sequence_number,
)
from kafka_zk.zk.znodes.notifications import IsrChangeNotificationZNode, LogDirEventNotificationZNode
from kafka_zk.zk.znodes.topics import (
    PartitionLeadership,
    PartitionReplicas,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicPartitionsZNode,
    TopicPartitionZNode,
    TopicsZNode,
    TopicZNode,
)

__all__ = [
    "ACL_CHANGES",
    "ACL_ROOTS",
    "CONFIG_TYPES",
    "DEFAULT_ENTITY",
    "PERSISTENT_PATHS",
    "RESOURCE_TYPES",
    "AclChange",
    "AclChangeZNode",
    "AclEntry",
    "BrokerIdZNode",
    "BrokerIdsZNode",
    "BrokerRegistration",
    "BrokerSequenceIdZNode",
    "ClusterIdZNode",
    "ConfigChangeZNode",
    "ConfigChangesZNode",
    "ConfigEntityTypeZNode",
    "ConfigEntityZNode",
    "ConsumerOffsetZNode",
    "ControllerEpochZNode",
    "ControllerRegistration",
    "ControllerZNode",
    "DelegationToken",
    "DelegationTokenChangeZNode",
    "DelegationTokenZNode",
    "DeleteTopicsTopicZNode",
    "DeleteTopicsZNode",
    "FeatureState",
    "FeatureZNode",
    "IsrChangeNotificationZNode",
    "LogDirEventNotificationZNode",
    "PartitionLeadership",
    "PartitionReplicas",
    "PreferredReplicaElectionZNode",
    "ProducerIdBlock",
    "ProducerIdBlockZNode",
    "ReassignPartitionsZNode",
    "ResourceZNode",
    "TopicAssignment",
    "TopicPartitionStateZNode",
    "TopicPartitionZNode",
    "TopicPartitionsZNode",
    "TopicZNode",
    "TopicsZNode",
    "desanitize",
    "entities_of",
    "entity_path",
    "sanitize",
    "sequence_number",
]
