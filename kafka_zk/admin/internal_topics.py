"""The internal topics: their partitions, replicas and configs.

Role        Pure.
Source      GroupCoordinatorAdapter.groupMetadataTopicConfigs, TransactionStateManager.transactionStateTopicConfigs,
            DefaultAutoTopicCreationManager.creatableTopic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_zk.config.broker import BrokerConfig
from kafka_zk.protocol.internal_topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC


class TopicDefaults(NamedTuple):
    """The defaults of an auto-created topic."""

    partition_count: int
    replication_factor: int
    configs: Mapping[str, str]


def defaults_of(topic: str, config: BrokerConfig) -> TopicDefaults:
    """What `topic` is made with where no client said so: internal topics have keys of their own."""
    if topic == GROUP_METADATA_TOPIC:
        return TopicDefaults(
            config.offsets_topic_num_partitions,
            config.offsets_topic_replication_factor,
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
                "compression.type": "producer",
            },
        )
    if topic == TRANSACTION_STATE_TOPIC:
        return TopicDefaults(
            config.transaction_state_log_num_partitions,
            config.transaction_state_log_replication_factor,
            {
                "unclean.leader.election.enable": "false",
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": str(config.transaction_state_log_min_isr),
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
            },
        )
    return TopicDefaults(config.num_partitions, config.default_replication_factor, {})
