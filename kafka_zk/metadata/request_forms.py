"""Converts requests to the version that the controller supports.

Role        Pure. Their senders fill the newest form; a controller of an older release (a rolling upgrade) gets its own.
Source      AlterPartitionRequest.Builder.build: before version 3 the ISR is a list of ids, without the members' epochs,
            and before version 2 topics have names. DefaultAlterPartitionManager.buildRequest.
"""

from __future__ import annotations

from typing import Any

from kafka_zk.protocol.messages.alter_partition import AlterPartitionRequest, RequestPartitionData, RequestTopicData
from kafka_zk.protocol.types import NULL_UUID

MEMBERS_WITH_EPOCHS_FROM = 3
LAST_WITH_NAMES = 1


def highest_version(request: Any) -> int | None:
    """The last version that can carry `request`; None: each can.

    Under an inter.broker.protocol.version before 2.8 topics have no ids, and no id names none of them.
    """
    if isinstance(request, AlterPartitionRequest) and any(topic.topic_id == NULL_UUID for topic in request.topics):
        return LAST_WITH_NAMES
    return None


def in_version(request: Any, api_version: int) -> Any:
    """`request` as `api_version` can carry it. What it leaves out has no meaning for its receiver."""
    if isinstance(request, AlterPartitionRequest) and api_version < MEMBERS_WITH_EPOCHS_FROM:
        return AlterPartitionRequest(
            broker_id=request.broker_id,
            broker_epoch=request.broker_epoch,
            topics=[
                RequestTopicData(
                    topic_name=topic.topic_name,
                    topic_id=topic.topic_id,
                    partitions=[_without_epochs(partition) for partition in topic.partitions],
                )
                for topic in request.topics
            ],
        )
    return request


def _without_epochs(partition: RequestPartitionData) -> RequestPartitionData:
    return RequestPartitionData(
        partition_index=partition.partition_index,
        leader_epoch=partition.leader_epoch,
        new_isr=[member.broker_id for member in partition.new_isr_with_epochs],
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
