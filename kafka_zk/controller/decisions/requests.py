"""Collects LeaderAndIsr, UpdateMetadata and StopReplica requests per broker for one batch of state changes.

Role        Pure. A batch is filled by the state machines, turned into requests once, and dropped.
Invariants  At most one request of a kind per broker (StopReplica before version 3: one per delete flag). All
            LeaderAndIsr come before all UpdateMetadata, and these before all StopReplica: a broker must know a new
            leader's address and epoch before it is told to stop.
            What was added as new, or to be deleted, stays so when the same partition is added again.
Source      AbstractControllerBrokerRequestBatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kafka_zk.controller.decisions.context import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_EPOCH,
    ControllerContext,
    Leadership,
)
from kafka_zk.controller.decisions.request_content import leader_and_isr, stop_replica, update_metadata
from kafka_zk.controller.decisions.shared_body import SharedBody
from kafka_zk.controller.decisions.versions import RequestVersions
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState, LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaPartitionState, StopReplicaRequest
from kafka_zk.protocol.messages.update_metadata import UpdateMetadataPartitionState, UpdateMetadataRequest
from kafka_zk.protocol.types import TopicPartition

ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


@dataclass(frozen=True, slots=True)
class BrokerRequest:
    """One request for one broker. `deleted` are the partitions a StopReplica deletes as part of a topic deletion.

    `shared` encodes it together with those of other brokers.
    """

    broker_id: int
    api_version: int
    request: ControlRequest
    deleted: frozenset[TopicPartition] = frozenset()
    shared: SharedBody | None = None

    def body(self) -> bytes | None:
        """Its bytes, None where it is to be encoded by itself."""
        return None if self.shared is None else self.shared.encoded_for(self.request.broker_epoch)


class RequestBatch:
    """Collects state changes; `requests()` returns the resulting requests in sending order."""

    def __init__(
        self, controller_id: int, context: ControllerContext, versions: RequestVersions, listener: str
    ) -> None:
        self._controller_id = controller_id
        self._context = context
        self._versions = versions
        self._listener = listener
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrPartitionState]] = {}
        self._stop_replica: dict[int, dict[TopicPartition, StopReplicaPartitionState]] = {}
        self._metadata_brokers: set[int] = set()
        self._metadata: dict[TopicPartition, UpdateMetadataPartitionState] = {}

    def add_leader_and_isr(
        self, broker_ids: Iterable[int], partition: TopicPartition, state: Leadership, *, is_new: bool
    ) -> None:
        """Send the leadership to `broker_ids`; all live brokers get the partition's metadata, too."""
        assignment = self._context.assignment(partition)
        # One object for all brokers: those that are told the same are found by it.
        told: dict[bool, LeaderAndIsrPartitionState] = {}
        for broker_id in broker_ids:
            if broker_id < 0:
                continue
            states = self._leader_and_isr.setdefault(broker_id, {})
            before = states.get(partition)
            told_new = is_new or (before is not None and before.is_new)
            if told_new not in told:
                told[told_new] = LeaderAndIsrPartitionState(
                    topic_name=partition.topic,
                    partition_index=partition.partition,
                    controller_epoch=state.controller_epoch,
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    isr=list(state.isr),
                    partition_epoch=state.partition_epoch,
                    replicas=list(assignment.replicas),
                    adding_replicas=list(assignment.adding),
                    removing_replicas=list(assignment.removing),
                    is_new=told_new,
                    leader_recovery_state=state.recovery_state if self._versions.leader_and_isr >= 6 else 0,
                )
            states[partition] = told[told_new]
        self.add_update_metadata(self._context.live_or_shutting_down_ids(), [partition])

    def add_update_metadata(self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]) -> None:
        """Send the broker list to `broker_ids`, with the state of those of `partitions` that have leadership."""
        self._metadata_brokers.update(broker_id for broker_id in broker_ids if broker_id >= 0)
        for partition in partitions:
            state = self._context.leadership.get(partition)
            if state is not None:
                self._metadata[partition] = self._metadata_state(partition, state)

    def add_stop_replica(self, broker_ids: Iterable[int], partition: TopicPartition, *, delete: bool) -> None:
        state = self._context.leadership.get(partition)
        if partition.topic in self._context.topics_to_delete:
            # A late StopReplica must not hit the topic's next life: brokers know this epoch for what it is (KIP-570).
            leader_epoch = EPOCH_DURING_DELETE
        else:
            leader_epoch = NO_EPOCH if state is None else state.leader_epoch
        for broker_id in broker_ids:
            if broker_id < 0:
                continue
            states = self._stop_replica.setdefault(broker_id, {})
            before = states.get(partition)
            states[partition] = StopReplicaPartitionState(
                partition_index=partition.partition,
                leader_epoch=leader_epoch,
                delete_partition=delete or (before is not None and before.delete_partition),
            )

    def requests(self) -> list[BrokerRequest]:
        """All requests in sending order; brokers that are not (or no longer) alive get none."""
        alive = self._context.brokers
        sender = _Sender(self._controller_id, self._context, self._versions, self._listener)
        built: list[BrokerRequest] = []
        for told, broker_ids in _told_alike((b, s) for b, s in self._leader_and_isr.items() if b in alive):
            built += sender.leader_and_isr(broker_ids, told)
        built += sender.update_metadata([b for b in sorted(self._metadata_brokers) if b in alive], self._metadata)
        for broker_id, states in self._stop_replica.items():
            if broker_id in alive:
                built += sender.stop_replicas(broker_id, states)
        return built

    def _metadata_state(self, partition: TopicPartition, state: Leadership) -> UpdateMetadataPartitionState:
        if partition.topic in self._context.topics_to_delete:
            # Leader -2 makes brokers drop the partition from their metadata.
            state = replace(state, leader=LEADER_DURING_DELETE, leader_epoch=0, partition_epoch=0)
        replicas = self._context.assignment(partition).replicas
        return UpdateMetadataPartitionState(
            topic_name=partition.topic,
            partition_index=partition.partition,
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            zk_version=state.partition_epoch,
            replicas=list(replicas),
            offline_replicas=[r for r in replicas if not self._context.is_replica_online(r, partition)],
        )


@dataclass(frozen=True, slots=True)
class _Sender:
    """Wraps gathered states into the request of one broker, carrying that broker's epoch."""

    controller_id: int
    context: ControllerContext
    versions: RequestVersions
    listener: str

    def leader_and_isr(
        self, broker_ids: Sequence[int], states: dict[TopicPartition, LeaderAndIsrPartitionState]
    ) -> list[BrokerRequest]:
        """The same for each of the brokers."""
        version = self.versions.leader_and_isr
        request = leader_and_isr(self.controller_id, self.context, NO_EPOCH, states, self.listener, version)
        return self._to_each(broker_ids, SharedBody(request, version), version)

    def update_metadata(
        self, broker_ids: Sequence[int], states: dict[TopicPartition, UpdateMetadataPartitionState]
    ) -> list[BrokerRequest]:
        """The same for each of the brokers."""
        version = self.versions.update_metadata
        request = update_metadata(self.controller_id, self.context, NO_EPOCH, states, version)
        return self._to_each(broker_ids, SharedBody(request, version), version)

    def _to_each(self, broker_ids: Sequence[int], body: SharedBody, version: int) -> list[BrokerRequest]:
        epochs = [(broker_id, self.context.brokers[broker_id].epoch) for broker_id in broker_ids]
        return [
            BrokerRequest(broker_id, version, body.for_epoch(broker_epoch), shared=body)
            for broker_id, broker_epoch in epochs
        ]

    def stop_replicas(
        self, broker_id: int, states: dict[TopicPartition, StopReplicaPartitionState]
    ) -> list[BrokerRequest]:
        version = self.versions.stop_replica
        if version >= 3:
            groups = [states]
        else:
            # The delete flag was one of the whole request.
            groups = [
                {topic_partition: s for topic_partition, s in states.items() if s.delete_partition is flag}
                for flag in (False, True)
            ]
        started = self.context.topics_with_deletion_started
        return [
            BrokerRequest(
                broker_id,
                version,
                stop_replica(self.controller_id, self.context, self.context.brokers[broker_id].epoch, group, version),
                frozenset(
                    topic_partition
                    for topic_partition, s in group.items()
                    if s.delete_partition and topic_partition.topic in started
                ),
            )
            for group in groups
            if group
        ]


def _told_alike(
    states_of: Iterable[tuple[int, dict[TopicPartition, LeaderAndIsrPartitionState]]],
) -> Iterator[tuple[dict[TopicPartition, LeaderAndIsrPartitionState], list[int]]]:
    """Brokers that are told the same states in the same order, together, in the order of the first of them."""
    alike: dict[tuple[int, ...], tuple[dict[TopicPartition, LeaderAndIsrPartitionState], list[int]]] = {}
    for broker_id, states in states_of:
        _, broker_ids = alike.setdefault(tuple(map(id, states.values())), (states, []))
        broker_ids.append(broker_id)
    yield from alike.values()
