"""An ISR change requested from the controller, and its result.

Source      AlterPartitionItem and AlterPartitionManager in Kafka 3.9.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from kafka_zk.protocol.types import TopicPartition


class IsrChange(NamedTuple):
    """An ISR that a leader asks the controller for. `partition_epoch`: the version of the state it is based on."""

    topic_partition: TopicPartition
    topic_id: UUID
    leader_epoch: int
    partition_epoch: int
    members: tuple[int, ...]


class CommittedIsr(NamedTuple):
    """The controller's answer to an IsrChange."""

    leader_epoch: int
    partition_epoch: int
    members: tuple[int, ...]
