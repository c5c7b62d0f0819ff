"""Which brokers get the replicas of a new partition.

Role        Pure. Chance comes in as two numbers, `start_index` and `shift`.
Invariants  Every partition gets `replication_factor` different brokers, its preferred leader first; leaders are
            spread evenly; with racks, no rack holds a second replica while another has none.
Source      AdminUtils.assignReplicasToBrokers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from kafka_zk.protocol.errors import BrokerError, ErrorCode, InvalidPartitions, InvalidReplicationFactor

Assignment = dict[int, list[int]]
"""Partition index -> broker ids, the preferred leader first."""


@dataclass(frozen=True, slots=True)
class BrokerRack:
    """A broker that can host replicas, and its rack (None: unknown)."""

    broker_id: int
    rack: str | None = None


class InconsistentRacks(BrokerError):
    """Some brokers have a rack and others do not, so spreading over racks has no meaning."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


def assign_replicas(
    brokers: Sequence[BrokerRack],
    *,
    partition_count: int,
    replication_factor: int,
    start_index: int,
    shift: int,
    first_partition: int = 0,
) -> Assignment:
    """Replicas for partitions `first_partition` .. `first_partition + partition_count - 1`.

    `start_index` and `shift` lie in [0, number of brokers). Raises InvalidPartitions, InvalidReplicationFactor and
    InconsistentRacks.
    """
    if partition_count <= 0:
        raise InvalidPartitions("Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise InvalidReplicationFactor("Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactor(
            f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}."
        )
    racks = {broker.broker_id: broker.rack for broker in brokers if broker.rack is not None}
    if racks and len(racks) < len(brokers):
        raise InconsistentRacks("Not all brokers have rack information for replica rack aware assignment.")
    order = _rack_by_rack(racks) if racks else sorted(broker.broker_id for broker in brokers)
    assignment: Assignment = {}
    for partition in range(first_partition, first_partition + partition_count):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        leader_index = (partition + start_index) % len(order)
        if racks:
            followers = _followers_over_racks(order, racks, leader_index, replication_factor - 1, shift)
        else:
            followers = [_follower(order, leader_index, shift + j) for j in range(replication_factor - 1)]
        assignment[partition] = [order[leader_index], *followers]
    return assignment


def assign_more_replicas(brokers: Sequence[BrokerRack], existing: Assignment, total_count: int) -> Assignment:
    """Replicas for the partitions added to `existing` up to `total_count`, continuing the pattern of partition 0.

    Raises as `assign_replicas`. Source: AdminZkClient.createNewPartitionsAssignment.
    """
    first_leader = existing[0][0]
    broker_ids = sorted(broker.broker_id for broker in brokers)
    start_index = next((index for index, broker_id in enumerate(broker_ids) if broker_id >= first_leader), 0)
    return assign_replicas(
        brokers,
        partition_count=total_count - len(existing),
        replication_factor=len(existing[0]),
        start_index=start_index,
        shift=start_index,
        first_partition=len(existing),
    )


def _follower(order: Sequence[int], leader_index: int, step: int) -> int:
    """The broker `step` places (never zero) after the leader, going round."""
    return order[(leader_index + 1 + step % (len(order) - 1)) % len(order)]


def _followers_over_racks(
    order: Sequence[int], racks: Mapping[int, str], leader_index: int, count: int, shift: int
) -> list[int]:
    rack_count = len(set(racks.values()))
    chosen = [order[leader_index]]
    step = shift * rack_count
    while len(chosen) <= count:
        broker = _follower(order, leader_index, step)
        step += 1
        used_racks = {racks[other] for other in chosen}
        rack_is_spent = racks[broker] in used_racks and len(used_racks) < rack_count
        broker_is_spent = broker in chosen and len(chosen) < len(order)
        if not rack_is_spent and not broker_is_spent:
            chosen.append(broker)
    return chosen[1:]


def _rack_by_rack(racks: Mapping[int, str]) -> list[int]:
    """One broker of each rack in turn: racks by name, brokers by id."""
    by_rack = [sorted(b for b, r in racks.items() if r == rack) for rack in sorted(set(racks.values()))]
    return [broker for turn in zip_longest(*by_rack) for broker in turn if broker is not None]
