"""Sticky assignors: as balanced as possible, moving as few partitions as possible.

Role        Pure. Reads what members had, chooses between the two ways to balance (all members read the same topics, or
            not), and writes the user data that the next round will read.
Layout      User data of `sticky`: array of (topic, array of i32 partitions), i32 generation; the oldest clients leave
            the generation out. Of `cooperative-sticky`: i32 generation; since subscriptions of version 2 carry
            generation and partitions themselves, it is read only for older ones.
Invariants  A cooperative leader assigns no partition that another member has not given up yet.
Source      AbstractStickyAssignor, StickyAssignor, CooperativeStickyAssignor.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_zk.client.consumer.assignors.model import (
    NO_GENERATION,
    NO_REPLICA_RACKS,
    Assignment,
    Member,
    RebalanceProtocol,
    ReplicaRacks,
)
from kafka_zk.client.consumer.assignors.racks import NO_RACKS, Racks
from kafka_zk.client.consumer.assignors.sticky_alike import share_alike
from kafka_zk.client.consumer.assignors.sticky_mixed import share_mixed
from kafka_zk.java_hash import in_hash_order, string_hash
from kafka_zk.protocol.types import TopicPartition

_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Memory:
    """What a member had, and in which generation; None: unknown."""

    partitions: Sequence[TopicPartition] = ()
    generation: int | None = None


@dataclass(slots=True)
class Claims:
    """Undisputed former owners."""

    owned: Assignment = field(default_factory=dict)
    # Claimed by two members of one generation: neither keeps it.
    contested: set[TopicPartition] = field(default_factory=set)
    # What an older generation had; a partition may go back there when that helps the balance.
    previous: dict[TopicPartition, str] = field(default_factory=dict)


class StickyAssignor:
    """Gives up everything before it joins, and lists it in its user data."""

    name = "sticky"
    protocol = RebalanceProtocol.EAGER

    def user_data(self, assigned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
        return None if assigned is None else encode_memory(assigned, generation)

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[Member],
        replica_racks: ReplicaRacks = NO_REPLICA_RACKS,
    ) -> Assignment:
        return _share(partition_counts, members, replica_racks, lambda member: decode_memory(member.user_data))[0]


class CooperativeStickyAssignor:
    """Keeps reading what it has while the group rebalances; what moves is revoked now and reassigned a round later."""

    name = "cooperative-sticky"
    protocol = RebalanceProtocol.COOPERATIVE

    def user_data(self, assigned: Sequence[TopicPartition] | None, generation: int) -> bytes | None:
        return _INT32.pack(generation)

    def assign(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[Member],
        replica_racks: ReplicaRacks = NO_REPLICA_RACKS,
    ) -> Assignment:
        assignment, claims = _share(partition_counts, members, replica_racks, _cooperative_memory)
        held = _held_by_others(members, assignment, claims)
        return {
            member_id: [partition for partition in partitions if partition not in held]
            for member_id, partitions in assignment.items()
        }


def encode_memory(assigned: Sequence[TopicPartition], generation: int) -> bytes:
    """The user data of `sticky`."""
    topics: dict[str, list[int]] = {}
    for partition in assigned:
        topics.setdefault(partition.topic, []).append(partition.partition)
    parts = [_INT32.pack(len(topics))]
    for topic, numbers in topics.items():
        name = topic.encode()
        parts += (_INT16.pack(len(name)), name, struct.pack(f">i{len(numbers)}i", len(numbers), *numbers))
    parts.append(_INT32.pack(generation))
    return b"".join(parts)


def decode_memory(user_data: bytes | None) -> Memory:
    """Decode what `encode_memory` or an older client wrote; unreadable bytes give nothing, as in Java."""
    if not user_data:
        return Memory()
    try:
        return _read_memory(user_data)
    except (struct.error, UnicodeDecodeError, ValueError):
        return Memory()


def _read_memory(data: bytes) -> Memory:
    (topic_count,) = _INT32.unpack_from(data)
    position = 4
    partitions: list[TopicPartition] = []
    for _ in range(topic_count):
        (size,) = _INT16.unpack_from(data, position)
        topic = str(data[position + 2 : position + 2 + size], "utf-8")
        position += 2 + size
        (count,) = _INT32.unpack_from(data, position)
        if not 0 <= count <= len(data):
            raise ValueError("more partitions than bytes")
        numbers = struct.unpack_from(f">{count}i", data, position + 4)
        position += 4 + 4 * count
        partitions += (TopicPartition(topic, number) for number in numbers)
    generation = _INT32.unpack_from(data, position)[0] if len(data) - position >= 4 else None
    return Memory(partitions, generation)


def _cooperative_memory(member: Member) -> Memory:
    if member.generation != NO_GENERATION:
        return Memory(member.owned, member.generation)
    data = member.user_data
    return Memory(member.owned, _INT32.unpack_from(data)[0] if data is not None and len(data) >= 4 else None)


def _read_alike(members: Sequence[Member]) -> bool:
    return all(set(member.topics) == set(members[0].topics) for member in members)


def _share(
    partition_counts: Mapping[str, int],
    members: Sequence[Member],
    replica_racks: ReplicaRacks,
    memory_of: Callable[[Member], Memory],
) -> tuple[Assignment, Claims]:
    ordered = in_hash_order(members, lambda member: string_hash(member.member_id))
    subscribed = {topic for member in members for topic in member.topics}
    counts = {topic: count for topic, count in partition_counts.items() if topic in subscribed}
    claims = _claims(counts, ordered, memory_of)
    partitions = (TopicPartition(topic, number) for topic, count in counts.items() for number in range(count))
    racks = Racks(members, partitions, replica_racks)
    if not racks.matter:
        racks = NO_RACKS
    if _read_alike(members):
        return share_alike(counts, claims.owned, racks), claims
    topics = {member.member_id: member.topics for member in ordered}
    return share_mixed(counts, topics, claims.owned, claims.previous, racks), claims


def _held_by_others(members: Sequence[Member], assignment: Assignment, claims: Claims) -> set[TopicPartition]:
    """Partitions assigned to one member while another still owns them."""
    if _read_alike(members):
        owners = {partition: member_id for member_id, owned in claims.owned.items() for partition in owned}
        moved = {
            partition
            for member_id, partitions in assignment.items()
            for partition in partitions
            if owners.get(partition, member_id) != member_id
        }
        return moved | claims.contested
    given: set[TopicPartition] = set()
    taken: set[TopicPartition] = set()
    for member in members:
        given.update(set(assignment[member.member_id]) - set(member.owned))
        taken.update(set(member.owned) - set(assignment[member.member_id]))
    return given & taken


def _claims(
    partition_counts: Mapping[str, int], members: Sequence[Member], memory_of: Callable[[Member], Memory]
) -> Claims:
    claims = Claims()
    memories = {member.member_id: memory_of(member) for member in members}
    owners: dict[TopicPartition, str] = {}
    for member_id, memory in memories.items():
        owned = claims.owned.setdefault(member_id, [])
        for partition in memory.partitions:
            if partition.topic not in partition_counts:
                continue
            rival = owners.get(partition)
            if rival is None:
                owned.append(partition)
                owners[partition] = member_id
                continue
            ours, theirs = _generation(memory), _generation(memories[rival])
            if ours < theirs:
                continue
            if partition in claims.owned[rival]:
                claims.owned[rival].remove(partition)
            owners[partition] = member_id
            if ours == theirs:
                claims.contested.add(partition)
            else:
                owned.append(partition)
    claims.previous = _previous(memories)
    return claims


def _generation(memory: Memory) -> int:
    return NO_GENERATION if memory.generation is None else memory.generation


def _previous(memories: Mapping[str, Memory]) -> dict[TopicPartition, str]:
    """Owners in generations before the newest, the latest of them for each partition."""
    newest = max(map(_generation, memories.values()), default=NO_GENERATION)
    previous: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, memory in memories.items():
        generation = _generation(memory)
        if generation >= newest:
            continue
        for partition in memory.partitions:
            if partition not in previous or generation > previous[partition][0]:
                previous[partition] = generation, member_id
    return {partition: member_id for partition, (_, member_id) in previous.items()}
