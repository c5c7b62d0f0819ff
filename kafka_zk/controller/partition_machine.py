"""The partition state machine: writes leadership to ZooKeeper and collects requests for brokers.

Role        Acts (ZooKeeper through the fenced store, the channels through the batch). In the controller greenlet.
Invariants  The context changes only after ZooKeeper accepted the write, and before anything is sent. An illegal move is
            logged and skipped; it never stops the legal ones beside it.
Source      ZkPartitionStateMachine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kafka_zk.controller.decisions.context import ControllerContext, Leadership, PartitionState, described
from kafka_zk.controller.decisions.election import Strategy, elect
from kafka_zk.controller.decisions.partition_states import (
    VALID_PREVIOUS,
    first_leadership,
    split_by_legality,
    state_at_startup,
)
from kafka_zk.controller.decisions.requests import RequestBatch
from kafka_zk.controller.errors import StateChangeFailed
from kafka_zk.controller.outbox import Outbox
from kafka_zk.controller.state_change_log import StateChangeLog
from kafka_zk.controller.store import FencedStore
from kafka_zk.giving_way import in_slices
from kafka_zk.protocol.errors import BrokerError
from kafka_zk.protocol.types import TopicPartition

ElectionResults = dict[TopicPartition, int | BrokerError]
"""The leader elected, or why there is none."""


class PartitionMachine:
    """Performs partition state changes during one controller epoch."""

    def __init__(
        self,
        context: ControllerContext,
        store: FencedStore,
        outbox: Outbox,
        log: StateChangeLog,
        *,
        unclean_by_default: bool,
        has_leader_recovery: bool,
    ) -> None:
        self._context = context
        self._store = store
        self._outbox = outbox
        self._log = log
        self.unclean_by_default = unclean_by_default
        self._has_leader_recovery = has_leader_recovery
        self.waits_for_members = False
        """No election is unclean while it is so: members of ISRs that count as dead are alive, and about to join."""

    def start(self) -> None:
        """Blocks. Initialize the state of every partition, then try to bring all online."""
        for partition in in_slices(self._context.all_partitions()):
            self._context.partition_states[partition] = state_at_startup(self._context, partition)
        self.bring_online()

    def bring_online(self, topic: str | None = None) -> None:
        """Blocks. Try to find leaders for the New and Offline partitions (of `topic`) that need one."""
        waiting = self._context.partitions_in_states(PartitionState.OFFLINE, PartitionState.NEW)
        self.move(
            [
                topic_partition
                for topic_partition in waiting
                if self._context.needs_a_leader(topic_partition) and (topic is None or topic_partition.topic == topic)
            ],
            PartitionState.ONLINE,
            Strategy.OFFLINE,
        )

    def move(
        self, partitions: Iterable[TopicPartition], target: PartitionState, strategy: Strategy = Strategy.OFFLINE
    ) -> ElectionResults:
        """Blocks. Move `partitions` to `target`; `strategy` matters only for Online. Returns the election results.

        Raises ControllerMoved.
        """
        with self._outbox.batch() as batch:
            legal, refused = split_by_legality(self._context, partitions, target)
            for partition in refused:
                expected = ",".join(state.value for state in VALID_PREVIOUS[target])
                self._log.error(
                    f"Failed to change state for partition {partition} from "
                    f"{self._context.partition_states[partition].value} to {target.value}: it should be in one of "
                    f"the states {expected} before moving"
                )
            if target is PartitionState.ONLINE:
                return self._move_online(batch, legal, strategy)
            for partition in in_slices(legal):
                self._enter(partition, target)
        return {}

    def _move_online(
        self, batch: RequestBatch, partitions: list[TopicPartition], strategy: Strategy
    ) -> ElectionResults:
        states = self._context.partition_states
        new = [topic_partition for topic_partition in partitions if states[topic_partition] is PartitionState.NEW]
        remaining = [
            topic_partition for topic_partition in partitions if states[topic_partition] is not PartitionState.NEW
        ]
        results: ElectionResults = {}
        self._initialize(batch, new)
        while remaining:
            # A version conflict means the ISR changed meanwhile; the election is repeated on the current state.
            remaining = self._elect(batch, remaining, strategy, results)
        return results

    def _initialize(self, batch: RequestBatch, partitions: list[TopicPartition]) -> None:
        """Create the state znodes of new partitions and tell their live replicas."""
        first = {}
        for partition in in_slices(partitions):
            leadership = first_leadership(self._context, partition)
            if leadership is None:
                assigned = ",".join(map(str, self._context.assignment(partition).replicas))
                live = ",".join(map(str, self._context.live_broker_ids()))
                self._log.error(
                    f"Failed to change state of partition {partition} from New to Online: assigned replicas are "
                    f"[{assigned}], live brokers are [{live}]. No assigned replica is alive."
                )
            else:
                first[partition] = leadership
        for partition, error in in_slices(self._store.create_states(first).items()):
            if error is not None:
                self._log.error(f"Failed to create the state of partition {partition}: {error}")
                continue
            self._context.leadership[partition] = first[partition]
            batch.add_leader_and_isr(first[partition].isr, partition, first[partition], is_new=True)
            self._enter(partition, PartitionState.ONLINE)

    def _elect(
        self, batch: RequestBatch, partitions: list[TopicPartition], strategy: Strategy, results: ElectionResults
    ) -> list[TopicPartition]:
        """One round; returns the partitions whose write met a newer version."""
        states = self._store.states(partitions)
        unclean = self._unclean_topics(states, strategy)
        elections = {}
        for partition in in_slices(partitions):
            current = states.get(partition)
            if current is None:
                results[partition] = self._failed(partition, "since its state in ZooKeeper is missing")
            elif current.controller_epoch > self._context.epoch:
                results[partition] = self._failed(
                    partition, f"since another controller with epoch {current.controller_epoch} has written its state"
                )
            else:
                election = elect(
                    self._context,
                    partition,
                    current,
                    strategy,
                    unclean_allowed=partition.topic in unclean,
                    has_leader_recovery=self._has_leader_recovery,
                )
                if election.leadership is None:
                    results[partition] = self._failed(partition, f"under strategy {strategy.value}")
                else:
                    elected = replace(election.leadership, controller_epoch=self._context.epoch)
                    elections[partition] = replace(election, leadership=elected)
        outcome = self._store.update_states(
            {
                topic_partition: election.leadership
                for topic_partition, election in elections.items()
                if election.leadership is not None
            }
        )
        for partition, leadership in in_slices(outcome.written.items()):
            self._context.leadership[partition] = leadership
            batch.add_leader_and_isr(elections[partition].recipients, partition, leadership, is_new=False)
            results[partition] = leadership.leader
            if elections[partition].is_unclean:
                self._outbox.on_unclean_election()
                self._log.warning(
                    f"Unclean leader election of {leadership.leader} for partition {partition}: "
                    f"no member of its ISR {list(states[partition].isr)} is alive. There's potential data loss."
                )
            self._enter(partition, PartitionState.ONLINE)
        for partition, error in outcome.failed.items():
            results[partition] = self._failed(partition, f"since its state was not written: {error}")
        return outcome.conflicts

    def _unclean_topics(self, states: Mapping[TopicPartition, Leadership], strategy: Strategy) -> set[str]:
        """Topics that allow unclean elections. Configurations are read only where no member of the ISR is online."""
        if strategy is not Strategy.OFFLINE or self.waits_for_members:
            return set()
        dead = {
            topic_partition.topic
            for topic_partition, state in states.items()
            if not any(self._context.is_replica_online(member, topic_partition) for member in state.isr)
        }
        return self._store.topics_allowing_unclean(sorted(dead), default=self.unclean_by_default)

    def _failed(self, partition: TopicPartition, reason: str) -> StateChangeFailed:
        error = StateChangeFailed(f"Failed to elect leader for partition {partition} {reason}")
        self._log.error(str(error))
        return error

    def _enter(self, partition: TopicPartition, target: PartitionState) -> None:
        before = self._context.partition_states[partition]
        self._context.partition_states[partition] = target
        if target is PartitionState.NON_EXISTENT:
            del self._context.partition_states[partition]
        detail = ""
        if target is PartitionState.NEW:
            detail = f" with assigned replicas {','.join(map(str, self._context.assignment(partition).replicas))}"
        elif target is PartitionState.ONLINE:
            detail = f" with state {described(self._context.leadership[partition])}"
        self._log.info(f"Changed partition {partition} state from {before.value} to {target.value}{detail}")
