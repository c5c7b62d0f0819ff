"""ZooKeeper's reply lost with its connection: each write of the controllers once, before and after it was applied.

One history that holds every kind of write is lived without a cut, and then once for each of its writes and each kind of
cut. Nobody may be able to tell afterwards.
"""

import pytest

from kafka_zk.controller import events
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaRequest
from kafka_zk.zk.operations import Check, Create, Delete, SetData
from kafka_zk.zk.znodes import (
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PartitionReplicas,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicAssignment,
    TopicZNode,
)
from tests.simulation.fake_cluster import FakeCluster
from tests.simulation.model_zookeeper import Cut
from tests.simulation.scenes import TOPIC_ID, alter_partition, outcome, start_move, tp


class Cuts:
    """Cuts the connection under the write with this number; lists what each write was."""

    def __init__(self, at=None, kind=None):
        self.at, self.kind = at, kind
        self.writes = []

    def __call__(self, batch):
        self.writes.append([operation for operation in batch if not isinstance(operation, Check)])
        return self.kind if len(self.writes) - 1 == self.at else None


def operator(cluster, *operations):
    """Writes of another program, which nobody cuts."""
    results = cluster.zookeeper.apply(0, operations)
    cluster.settle()
    return results


def history(cuts):
    """(the cluster at its end, the controller's answers)."""
    cluster = FakeCluster([1, 2, 3], auto_leader_rebalance_enable=False)
    cluster.zookeeper.cut = cuts
    cluster.start()
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.create_topic("without-id", {0: [1], 1: [3]})
    cluster.settle()
    answers = [alter_partition(cluster, [2]).topics, alter_partition(cluster, [2, 3]).topics]
    for broker_id in (2, 3):
        block = events.AllocateProducerIds(broker_id, cluster.brokers[broker_id].epoch)
        answers.append(outcome(cluster, cluster.controller.submit(block)))

    cluster.crash(2)
    cluster.settle()
    cluster.start(2)
    answers.append(alter_partition(cluster, [3, 2], leader=3).topics)
    operator(cluster, Create(PreferredReplicaElectionZNode.PATH, PreferredReplicaElectionZNode.encode([tp()])))

    more = {0: PartitionReplicas((2, 3)), 1: PartitionReplicas((3, 1))}
    operator(cluster, SetData(TopicZNode.path("t"), TopicZNode.encode(TopicAssignment(more, TOPIC_ID))))
    answers.append(start_move(cluster, (2, 1)))
    answers.append(alter_partition(cluster, [2, 3, 1]).topics)
    answers.append(start_move(cluster, (3,), tp(partition=1)))
    answers.append(start_move(cluster, None, tp(partition=1)))
    moves = {tp(): (1, 3), tp("nope"): (1,)}
    operator(cluster, Create(ReassignPartitionsZNode.PATH, ReassignPartitionsZNode.encode(moves)))
    answers.append(alter_partition(cluster, [2, 1, 3]).topics)

    changed = IsrChangeNotificationZNode.encode([tp()])
    operator(cluster, Create(IsrChangeNotificationZNode.PREFIX, changed, sequential=True))
    cluster.brokers[3].failed_dirs.add(tp())
    failed = LogDirEventNotificationZNode.encode(3)
    operator(cluster, Create(LogDirEventNotificationZNode.PREFIX, failed, sequential=True))
    cluster.brokers[3].failed_dirs.clear()

    operator(cluster, Create("/admin/delete_topics/without-id"))
    operator(cluster, Create("/admin/delete_topics/nope"))
    shutdown = events.ControlledShutdown(1, cluster.brokers[1].epoch)
    answers.append(outcome(cluster, cluster.controller.submit(shutdown)))
    cluster.crash(1)
    cluster.settle()
    cluster.start(1)
    cluster.settle()
    return cluster, answers


def seen_from_outside(cluster, answers):
    znodes = {path: (node.data, node.version, bool(node.owner)) for path, node in cluster.zookeeper.nodes.items()}
    # Each broker has a channel of its own: which of two is served first depends on how busy the machine is.
    orders = [
        (broker_id, request)
        for broker_id, request in sorted(cluster.sent, key=lambda sent: sent[0])
        if isinstance(request, LeaderAndIsrRequest | StopReplicaRequest)
    ]
    # Copies: while the cluster stops, the last controllers still tell the brokers who has gone.
    brokers = {b.broker_id: (dict(b.hosted), dict(b.metadata), b.live_brokers) for b in cluster.brokers.values()}
    return {"znodes": znodes, "orders": orders, "brokers": brokers, "answers": str(answers)}


def lived(cuts):
    cluster, answers = history(cuts)
    try:
        return seen_from_outside(cluster, answers)
    finally:
        cluster.stop()


def without_epochs(seen):
    """A registration's zxid is the broker epoch: it moves with the number of writes before it."""
    return {key: value for key, value in seen.items() if key != "orders"} | {
        "orders": [(to, type(order).__name__, order.controller_epoch, states(order)) for to, order in seen["orders"]]
    }


def states(order):
    return [(topic.topic_name, str(topic.partition_states)) for topic in order.topic_states]


@pytest.fixture(scope="module")
def uncut():
    cuts = Cuts()
    return cuts, without_epochs(lived(cuts))


def test_the_history_holds_every_kind_of_write(uncut):
    cuts, _ = uncut
    kinds = {(type(operation), kind_of(operation.path)) for write in cuts.writes for operation in write}
    assert kinds >= {
        (Create, "/brokers/ids/N"),
        (SetData, "/brokers/ids/N"),
        (Create, "/controller"),
        (Create, "/controller_epoch"),
        (SetData, "/controller_epoch"),
        (Create, "/feature"),
        (SetData, "/latest_producer_id_block"),
        (Create, "/brokers/topics/T/partitions"),
        (Create, "/brokers/topics/T/partitions/N"),
        (Create, "/brokers/topics/T/partitions/N/state"),
        (SetData, "/brokers/topics/T/partitions/N/state"),
        (SetData, "/brokers/topics/T"),
        (Delete, "/brokers/topics/T/partitions/N/state"),
        (Delete, "/brokers/topics/T/partitions/N"),
        (Delete, "/brokers/topics/T/partitions"),
        (Delete, "/brokers/topics/T"),
        (Delete, "/config/topics/T"),
        (Delete, "/admin/delete_topics/T"),
        (SetData, "/admin/reassign_partitions"),
        (Delete, "/admin/reassign_partitions"),
        (Delete, "/admin/preferred_replica_election"),
        (Delete, "/isr_change_notification/N"),
        (Delete, "/log_dir_event_notification/N"),
    }


def kind_of(path):
    steps = []
    for step in path.split("/"):
        if step.isdecimal() or step.startswith(("isr_change_0", "log_dir_event_0")):
            steps.append("N")
        elif steps[-1:] in (["topics"], ["delete_topics"]):
            steps.append("T")
        else:
            steps.append(step)
    return "/".join(steps)


@pytest.mark.parametrize("kind", Cut, ids=lambda kind: kind.value)
def test_no_write_of_the_controller_tells_that_its_reply_was_lost(uncut, kind):
    cuts, expected = uncut
    for at, write in enumerate(cuts.writes):
        found = without_epochs(lived(Cuts(at, kind)))
        for what, value in expected.items():
            assert found[what] == value, f"{what} differ after a cut {kind.value} write {at} was applied: {write}"
