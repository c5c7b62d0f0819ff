"""The consumer protocol: subscriptions to the leader, assignments to the members.

Role        Pure.
Layout      An i16 version, then the fields of that version; newer versions only add fields at the end, so an unknown
            one is read as the newest known.
Source      ConsumerProtocol, ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from kafka_zk.client.consumer.assignors import Member
from kafka_zk.client.errors import KafkaException
from kafka_zk.protocol.errors import DecodeError
from kafka_zk.protocol.messages.consumer_protocol import (
    CONSUMER_PROTOCOL_ASSIGNMENT,
    CONSUMER_PROTOCOL_SUBSCRIPTION,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafka_zk.protocol.messages.consumer_protocol import TopicPartition as OwnedPartitions
from kafka_zk.protocol.types import Buffer, TopicPartition

PROTOCOL_TYPE = "consumer"
_VERSION = struct.Struct(">h")
_HIGHEST = 3


def encode_subscription(
    topics: Iterable[str],
    user_data: bytes | None,
    owned: Iterable[TopicPartition],
    generation: int,
    rack: str | None,
) -> bytes:
    """What a member sends with the name of an assignor in JoinGroup."""
    value = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=[
            OwnedPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(owned).items()
        ],
        generation_id=generation,
        rack_id=rack,
    )
    return _VERSION.pack(_HIGHEST) + CONSUMER_PROTOCOL_SUBSCRIPTION.encode(value, _HIGHEST)


def decode_subscription(data: Buffer, member_id: str, group_instance_id: str | None) -> Member:
    """Raises KafkaException for other bytes."""
    version = _version_of(data)
    try:
        value = CONSUMER_PROTOCOL_SUBSCRIPTION.decoder(version)(data, 2)[0]
    except DecodeError as error:
        raise KafkaException(f"The subscription of member {member_id} cannot be read: {error}") from error
    owned = [TopicPartition(each.topic, number) for each in value.owned_partitions or () for number in each.partitions]
    user_data = None if value.user_data is None else bytes(value.user_data)
    rack = value.rack_id or None
    return Member(member_id, list(value.topics), group_instance_id, owned, value.generation_id, user_data, rack)


def encode_assignment(partitions: Sequence[TopicPartition]) -> bytes:
    """What a leader sends to a member in SyncGroup. The oldest members can read it."""
    value = ConsumerProtocolAssignment(
        assigned_partitions=[
            OwnedPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions).items()
        ],
        user_data=None,
    )
    return _VERSION.pack(_HIGHEST) + CONSUMER_PROTOCOL_ASSIGNMENT.encode(value, _HIGHEST)


def decode_assignment(data: Buffer) -> list[TopicPartition]:
    """Empty for no bytes. Raises KafkaException for other bytes."""
    if not len(data):
        return []
    try:
        value = CONSUMER_PROTOCOL_ASSIGNMENT.decoder(_version_of(data))(data, 2)[0]
    except DecodeError as error:
        raise KafkaException(f"The assignment of the group's leader cannot be read: {error}") from error
    return [TopicPartition(each.topic, number) for each in value.assigned_partitions for number in each.partitions]


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Numbers of partitions by topic."""
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topics.setdefault(partition.topic, []).append(partition.partition)
    return topics


def _version_of(data: Buffer) -> int:
    if len(data) < _VERSION.size:
        raise KafkaException("Buffer underflow while parsing consumer protocol's header")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise KafkaException(f"Unsupported subscription version: {version}")
    return min(version, _HIGHEST)
