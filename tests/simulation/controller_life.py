"""One random history of a cluster's controllers: everything that brokers, operators and ZooKeeper may do to them.

Unlike the histories of test_controller_chaos its leaders change their ISRs, its partitions move between brokers and get
more, its directories fail, its brokers stop in order, and replies of ZooKeeper are lost with their connections.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import gevent

from kafka_zk.controller import events
from kafka_zk.controller.decisions.context import Leadership, PartitionState
from kafka_zk.network.pending import Pending
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.supervision import unexpected_errors
from kafka_zk.zk.operations import Create, Operation, SetData
from kafka_zk.zk.znodes import (
    LogDirEventNotificationZNode,
    PartitionReplicas,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicZNode,
)
from tests.simulation.fake_cluster import FakeCluster, Member
from tests.simulation.model_zookeeper import Cut

STEPS = 30
BROKERS = (1, 2, 3, 4)
NAMES = ("a", "b", "c")
"""Few, so that a topic often comes again under the name of a deleted one."""
ROUNDS_OF_REST = 12


class ControllerLife:
    """One random history."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.cluster = FakeCluster(list(BROKERS), switch=self._maybe_switch, auto_leader_rebalance_enable=False)
        self.cluster.zookeeper.cut = self._maybe_cut
        self.is_troubled = True
        self.told: list[str] = []
        self._made = 0
        self._waited_for: list[tuple[str, Member, Pending[Any]]] = []

    def go(self) -> None:
        """Live, and check. Raises AssertionError."""
        caught_before = unexpected_errors.total()
        try:
            self._go()
        finally:
            self.cluster.stop()
        assert unexpected_errors.total() == caught_before, self.describe(f"caught: {unexpected_errors}")

    def _go(self) -> None:
        self.cluster.start_together(*BROKERS)
        steps: list[Callable[[], None]] = [
            *[self.crash] * 2,
            *[self.restart] * 3,
            self.expire,
            *[self.create] * 3,
            self.delete,
            self.depose,
            *[self.change_isr] * 6,
            *[self.reassign] * 3,
            self.cancel,
            self.add_partitions,
            self.stop_in_order,
            self.elect_preferred,
            self.fail_directory,
        ]
        for _ in range(STEPS):
            self.chance.choice(steps)()
            if self.chance.random() < 0.5:
                self.cluster.settle()
        self.come_to_rest()
        self.check()

    def _maybe_switch(self) -> None:
        """ZooKeeper and brokers answer at any time: others may run before, or not."""
        for _ in range(self.chance.choice((0, 0, 1, 3))):
            gevent.sleep(0)

    def _maybe_cut(self, batch: Sequence[Operation]) -> Cut | None:
        if not self.is_troubled or self.chance.random() > 0.03:
            return None
        return self.chance.choice(tuple(Cut))

    # --- what may happen -------------------------------------------------------------------------------------------

    def crash(self) -> None:
        if len(self.cluster.members) > 1:
            broker_id = self.chance.choice(sorted(self.cluster.members))
            self._tell(f"crash {broker_id}")
            self._crash(broker_id)

    def _crash(self, broker_id: int) -> None:
        self.cluster.crash(broker_id)
        self.cluster.brokers[broker_id].failed_dirs.clear()

    def restart(self) -> None:
        down = sorted(set(BROKERS) - set(self.cluster.members))
        if down:
            broker_id = self.chance.choice(down)
            self._tell(f"start {broker_id}")
            self.cluster.start_together(broker_id)

    def expire(self) -> None:
        broker_id = self.chance.choice(sorted(self.cluster.members))
        self._tell(f"expire {broker_id}")
        self.cluster.members[broker_id].zk.expire()

    def depose(self) -> None:
        """An operator deletes /controller."""
        if self.cluster.exists("/controller"):
            self._tell("depose")
            self.cluster.zookeeper.nodes["/controller"].owner = 0
            self.cluster.zookeeper.client().delete("/controller")

    def create(self) -> None:
        name = self.chance.choice(NAMES)
        if self._assignment(name) is not None:
            return
        self._made += 1
        partitions = {index: self._some_brokers() for index in range(self.chance.randint(1, 2))}
        self._tell(f"create {name} {partitions}")
        self.cluster.create_topic(name, partitions, uuid.UUID(int=self._made + 100))

    def _some_brokers(self) -> list[int]:
        return self.chance.sample(BROKERS, self.chance.randint(1, 3))

    def delete(self) -> None:
        name = self.chance.choice(NAMES)
        if self._assignment(name) is not None:
            self._tell(f"delete {name}")
            self.cluster.delete_topic(name)

    def add_partitions(self) -> None:
        """As an older broker does: it writes the topic's znode as it read it, with one partition more."""
        name = self.chance.choice(NAMES)
        found = self._assignment(name)
        if found is not None:
            more = {**found.partitions, len(found.partitions): PartitionReplicas(tuple(self._some_brokers()))}
            self._tell(f"more partitions of {name}")
            wanted = TopicZNode.encode(TopicAssignment(more, found.topic_id))
            self.cluster.zookeeper.apply(0, [SetData(TopicZNode.path(name), wanted)])

    def reassign(self) -> None:
        partition = self._some_partition()
        if partition is not None:
            self._ask_to_move(partition, tuple(self._some_brokers()))

    def cancel(self) -> None:
        partition = self._some_partition()
        if partition is not None:
            self._ask_to_move(partition, None)

    def _ask_to_move(self, partition: TopicPartition, target: tuple[int, ...] | None) -> None:
        self._ask(f"move {partition} to {target}", events.ApiPartitionReassignment({partition: target}))

    def elect_preferred(self) -> None:
        self._ask("preferred election", events.ReplicaLeaderElection(None, events.ElectionType.PREFERRED))

    def stop_in_order(self) -> None:
        """A controlled shutdown; the broker may be gone before, or never go."""
        broker_id = self.chance.choice(sorted(self.cluster.members))
        self._ask(f"stop {broker_id}", events.ControlledShutdown(broker_id, self.cluster.brokers[broker_id].epoch))
        if self.chance.random() < 0.5:
            self.cluster.settle()
        if len(self.cluster.members) > 1:
            self._crash(broker_id)

    def fail_directory(self) -> None:
        """Some replicas of a broker are lost until it starts again."""
        broker_id = self.chance.choice(sorted(self.cluster.members))
        broker = self.cluster.brokers[broker_id]
        lost = {partition for partition in sorted(broker.hosted) if self.chance.random() < 0.5}
        if lost:
            self._tell(f"directory of {sorted(lost)} fails on {broker_id}")
            broker.failed_dirs |= lost
            event = Create(
                LogDirEventNotificationZNode.PREFIX, LogDirEventNotificationZNode.encode(broker_id), sequential=True
            )
            self.cluster.zookeeper.apply(0, [event])

    def change_isr(self) -> None:
        partition = self._some_partition()
        if partition is not None:
            self._propose(partition, everybody=self.chance.random() < 0.6)

    def _propose(self, partition: TopicPartition, *, everybody: bool) -> None:
        """What the leader asks for: itself and (some of) the replicas that follow it in its epoch."""
        state, found = self._state(partition), self._assignment(partition.topic)
        if state is None or found is None or found.topic_id is None:
            return
        leader = self.cluster.brokers.get(state.leader)
        known = (state.leader, state.leader_epoch)
        if leader is None or not leader.is_up or leader.hosted.get(partition) != known:
            return
        if partition in leader.failed_dirs:
            return
        replicas = [each for each in found.partitions[partition.partition].replicas if each != state.leader]
        following = [
            each
            for each in replicas
            if self.cluster.brokers[each].is_up
            and self.cluster.brokers[each].hosted.get(partition) == known
            and partition not in self.cluster.brokers[each].failed_dirs
        ]
        if not everybody:
            following = [each for each in following if self.chance.random() < 0.5]
        data = RequestPartitionData(
            partition_index=partition.partition,
            leader_epoch=state.leader_epoch,
            new_isr_with_epochs=[BrokerState(broker_id=each) for each in (state.leader, *following)],
            partition_epoch=state.partition_epoch,
        )
        request = AlterPartitionRequest(
            broker_id=state.leader,
            broker_epoch=leader.epoch,
            topics=[RequestTopicData(topic_id=found.topic_id, partitions=[data])],
        )
        self._ask(f"isr of {partition}: {state.leader}, {following}", events.AlterPartitionReceived(request, 3))

    def _ask(self, what: str, event: events.Event) -> None:
        active = [each for each in self.cluster.members.values() if each.controller.is_active]
        if active:
            self._tell(what)
            self._waited_for.append((what, active[0], active[0].controller.submit(event)))

    def _tell(self, what: str) -> None:
        self.told.append(what)

    # --- what is there -----------------------------------------------------------------------------------------------

    def _assignment(self, topic: str) -> TopicAssignment | None:
        node = self.cluster.zookeeper.nodes.get(TopicZNode.path(topic))
        return None if node is None else TopicZNode.decode(node.data, node.stat(), topic)

    def _partitions(self) -> list[TopicPartition]:
        found = {name: self._assignment(name) for name in NAMES}
        return [TopicPartition(name, index) for name, topic in found.items() if topic for index in topic.partitions]

    def _some_partition(self) -> TopicPartition | None:
        partitions = self._partitions()
        return self.chance.choice(partitions) if partitions else None

    def _state(self, partition: TopicPartition) -> Leadership | None:
        node = self.cluster.zookeeper.nodes.get(TopicPartitionStateZNode.path(partition))
        return None if node is None else TopicPartitionStateZNode.decode(node.data, node.stat(), partition)

    # --- at rest -----------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Everything works again, and leaders take back whoever follows them."""
        self.cluster.settle()
        self.is_troubled = False
        self._tell("at rest")
        for broker_id in BROKERS:
            if broker_id in self.cluster.members and (
                self.cluster.brokers[broker_id].failed_dirs or self._is_leaving(broker_id)
            ):
                self._crash(broker_id)
                self.cluster.settle()
            if broker_id not in self.cluster.members:
                self.cluster.start_together(broker_id)
                self.cluster.settle()
        for _ in range(ROUNDS_OF_REST):
            # A request may have died with its broker's connection: the retry pause is over now.
            self.cluster.clock.advance(1_000)
            self.cluster.settle()
            for partition in self._partitions():
                self._propose(partition, everybody=True)
                self.cluster.settle()

    def _is_leaving(self, broker_id: int) -> bool:
        return broker_id in self.cluster.controller.active_controller.context.shutting_down

    def check(self) -> None:
        cluster, context = self.cluster, self.cluster.controller.active_controller.context
        assert cluster.zookeeper.nodes["/admin/delete_topics"].children == set(), self.describe("deletions")
        for what, asked, pending in self._waited_for:
            assert pending.is_done or asked not in cluster.members.values(), self.describe(f"no answer: {what}")
        hosted: dict[int, dict[TopicPartition, tuple[int, int]]] = {broker_id: {} for broker_id in BROKERS}
        for partition in self._partitions():
            state, topic = self._state(partition), self._assignment(partition.topic)
            assert state is not None and topic is not None, self.describe(f"{partition} has no state")
            replicas = topic.partitions[partition.partition]
            assert not replicas.adding and not replicas.removing, self.describe(f"{partition} moves: {replicas}")
            assert state.leader in state.isr, self.describe(f"{partition}: {state}")
            assert set(state.isr) == set(replicas.replicas), self.describe(f"{partition}: {state}, {replicas}")
            assert context.leadership[partition] == state, self.describe(f"{partition}: {state}")
            assert context.partition_states[partition] is PartitionState.ONLINE, self.describe(f"{partition}")
            assert context.assignment(partition).replicas == replicas.replicas, self.describe(f"{partition}")
            for broker_id in replicas.replicas:
                hosted[broker_id][partition] = (state.leader, state.leader_epoch)
        assert not context.being_reassigned and not context.topics_to_delete, self.describe("context")
        for broker_id, expected in hosted.items():
            broker = cluster.brokers[broker_id]
            # More may be there: nobody waits for the answer of a replica that a move leaves behind, as in Kafka.
            assert expected.items() <= broker.hosted.items(), self.describe(
                f"{broker_id} hosts {broker.hosted}, not {expected}"
            )
            assert broker.live_brokers == list(BROKERS), self.describe(f"{broker_id} knows {broker.live_brokers}")

    def describe(self, what: str) -> str:
        states = {partition: self._state(partition) for partition in self._partitions()}
        return "\n".join([what, *self.told, repr(states), repr([self._assignment(name) for name in NAMES])])
