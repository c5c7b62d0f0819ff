"""Which replicas move from where to where, and what is throttled meanwhile.

Role        Pure.
Source      ReassignPartitionsCommand: calculateProposedMoveMap, calculateLeaderThrottles, calculateFollowerThrottles,
            calculateReassigningBrokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_zk.client.admin.admin_results import PartitionReassignment
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.tools.common.java_output import JavaError
from kafka_zk.tools.reassign_partitions.plan_file import Assignment

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
TOPIC_THROTTLES = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


class Move(NamedTuple):
    """One partition: the brokers that have it, and those that get it."""

    sources: frozenset[int]
    destinations: frozenset[int]


Moves = dict[str, dict[int, Move]]
"""By topic and partition number."""


def proposed_moves(
    ongoing: Mapping[TopicPartition, PartitionReassignment], proposed: Assignment, current: Assignment
) -> Moves:
    """Everything that moves, once `proposed` is under way. Raises JavaError for a partition that nobody has."""
    moves: Moves = {}
    for partition, reassignment in ongoing.items():
        adding = frozenset(reassignment.adding_replicas)
        move = Move(frozenset(reassignment.replicas) - adding, adding)
        moves.setdefault(partition.topic, {})[partition.partition] = move
    for partition, replicas in proposed.items():
        of_topic = moves.setdefault(partition.topic, {})
        if partition.partition in of_topic:
            sources = of_topic[partition.partition].sources
        elif partition in current:
            sources = frozenset(current[partition])
        else:
            message = f"Trying to reassign a topic partition {partition} with 0 replicas"
            raise JavaError(message, "java.lang.RuntimeException")
        of_topic[partition.partition] = Move(sources, frozenset(replicas) - sources)
    return moves


def leader_throttles(moves: Moves) -> dict[str, str]:
    """The value of leader.replication.throttled.replicas by topic."""
    return {topic: _listed((index, move.sources) for index, move in of.items()) for topic, of in moves.items()}


def follower_throttles(moves: Moves) -> dict[str, str]:
    """The value of follower.replication.throttled.replicas by topic."""
    return {
        topic: _listed((index, move.destinations - move.sources) for index, move in of.items())
        for topic, of in moves.items()
    }


def _listed(brokers: Iterable[tuple[int, frozenset[int]]]) -> str:
    """Sorted as texts, as Apache's tool sorts them."""
    return ",".join(sorted(f"{index}:{broker}" for index, ids in brokers for broker in ids))


def moving_brokers(moves: Moves) -> list[int]:
    """All that send or receive."""
    every = (move for of_topic in moves.values() for move in of_topic.values())
    return sorted({broker_id for move in every for broker_id in move.sources | move.destinations})
