"""Sends ISR changes to the controller.

Role        Collects leaders' proposals and sends them as AlterPartition, one request in flight for the whole broker.
Invariants  At most one change per partition waits here. A change is removed when the controller answers it by name: one
            that an answer leaves out is sent again. It is also removed when the leadership that proposed it is over.
            Whatever the response, the next request is sent.
Source      Kafka 3.9 DefaultAlterPartitionManager; KIP-497. The broker epochs of the members are -1 with ZooKeeper.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, Protocol
from uuid import UUID

from kafka_zk.clock import Clock
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.errors import (
    BrokerError,
    ErrorCode,
    OperationNotAttempted,
    code_of,
    error_class_for,
)
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.protocol.types import NULL_UUID, TopicPartition
from kafka_zk.replication.leading.isr_change import CommittedIsr, IsrChange
from kafka_zk.replication.leading.isr_proposals import advance_and_wake, is_still_proposed, take_answer
from kafka_zk.replication.partition import Partition
from kafka_zk.supervision import caught

RETRY_MS = 50

log = logging.getLogger("kafka.server.DefaultAlterPartitionManager")


class ControllerRequests(Protocol):
    """What is used of metadata.controller_channel.ControllerChannel."""

    def send(self, request: Any) -> Pending[Any]: ...


class IsrChanges:
    """`broker_epoch` gives the epoch of this broker's registration at the time of asking."""

    def __init__(
        self, *, broker_id: int, broker_epoch: Callable[[], int], controller: ControllerRequests, clock: Clock
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._controller = controller
        self._clock = clock
        self._waiting: dict[TopicPartition, tuple[Partition, IsrChange]] = {}
        self._in_flight = False

    def submit(self, partition: Partition, change: IsrChange) -> None:
        """Send `change` as soon as possible. If an earlier change of the partition is pending, this one fails."""
        if change.topic_partition in self._waiting:
            take_answer(partition, change, OperationNotAttempted())
            return
        self._waiting[change.topic_partition] = (partition, change)
        self._send()

    def _send(self) -> None:
        if self._in_flight:
            return
        # Sent again for a topic that was recreated meanwhile, a change could be taken for one of the new topic: a
        # controller before version 2 knows names only, and the epochs of a new topic begin again.
        self._waiting = {key: each for key, each in self._waiting.items() if is_still_proposed(*each)}
        if not self._waiting:
            return
        self._in_flight = True
        sent = [change for _, change in self._waiting.values()]
        request = alter_partition_request(sent, broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        self._controller.send(request).on_complete(lambda settled: self._answered(sent, settled))

    def _answered(self, sent: list[IsrChange], settled: Pending[Any]) -> None:
        code = ErrorCode.UNKNOWN_SERVER_ERROR if settled.error is not None else code_of(settled.value.error_code)
        if code is not ErrorCode.NONE:
            log.warning("Broker %d could not alter partitions: %s", self._broker_id, settled.error or code.name)
            self._clock.call_at(self._clock.monotonic_ms() + RETRY_MS, self._retry)
            for partition, _ in list(self._waiting.values()):
                advance_and_wake(partition)
            return
        answers = answers_by_partition(settled.value)
        answered: list[tuple[Partition, IsrChange, CommittedIsr | BrokerError]] = []
        for change in sent:
            answer = answers.get((change.topic_id, change.topic_partition.partition))
            if answer is None:
                # Before version 2 topics have their names only.
                answer = answers.get((change.topic_partition.topic, change.topic_partition.partition))
            if answer is not None:
                partition, _ = self._waiting.pop(change.topic_partition)
                answered.append((partition, change, answer))
        self._in_flight = False
        for partition, change, answer in answered:
            try:
                take_answer(partition, change, answer)
            except Exception:
                # A bug of ours with one partition: the others' changes are committed all the same.
                caught("AlterPartitionManager", str(change.topic_partition))
        if answered:
            self._send()
        elif self._waiting:
            # An answer that names none of them: asking again at once would never end.
            self._clock.call_at(self._clock.monotonic_ms() + RETRY_MS, self._send)

    def _retry(self) -> None:
        self._in_flight = False
        self._send()


def alter_partition_request(
    changes: Iterable[IsrChange], *, broker_id: int, broker_epoch: int
) -> AlterPartitionRequest:
    """One request for many changes, in the form of version 3 (Apache 3.5 and later), with names and ids.

    metadata/request_forms.py makes older forms of it.
    Differs from Kafka, which sends all changes of one name under the id of the first: a change for a deleted topic that
    still waits would be made to the next topic of its name, whose epochs begin again.
    """
    ordered = sorted(changes, key=lambda change: (_topic_of(change), change.topic_partition.partition))
    topics = [
        RequestTopicData(
            topic_name=topic,
            topic_id=topic_id,
            partitions=[
                RequestPartitionData(
                    partition_index=change.topic_partition.partition,
                    leader_epoch=change.leader_epoch,
                    new_isr_with_epochs=[BrokerState(broker_id=member, broker_epoch=-1) for member in change.members],
                    partition_epoch=change.partition_epoch,
                )
                for change in group
            ],
        )
        for (topic, topic_id), group in groupby(ordered, key=_topic_of)
    ]
    return AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=topics)


def _topic_of(change: IsrChange) -> tuple[str, UUID]:
    return change.topic_partition.topic, change.topic_id


def answers_by_partition(response: AlterPartitionResponse) -> dict[tuple[object, int], CommittedIsr | BrokerError]:
    """What the controller answered, by topic id (or name, where the version knows no ids) and partition."""
    answers: dict[tuple[object, int], CommittedIsr | BrokerError] = {}
    for topic in response.topics:
        key: object = topic.topic_id if topic.topic_id != NULL_UUID else topic.topic_name
        for answered in topic.partitions:
            answers[key, answered.partition_index] = (
                CommittedIsr(answered.leader_epoch, answered.partition_epoch, tuple(answered.isr))
                if answered.error_code == ErrorCode.NONE
                else error_class_for(answered.error_code)()
            )
    return answers
