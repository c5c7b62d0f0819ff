"""Control requests, taken apart per partition.

Role        Pure, except for yielding to other greenlets between partitions.
Source      Kafka 3.9 LeaderAndIsrRequest.partitionStates, StopReplicaRequest.partitionStates.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar
from uuid import UUID

from kafka_zk.giving_way import in_rounds
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from kafka_zk.protocol.types import NULL_UUID, TopicPartition

PARTITIONS_PER_TURN = 8
"""Leading one partition takes a tenth of a millisecond, with writing its leader epochs."""

log = logging.getLogger("state.change.logger")

T = TypeVar("T")


class ReplicaStop(NamedTuple):
    """One partition of a StopReplica. `leader_epoch` is -1 where the request's version has none."""

    topic_partition: TopicPartition
    leader_epoch: int
    delete: bool


def serving_others(partitions: Sequence[T]) -> Iterator[T]:
    """Blocks now and then: the partitions of a request, one after another."""
    return in_rounds(partitions, PARTITIONS_PER_TURN)


def asked_states(request: LeaderAndIsrRequest) -> Iterable[tuple[TopicPartition, UUID, LeaderAndIsrPartitionState]]:
    """The partitions of a request, whichever layout its version has."""
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield TopicPartition(topic.topic_name, state.partition_index), topic.topic_id, state
    for state in request.ungrouped_partition_states:
        yield TopicPartition(state.topic_name, state.partition_index), NULL_UUID, state


def tell(listener: Callable[[], None]) -> None:
    """Blocks if the listener does. The change stays, whatever error a listener raises."""
    try:
        listener()
    except Exception:
        # A bug in one coordinator; it must not keep the others from leading.
        log.exception("A listener for partition changes failed")
