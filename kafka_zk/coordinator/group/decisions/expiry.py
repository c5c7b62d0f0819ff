"""Which committed offsets of a group have expired.

Role        Pure.
Invariants  Offsets of a group with members stay, except those of topics that a consumer group no longer reads.
Source      Kafka 3.9 GroupMetadata.removeExpiredOffsets; KIP-211.
"""

from __future__ import annotations

from kafka_zk.coordinator.group.decisions.group import Group
from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.group.decisions.states import GroupState
from kafka_zk.coordinator.group.decisions.subscription import CONSUMER_PROTOCOL_TYPE
from kafka_zk.protocol.types import TopicPartition


def expired_offsets(group: Group, *, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The partitions whose offsets are to be removed now (wall time)."""
    if group.protocol_type is None:
        return group.offsets.expired(now_ms, retention_ms, _since_commit)
    if group.state is GroupState.EMPTY:
        empty_since_ms = group.state_timestamp_ms

        def since(value: OffsetAndMetadata) -> int:
            return value.commit_timestamp if empty_since_ms is None else empty_since_ms

        return group.offsets.expired(now_ms, retention_ms, since)
    if (
        group.protocol_type == CONSUMER_PROTOCOL_TYPE
        and group.state is GroupState.STABLE
        and group.subscribed_topics is not None
    ):
        return group.offsets.expired(now_ms, retention_ms, _since_commit, group.subscribed_topics)
    return []


def _since_commit(value: OffsetAndMetadata) -> int:
    return value.commit_timestamp
