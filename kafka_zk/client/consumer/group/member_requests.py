"""Builds the requests of a group member, over all versions.

Role        Pure.
Source      JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest, OffsetCommitRequest,
            OffsetFetchRequest and their builders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka_zk.client.consumer.group.membership import Identity
from kafka_zk.client.consumer.group.subscription_protocol import PROTOCOL_TYPE, by_topic
from kafka_zk.client.consumer.records import OffsetAndMetadata
from kafka_zk.client.consumer.settings import GroupSettings
from kafka_zk.protocol.errors import UnsupportedVersion
from kafka_zk.protocol.messages.heartbeat import HeartbeatRequest
from kafka_zk.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_zk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_zk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_zk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kafka_zk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafka_zk.protocol.types import TopicPartition

_REASON_LIMIT = 255


def join_group(
    settings: GroupSettings, identity: Identity, protocols: Sequence[tuple[str, bytes]], reason: str, version: int
) -> JoinGroupRequest:
    _check_static(settings, version, 5)
    return JoinGroupRequest(
        group_id=settings.group_id,
        session_timeout_ms=settings.session_timeout_ms,
        rebalance_timeout_ms=settings.max_poll_interval_ms,
        member_id=identity.member_id,
        group_instance_id=settings.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols],
        reason=reason[:_REASON_LIMIT],
    )


def sync_group(
    settings: GroupSettings, identity: Identity, assignments: Mapping[str, bytes], version: int
) -> SyncGroupRequest:
    _check_static(settings, version, 3)
    return SyncGroupRequest(
        group_id=settings.group_id,
        generation_id=identity.generation,
        member_id=identity.member_id,
        group_instance_id=settings.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=identity.protocol,
        assignments=[
            SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
            for member_id, assignment in assignments.items()
        ],
    )


def heartbeat(settings: GroupSettings, identity: Identity, version: int) -> HeartbeatRequest:
    _check_static(settings, version, 3)
    return HeartbeatRequest(
        group_id=settings.group_id,
        generation_id=identity.generation,
        member_id=identity.member_id,
        group_instance_id=settings.group_instance_id,
    )


def leave_group(settings: GroupSettings, identity: Identity, reason: str, version: int) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest(group_id=settings.group_id, member_id=identity.member_id)
    member = MemberIdentity(member_id=identity.member_id, group_instance_id=settings.group_instance_id, reason=reason)
    return LeaveGroupRequest(group_id=settings.group_id, members=[member])


def offset_commit(
    settings: GroupSettings, identity: Identity, offsets: Mapping[TopicPartition, OffsetAndMetadata], version: int
) -> OffsetCommitRequest:
    _check_static(settings, version, 7)
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for partition, offset in offsets.items():
        topics.setdefault(partition.topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=partition.partition,
                committed_offset=offset.offset,
                committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
                committed_metadata=offset.metadata,
            )
        )
    return OffsetCommitRequest(
        group_id=settings.group_id,
        generation_id_or_member_epoch=identity.generation,
        member_id=identity.member_id,
        group_instance_id=settings.group_instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
    )


def offset_fetch(group_id: str, partitions: Iterable[TopicPartition], version: int) -> OffsetFetchRequest:
    """Ask for offsets without open transactions only, if the broker supports that."""
    topics = by_topic(partitions)
    stable = version >= 7
    if version >= 8:
        named = [OffsetFetchRequestTopics(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
        group = OffsetFetchRequestGroup(group_id=group_id, topics=named)
        return OffsetFetchRequest(groups=[group], require_stable=stable)
    old = [OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
    return OffsetFetchRequest(group_id=group_id, topics=old, require_stable=stable)


def fetched_offsets(
    answer: OffsetFetchResponse,
) -> tuple[int, dict[TopicPartition, tuple[int, OffsetAndMetadata | None]]]:
    """The group's error code; by partition its own error code and its offset, None if nothing was committed."""
    source = answer.groups[0] if answer.groups else answer
    found: dict[TopicPartition, tuple[int, OffsetAndMetadata | None]] = {}
    for topic in source.topics:
        for each in topic.partitions:
            offset = None
            if each.committed_offset >= 0:
                epoch = each.committed_leader_epoch if each.committed_leader_epoch >= 0 else None
                offset = OffsetAndMetadata(each.committed_offset, each.metadata or "", epoch)
            found[TopicPartition(topic.name, each.partition_index)] = each.error_code, offset
    return source.error_code, found


def _check_static(settings: GroupSettings, version: int, needed: int) -> None:
    if settings.group_instance_id is not None and version < needed:
        raise UnsupportedVersion("The broker does not support static members (group.instance.id)")
