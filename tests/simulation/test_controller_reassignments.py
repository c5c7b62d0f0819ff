"""Partitions moved to other replicas, over a model ZooKeeper."""

import pytest

from kafka_zk.controller import events
from kafka_zk.protocol.errors import ErrorCode
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


def only_the_added_replica_is_in_sync(cluster):
    """t moves from 2 to 3 and 1, and its leader 2 dies when 3 has caught up."""
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3, 1))
    alter_partition(cluster, [2, 3])
    cluster.crash(2)
    cluster.settle()
    assert (cluster.state("t").leader, cluster.state("t").isr) == (3, (3,))


@pytest.mark.parametrize("target", [None, (1,), (2, 1)], ids=str)
def test_no_other_wish_takes_the_only_replica_that_is_in_sync(cluster, target):
    """Apache stops and deletes it: what it alone has is lost, and nobody can ever lead."""
    only_the_added_replica_is_in_sync(cluster)
    before = cluster.state("t")
    assert start_move(cluster, target)[tp()].code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert cluster.state("t") == before
    assert cluster.brokers[3].hosted[tp()] == (3, before.leader_epoch)
    assert start_move(cluster, (3,)) == {tp(): None}
    assert (cluster.state("t").leader, cluster.assignment("t")) == (3, {0: (3,)})


def test_where_another_wish_takes_the_leader_somebody_else_in_sync_leads(cluster):
    """Apache leaves the partition without a leader, and the move without an end, until a broker dies or returns."""
    only_the_added_replica_is_in_sync(cluster)
    cluster.start(2)
    alter_partition(cluster, [3, 2], leader=3)
    assert start_move(cluster, (1,)) == {tp(): None}
    assert (cluster.state("t").leader, cluster.state("t").isr) == (2, (2,))
    assert cluster.brokers[3].hosted == {}
    alter_partition(cluster, [2, 1])
    assert (cluster.state("t").leader, cluster.assignment("t")) == (1, {0: (1,)})
    assert running(cluster) == {}


def shut_down(cluster, broker_id):
    event = events.ControlledShutdown(broker_id, cluster.brokers[broker_id].epoch)
    return outcome(cluster, cluster.controller.submit(event))


def test_a_leader_that_stops_in_the_middle_of_a_move_hands_over_and_the_move_goes_on(cluster):
    cluster.create_topic("t", {0: [2, 1]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (1, 3))
    assert shut_down(cluster, 2) == []
    assert (cluster.state("t").leader, cluster.state("t").isr) == (1, (1,))
    alter_partition(cluster, [1, 3], leader=1)
    assert (cluster.state("t").isr, cluster.assignment("t"), running(cluster)) == ((1, 3), {0: (1, 3)}, {})
    cluster.crash(2)
    cluster.start(2)
    assert cluster.brokers[2].hosted == {}, "it has nothing of it any more"


def test_a_leader_without_a_successor_stops_in_the_middle_of_a_move_and_goes_on_with_it_when_it_is_back(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    assert shut_down(cluster, 2) == [tp()], "it is told so, and gives up asking after a while"
    alter_partition(cluster, [2, 3])
    assert cluster.state("t").isr == (2,), "who stops is in no new ISR, be it the leader"
    cluster.crash(2)
    cluster.start(2)
    assert list(running(cluster)) == [tp()]
    alter_partition(cluster, [2, 3])
    assert (cluster.state("t").leader, cluster.state("t").isr, running(cluster)) == (3, (3,), {})


def test_a_replica_that_is_added_and_stops_in_order_joins_when_it_is_back(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    assert shut_down(cluster, 3) == []
    alter_partition(cluster, [2, 3])
    assert (cluster.state("t").isr, list(running(cluster))) == ((2,), [tp()]), "who stops is not taken in"
    cluster.crash(3)
    cluster.start(3)
    alter_partition(cluster, [2, 3])
    assert (cluster.state("t").leader, cluster.state("t").isr, running(cluster)) == (3, (3,), {})


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


def test_a_move_that_a_deletion_waits_for_ends_though_its_only_in_sync_replica_died(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    cluster.crash(2)
    cluster.settle()
    cluster.delete_topic("t")
    cluster.settle()
    cluster.start(2)
    assert cluster.state("t").leader == 2
    assert list(running(cluster)) == [tp()]
    alter_partition(cluster, [2, 3])
    assert_deleted(cluster)


def test_it_ends_also_under_a_controller_that_finds_both_under_way(cluster):
    cluster.create_topic("t", {0: [2]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (3,))
    cluster.crash(2)
    cluster.settle()
    assert cluster.state("t").leader == -1
    cluster.delete_topic("t")
    cluster.settle()
    cluster.crash(1)
    cluster.start_together(2)
    assert cluster.state("t").leader == 2
    alter_partition(cluster, [2, 3])
    cluster.start(1)
    assert_deleted(cluster)


def test_it_ends_also_when_the_leader_dies_after_the_deletion_was_asked_for(cluster):
    cluster.create_topic("t", {0: [2, 3]}, TOPIC_ID)
    cluster.settle()
    start_move(cluster, (1,))
    cluster.delete_topic("t")
    cluster.settle()
    cluster.crash(2)
    cluster.settle()
    assert cluster.state("t").leader == 3
    alter_partition(cluster, [3, 1], leader=3)
    cluster.start(2)
    assert_deleted(cluster)


def assert_deleted(cluster):
    assert running(cluster) == {}
    assert not cluster.exists("/brokers/topics/t")
    assert not cluster.exists("/admin/delete_topics/t")
    assert not any(broker.hosted for broker in cluster.brokers.values())


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
