"""OffsetDelete: which offsets of a group may be deleted.

Role        Pure decision on a group.
Source      Kafka 3.9 GroupCoordinator.handleDeleteOffsets, GroupMetadata.isSubscribedToTopic; KIP-496.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.coordinator.group.decisions.subscription import CONSUMER_PROTOCOL_TYPE
from kafka_zk.protocol.errors import ErrorCode
from kafka_zk.protocol.types import TopicPartition


def may_delete_offsets(
    group: Group, partitions: Iterable[TopicPartition]
) -> tuple[ErrorCode, dict[TopicPartition, ErrorCode]]:
    """The code of the request, and if that is NONE one for each partition: NONE if its offset may be deleted.

    In a consumer group with members, offsets of topics that no member reads may be deleted; if its
    subscriptions cannot be read, none. For other group types the topics read are unknown.
    """
    if group.is_dead:
        return ErrorCode.GROUP_ID_NOT_FOUND, {}
    if group.state is GroupState.EMPTY:
        return ErrorCode.NONE, dict.fromkeys(partitions, ErrorCode.NONE)
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NON_EMPTY_GROUP, {}
    read = group.subscribed_topics
    return ErrorCode.NONE, {
        partition: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if read is None or partition.topic in read else ErrorCode.NONE
        for partition in partitions
    }
