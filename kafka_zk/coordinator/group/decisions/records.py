"""Encodes and decodes the records of __consumer_offsets.

Role        Pure. The declarations are in protocol/messages/records.py.
Invariants  Values are written as Kafka 3.9 writes them (version 3; 1 where an old client set an expiry) and read in
            every version; keys of versions we do not know (the new group protocols') are recognized, not refused.
Source      Kafka 3.9 GroupMetadataManager: offsetCommitKey, offsetCommitValue, groupMetadataKey, groupMetadataValue.
"""

# Compiled by mypyc: the hot path.
from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kafka_zk.coordinator.group.decisions.offsets import OffsetAndMetadata
from kafka_zk.coordinator.placement import REMEMBERED_LENGTH
from kafka_zk.protocol.messages.records import (
    GROUP_METADATA_KEY,
    GROUP_METADATA_VALUE,
    OFFSET_COMMIT_KEY,
    OFFSET_COMMIT_VALUE,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafka_zk.protocol.types import Buffer, TopicPartition
from kafka_zk.protocol.versioned import decode_versioned, encode_versioned, payload_version

if TYPE_CHECKING:
    from kafka_zk.coordinator.group.decisions.group import Group

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
VALUE_VERSION = 3
EXPIRING_OFFSET_VERSION = 1

NO_TIMESTAMP = -1

REMEMBERED_KEYS = 4_096
"""A consumer commits the same partitions again and again."""

_new = tuple.__new__
"""What a NamedTuple's own constructor calls, without the detour."""

_PLAIN_VALUE = Struct(">hqihq")
"""A value of version 3 without metadata, as nearly all are: version, offset, leader epoch, length, timestamp."""


class OffsetKey(NamedTuple):
    """The key of an offset record."""

    group_id: str
    partition: TopicPartition


class GroupKey(NamedTuple):
    """The key of a group metadata record."""

    group_id: str


class UnknownKey(NamedTuple):
    """A key of a version that this broker does not know."""

    version: int


Key = OffsetKey | GroupKey | UnknownKey


def offset_key(group_id: str, partition: TopicPartition) -> bytes:
    return (_remembered_key if len(group_id) <= REMEMBERED_LENGTH else _offset_key)(group_id, partition)


def _offset_key(group_id: str, partition: TopicPartition) -> bytes:
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return encode_versioned(OFFSET_COMMIT_KEY, key, OFFSET_KEY_VERSION)


_remembered_key = lru_cache(REMEMBERED_KEYS)(_offset_key)


def group_key(group_id: str) -> bytes:
    return encode_versioned(GROUP_METADATA_KEY, GroupMetadataKey(group=group_id), GROUP_KEY_VERSION)


def read_key(key: Buffer) -> Key:
    """Decode the key of a record. Raises DecodeError."""
    version = payload_version(key)
    # Versions 0 and 1 are the same on the wire.
    if 0 <= version <= OFFSET_KEY_VERSION:
        found = OFFSET_COMMIT_KEY.decoder(version)(key, 2)[0]
        return OffsetKey(found.group, TopicPartition(found.topic, found.partition))
    if version == GROUP_KEY_VERSION:
        return GroupKey(decode_versioned(GROUP_METADATA_KEY, key).group)
    return UnknownKey(version)


class KeyReader:
    """`read_key` for millions of keys: the same groups and partitions recur.

    Parts decoded once are looked up by their bytes.
    """

    def __init__(self) -> None:
        self._groups: dict[bytes, str] = {}
        self._partitions: dict[bytes, TopicPartition] = {}

    def read(self, key: bytes) -> tuple[str, TopicPartition] | GroupKey | UnknownKey:
        """Group and partition of an offset, or another key. Raises DecodeError."""
        topic_at = 4 + int.from_bytes(key[2:4], "big")
        group_part, partition_part = key[:topic_at], key[topic_at:]
        group_id, partition = self._groups.get(group_part), self._partitions.get(partition_part)
        if group_id is not None and partition is not None:
            return group_id, partition
        found = read_key(key)
        if isinstance(found, OffsetKey):
            self._groups[group_part] = found.group_id
            return found.group_id, self._partitions.setdefault(partition_part, found.partition)
        return found


def offset_value(offset: OffsetAndMetadata) -> bytes:
    """Only version 1 can hold an expiry, which in turn has no leader epoch."""
    if offset.expire_timestamp is not None:
        expiring = OffsetCommitValue(
            offset=offset.offset,
            metadata=offset.metadata,
            commit_timestamp=offset.commit_timestamp,
            expire_timestamp=offset.expire_timestamp,
        )
        return encode_versioned(OFFSET_COMMIT_VALUE, expiring, EXPIRING_OFFSET_VERSION)
    if not offset.metadata:
        return _PLAIN_VALUE.pack(VALUE_VERSION, offset.offset, offset.leader_epoch, 0, offset.commit_timestamp)
    value = OffsetCommitValue(
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        commit_timestamp=offset.commit_timestamp,
    )
    return encode_versioned(OFFSET_COMMIT_VALUE, value, VALUE_VERSION)


def read_offset_value(value: Buffer, retention_ms: int) -> OffsetAndMetadata:
    """Raises DecodeError. A version 1 value without an expiry gets the usual one, `retention_ms` after the commit."""
    if len(value) == _PLAIN_VALUE.size:
        version, offset, leader_epoch, metadata_length, commit_timestamp = _PLAIN_VALUE.unpack(value)
        if version == VALUE_VERSION and not metadata_length:
            return _new(OffsetAndMetadata, (offset, leader_epoch, "", commit_timestamp, None))
    version = payload_version(value)
    if version == VALUE_VERSION:
        found = OFFSET_COMMIT_VALUE.decoder(version)(value, 2)[0]
        return OffsetAndMetadata(found.offset, found.leader_epoch, found.metadata, found.commit_timestamp)
    found = decode_versioned(OFFSET_COMMIT_VALUE, value)
    expire: int | None = None
    if version == EXPIRING_OFFSET_VERSION:
        expire = found.expire_timestamp
        if expire == NO_TIMESTAMP:
            expire = found.commit_timestamp + retention_ms
    return OffsetAndMetadata(found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, expire)


def group_value(group: Group, assignments: Mapping[str, bytes]) -> bytes:
    """The group as it is now, with `assignments` by member id."""
    protocol = group.protocol_name
    members = []
    for member in group.members.values():
        assert protocol is not None, f"{group} has members but no protocol"
        members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(protocol),
                assignment=assignments[member.member_id],
            )
        )
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=protocol,
        leader=group.leader_id,
        current_state_timestamp=NO_TIMESTAMP if group.state_timestamp_ms is None else group.state_timestamp_ms,
        members=members,
    )
    return encode_versioned(GROUP_METADATA_VALUE, value, VALUE_VERSION)


def read_group_value(value: Buffer) -> GroupMetadataValue:
    """Raises DecodeError."""
    return decode_versioned(GROUP_METADATA_VALUE, value)
