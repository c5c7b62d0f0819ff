"""Partitions moved to other replicas, over a model ZooKeeper."""

from kafka_zk.controller import events
from kafka_zk.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_zk.protocol.messages.stop_replica import StopReplicaRequest
from kafka_zk.zk.errors import TooLarge
from kafka_zk.zk.operations import SetData
from kafka_zk.zk.znodes import PartitionReplicas, ReassignPartitionsZNode, TopicAssignment, TopicZNode
from tests.simulation.scenes import TOPIC_ID, alter_partition, outcome, partition_states, requests_since, start_move, tp


def running(cluster):
    return outcome(cluster, cluster.controller.submit(events.ListPartitionReassignments(None)))


def test_a_move_adds_waits_for_the_isr_and_removes(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    mark = len(cluster.sent)
    assert start_move(cluster, (3,)) == {tp(): None}
    assignment = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data)
    moving = assignment.partitions[0]
    assert (moving.replicas, moving.adding, moving.removing) == ((3, 2), (3,), (2,))
    assert assignment.topic_id == TOPIC_ID
    assert list(running(cluster)) == [tp()]
    told = {to: partition_states(r)[0].is_new for to, r in requests_since(cluster, mark, LeaderAndIsrRequest)}
    assert told == {2: False, 3: True}
    assert (cluster.state("t").leader_epoch, cluster.state("t").partition_epoch) == (1, 1)

    alter_partition(cluster, [2, 3])
    state = cluster.state("t")
    assert (state.leader, state.leader_epoch, state.isr, state.partition_epoch) == (3, 3, (3,), 4)
    done = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data).partitions[0]
    assert (done.replicas, done.adding, done.removing) == ((3,), (), ())
    assert running(cluster) == {}
    assert (cluster.brokers[2].hosted, cluster.brokers[3].hosted) == ({}, {tp(): (3, 3)})
    stops = [s for to, r in requests_since(cluster, mark, StopReplicaRequest) for s in partition_states(r)]
    assert [(state.leader_epoch, state.delete_partition) for state in stops] == [(2, False), (3, True)]


def test_a_move_can_be_cancelled(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    assert start_move(cluster, None) == {tp(): None}
    assert running(cluster) == {}
    assert cluster.brokers[3].hosted == {}
    assert cluster.state("t").isr == (2,)
    assert start_move(cluster, None)[tp()].code == 85


def test_a_new_controller_goes_on_with_a_move(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    cluster.crash(1)
    cluster.settle()
    assert list(running(cluster)) == [tp()]
    alter_partition(cluster, [2, 3])
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))


def test_the_old_tools_znode_starts_moves_and_vanishes_with_the_last_one(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    wish = ReassignPartitionsZNode.encode({tp(): (3,), tp("nope"): (1,)})
    cluster.zookeeper.ensure(ReassignPartitionsZNode.PATH, wish)
    cluster.settle()
    node = cluster.zookeeper.nodes[ReassignPartitionsZNode.PATH]
    assert ReassignPartitionsZNode.decode(node.data) == {tp(): (3,)}
    alter_partition(cluster, [2, 3])
    assert not cluster.exists(ReassignPartitionsZNode.PATH)


def test_a_topic_is_not_deleted_while_it_is_moved(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    cluster.delete_topic("t")
    cluster.settle()
    assert cluster.exists("/brokers/topics/t")


def test_partitions_that_are_added_while_a_move_is_written_stay(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    grown = TopicAssignment({0: PartitionReplicas((2,)), 1: PartitionReplicas((1,))}, TOPIC_ID)

    def grow_just_before(batch):
        if any(isinstance(o, SetData) and o.path == TopicZNode.path("t") for o in batch):
            cluster.zookeeper.cut = lambda batch: None
            cluster.zookeeper.apply(0, [SetData(TopicZNode.path("t"), TopicZNode.encode(grown))])

    cluster.zookeeper.cut = grow_just_before
    assert start_move(cluster, (3,)) == {tp(): None}
    found = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data).partitions
    assert (found[0].adding, found[1].replicas) == ((3,), (1,))
    assert cluster.state("t", 1).leader == 1


def test_a_move_whose_assignment_fits_no_znode_is_refused_and_the_others_start(cluster):
    cluster.create_topic("t", {index: [1, 2] for index in range(100)}, TOPIC_ID)
    cluster.create_topic("small", {0: [1]}, None)
    cluster.settle()
    before = cluster.zookeeper.nodes[TopicZNode.path("t")].data
    cluster.members[1].zk.max_request_bytes = len(before) + 300
    targets = {tp(partition=index): (2, 3) for index in range(100)} | {tp("small"): (3,)}
    results = outcome(cluster, cluster.controller.submit(events.ApiPartitionReassignment(targets)))
    refused = [partition for partition, error in results.items() if error is not None]
    assert {type(results[partition]) for partition in refused} == {TooLarge}
    assert 0 < len(refused) < 100
    assert results[tp("small")] is None
    assert set(running(cluster)) == targets.keys() - set(refused)
    written = TopicZNode.decode(cluster.zookeeper.nodes[TopicZNode.path("t")].data).partitions
    assert {tp(partition=index) for index, found in written.items() if not found.adding} == set(refused)
