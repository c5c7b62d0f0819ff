"""Random lives of a cluster, each from a seed: brokers die and return, sessions expire, topics come, move and go.

Replay one with `pytest tests/simulation/test_controller_chaos.py -k "seed12"` (the seed is in the test's name).
"""

import random
import uuid

import gevent
import pytest

from kafka_zk.controller import events
from kafka_zk.protocol.types import TopicPartition
from kafka_zk.zk.operations import Delete, SetData
from kafka_zk.zk.znodes import TopicPartitionStateZNode
from tests.simulation.fake_cluster import FakeCluster
from tests.simulation.scenes import alter_partition

STEPS = 25
BROKERS = [1, 2, 3, 4]


class Life:
    """One random history."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.cluster = FakeCluster(BROKERS, switch=self._maybe_switch, auto_leader_rebalance_enable=False)
        self.topics = {}
        self.deleted = set()
        self.outlived_a_session = set()

    def _maybe_switch(self):
        """ZooKeeper and brokers answer at any time: others may run before, or not."""
        for _ in range(self.random.choice((0, 0, 1, 3))):
            gevent.sleep(0)

    def run(self):
        self.cluster.start_together(*BROKERS)
        for _ in range(STEPS):
            self.random.choice(
                (
                    *(self.crash, self.restart, self.expire, self.create, self.create, self.delete, self.depose),
                    *(self.move, self.catch_up),
                )
            )()
            if self.random.random() < 0.5:
                self.cluster.settle()
        for broker_id in BROKERS:
            if broker_id not in self.cluster.members:
                self.cluster.start_together(broker_id)
        self.cluster.settle()
        # A request may have died with its broker's connection: the retry pause is over now.
        self.cluster.clock.advance(1_000)
        self.cluster.settle()
        self.catch_up()
        self.cluster.settle()

    def crash(self):
        if len(self.cluster.members) > 1:
            broker_id = self.random.choice(sorted(self.cluster.members))
            self.outlived_a_session.discard(broker_id)
            self.cluster.crash(broker_id)

    def restart(self):
        down = sorted(set(BROKERS) - set(self.cluster.members))
        if down:
            self.cluster.start_together(self.random.choice(down))

    def expire(self):
        broker_id = self.random.choice(sorted(self.cluster.members))
        self.outlived_a_session.add(broker_id)
        self.cluster.members[broker_id].zk.expire()

    def depose(self):
        """An operator deletes /controller."""
        if self.cluster.exists("/controller"):
            self.cluster.zookeeper.nodes["/controller"].owner = 0
            self.cluster.zookeeper.client().delete("/controller")

    def create(self):
        name = f"topic-{len(self.topics)}"
        self.topics[name] = {
            index: self.random.sample(BROKERS, self.random.randint(1, 3)) for index in range(self.random.randint(1, 3))
        }
        self.cluster.create_topic(name, self.topics[name], uuid.UUID(int=len(self.topics) + 100))

    def delete(self):
        if self.topics:
            name = self.random.choice(sorted(self.topics))
            if name not in self.deleted:
                self.deleted.add(name)
                self.cluster.delete_topic(name)

    def move(self):
        """An operator moves a partition to other replicas."""
        living = sorted(self.topics.keys() - self.deleted)
        active = [member.controller for member in self.cluster.members.values() if member.controller.is_active]
        if living and active:
            topic = self.random.choice(living)
            partition = TopicPartition(topic, self.random.choice(sorted(self.topics[topic])))
            target = self.random.sample(BROKERS, self.random.randint(1, 3))
            active[0].submit(events.ApiPartitionReassignment({partition: tuple(target)}))

    def catch_up(self):
        """Each leader that lives takes every live replica into its ISR."""
        self.cluster.settle()
        for topic in sorted(self.topics):
            for index in sorted(self.topics[topic]):
                replicas = self.cluster.assignment(topic).get(index)
                if replicas is None or not self.cluster.exists(
                    TopicPartitionStateZNode.path(TopicPartition(topic, index))
                ):
                    continue
                leader = self.cluster.state(topic, index).leader
                if leader in self.cluster.members:
                    isr = [member for member in replicas if member in self.cluster.members]
                    topic_id = uuid.UUID(int=list(self.topics).index(topic) + 101)
                    alter_partition(self.cluster, isr, leader=leader, topic=topic, index=index, topic_id=topic_id)


@pytest.fixture(params=range(40), ids=lambda seed: f"seed{seed}")
def life(request):
    made = Life(request.param)
    made.run()
    yield made
    made.cluster.stop()


def test_after_any_history_the_cluster_is_whole_again(life):
    cluster = life.cluster
    assert cluster.controller.controller_epoch == int(cluster.zookeeper.nodes["/controller_epoch"].data)
    for topic in life.topics:
        if topic in life.deleted:
            for path in (f"/brokers/topics/{topic}", f"/admin/delete_topics/{topic}", f"/config/topics/{topic}"):
                assert not cluster.exists(path)
            continue
        for index, replicas in cluster.assignment(topic).items():
            state = cluster.state(topic, index)
            assert state.leader in state.isr, (topic, index, state)
            for broker_id in replicas:
                known = cluster.brokers[broker_id].hosted[(topic, index)]
                assert known == (state.leader, state.leader_epoch), (topic, index, broker_id)
    hosted = {partition.topic for broker in cluster.brokers.values() for partition in broker.hosted}
    assert not hosted & life.deleted
    for broker in cluster.brokers.values():
        assert broker.live_brokers == BROKERS
        shown = {topic_partition.topic for topic_partition in broker.metadata}
        if broker.broker_id in life.outlived_a_session:
            # Nobody can tell a broker of a topic whose deletion was completed while it was out of the cluster.
            shown -= life.deleted
        assert shown == life.topics.keys() - life.deleted

    assert_epochs_only_grow(cluster)


def assert_epochs_only_grow(cluster):
    """No partition ever had two states under one leader epoch with different leaders, and no epoch went back."""
    last = {}
    for write in cluster.zookeeper.writes:
        if not write.path.endswith("/state"):
            continue
        if isinstance(write, Delete):
            last.pop(write.path, None)
            continue
        found = TopicPartitionStateZNode.decode(write.data, None, TopicPartition("", 0))
        before = last.get(write.path)
        if before is not None and isinstance(write, SetData):
            assert found.leader_epoch >= before.leader_epoch
            assert found.controller_epoch >= before.controller_epoch
            if found.leader_epoch == before.leader_epoch:
                assert found.leader == before.leader
        last[write.path] = found
