"""The replica state machine: tells brokers to follow, stop or delete, and shrinks ISRs.

Role        Acts (ZooKeeper through the fenced store, the channels through the batch). In the controller greenlet.
Invariants  As the partition machine: context after ZooKeeper, requests after the context, illegal moves skipped.
Source      ZkReplicaStateMachine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kafka_zk.controller.decisions.context import (
    ControllerContext,
    Leadership,
    PartitionReplica,
    ReplicaState,
    replicas_by_broker,
)
from kafka_zk.controller.decisions.replica_states import (
    VALID_PREVIOUS,
    split_by_legality,
    state_at_startup,
    without_replica,
)
from kafka_zk.controller.decisions.requests import RequestBatch
from kafka_zk.controller.outbox import Outbox
from kafka_zk.controller.state_change_log import StateChangeLog
from kafka_zk.controller.store import FencedStore
from kafka_zk.giving_way import in_slices
from kafka_zk.protocol.types import TopicPartition


class ReplicaMachine:
    """Performs replica state changes during one controller epoch."""

    def __init__(self, context: ControllerContext, store: FencedStore, outbox: Outbox, log: StateChangeLog) -> None:
        self._context = context
        self._store = store
        self._outbox = outbox
        self._log = log

    def start(self) -> None:
        """Blocks. Initialize the replica states: Online for live replicas, Offline for the others."""
        online: list[PartitionReplica] = []
        offline: list[PartitionReplica] = []
        for replica in in_slices(self._context.replicas_of(self._context.all_partitions())):
            state = state_at_startup(self._context, replica)
            self._context.replica_states[replica] = state
            (online if state is ReplicaState.ONLINE else offline).append(replica)
        self.move(online, ReplicaState.ONLINE)
        self.move(offline, ReplicaState.OFFLINE)

    def move(self, replicas: Iterable[PartitionReplica], target: ReplicaState) -> None:
        """Blocks. Move `replicas` to `target`, in one batch of requests. Raises ControllerMoved."""
        with self._outbox.batch() as batch:
            for broker_id, of_broker in replicas_by_broker(replicas).items():
                legal, refused = split_by_legality(self._context, of_broker, target)
                for replica in refused:
                    expected = ",".join(state.value for state in VALID_PREVIOUS[target])
                    self._log.error(
                        f"Replica {broker_id} for partition {replica.partition} should be in one of the states "
                        f"{expected} before moving to {target.value}, but it is in "
                        f"{self._context.replica_states[replica].value}"
                    )
                self._perform(batch, broker_id, legal, target)

    def _perform(
        self, batch: RequestBatch, broker_id: int, replicas: list[PartitionReplica], target: ReplicaState
    ) -> None:
        if target is ReplicaState.OFFLINE:
            self._go_offline(batch, broker_id, replicas)
            return
        for replica in in_slices(replicas):
            if target is ReplicaState.NEW and not self._become_new(batch, replica):
                continue
            if target is ReplicaState.ONLINE:
                self._go_online(batch, replica)
            elif target is ReplicaState.DELETION_STARTED:
                batch.add_stop_replica([broker_id], replica.partition, delete=True)
            elif target is ReplicaState.NON_EXISTENT:
                assignment = self._context.assignment(replica.partition)
                self._context.set_assignment(replica.partition, assignment.without(broker_id))
            self._enter(replica, target)

    def _become_new(self, batch: RequestBatch, replica: PartitionReplica) -> bool:
        leadership = self._context.leadership.get(replica.partition)
        if leadership is None:
            return True
        if leadership.leader == replica.broker_id:
            self._log.error(
                f"Replica {replica.broker_id} for partition {replica.partition} cannot be moved to NewReplica state "
                "as it is being requested to become leader"
            )
            return False
        batch.add_leader_and_isr([replica.broker_id], replica.partition, leadership, is_new=True)
        return True

    def _go_online(self, batch: RequestBatch, replica: PartitionReplica) -> None:
        assignment = self._context.assignment(replica.partition)
        if self._context.replica_states[replica] is ReplicaState.NEW:
            if replica.broker_id not in assignment.replicas:
                added = (*assignment.replicas, replica.broker_id)
                self._context.set_assignment(replica.partition, replace(assignment, replicas=added))
            return
        leadership = self._context.leadership.get(replica.partition)
        if leadership is not None:
            batch.add_leader_and_isr([replica.broker_id], replica.partition, leadership, is_new=False)

    def _go_offline(self, batch: RequestBatch, broker_id: int, replicas: list[PartitionReplica]) -> None:
        for replica in in_slices(replicas):
            # Added before the ISR shrinks: the request carries the epoch the replica knows.
            batch.add_stop_replica([broker_id], replica.partition, delete=False)
        led = [r.partition for r in replicas if r.partition in self._context.leadership]
        shrunk = self._leave_isr(broker_id, led)
        for replica in in_slices(replicas):
            partition = replica.partition
            if partition not in self._context.leadership:
                batch.add_update_metadata(self._context.live_or_shutting_down_ids(), [partition])
            elif partition not in shrunk:
                continue
            elif partition.topic not in self._context.topics_to_delete:
                others = [r for r in self._context.assignment(partition).replicas if r != broker_id]
                batch.add_leader_and_isr(others, partition, shrunk[partition], is_new=False)
            self._enter(replica, ReplicaState.OFFLINE)

    def _leave_isr(self, broker_id: int, partitions: list[TopicPartition]) -> dict[TopicPartition, Leadership]:
        """Blocks. Take the broker out of the ISR of `partitions`; the state of each that is settled, changed or not."""
        settled: dict[TopicPartition, Leadership] = {}
        remaining = partitions
        while remaining:
            current = self._store.states(remaining)
            wanted: dict[TopicPartition, Leadership] = {}
            for partition in remaining:
                if partition not in current:
                    if partition.topic not in self._context.topics_to_delete:
                        self._log.error(
                            f"Failed to change state of replica {broker_id} for partition {partition}: "
                            "its state in ZooKeeper is missing"
                        )
                    continue
                state = replace(current[partition], controller_epoch=self._context.epoch)
                if current[partition].controller_epoch > self._context.epoch:
                    self._log.error(
                        f"Failed to change state of replica {broker_id} for partition {partition}: another controller "
                        f"with epoch {current[partition].controller_epoch} has written its state"
                    )
                elif (shrunk := without_replica(state, broker_id)) is None:
                    settled[partition] = self._context.leadership[partition] = state
                else:
                    wanted[partition] = shrunk
            outcome = self._store.update_states(wanted)
            settled.update(outcome.written)
            self._context.leadership.update(outcome.written)
            for partition, error in outcome.failed.items():
                self._log.error(f"Failed to change state of replica {broker_id} for partition {partition}: {error}")
            remaining = outcome.conflicts
        return settled

    def _enter(self, replica: PartitionReplica, target: ReplicaState) -> None:
        before = self._context.replica_states[replica]
        if target is ReplicaState.NON_EXISTENT:
            del self._context.replica_states[replica]
        else:
            self._context.replica_states[replica] = target
        self._log.debug(
            f"Changed state of replica {replica.broker_id} for partition {replica.partition} "
            f"from {before.value} to {target.value}"
        )
