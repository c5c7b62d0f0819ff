"""One topic whose znodes nobody may write or read, and all the others, which it must not hold up."""

import uuid

import pytest

from kafka_zk.controller import events
from kafka_zk.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from kafka_zk.zk.znodes import (
    BrokerIdZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicPartitionStateZNode,
    TopicZNode,
)
from tests.simulation.scenes import alter_partition, outcome, start_move, tp

STUCK_ID, WELL_ID = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture
def two_topics(cluster):
    """`stuck` comes first in every order."""
    cluster.create_topic("stuck", {0: [2]}, STUCK_ID)
    cluster.create_topic("well", {0: [2]}, WELL_ID)
    cluster.settle()
    return cluster


def new_controller(cluster):
    cluster.crash(1)
    cluster.settle()
    cluster.clock.advance(5_000)
    cluster.settle()


def caught_up(cluster, topic):
    """The ISR as the leader writes it, without a word to the controller."""
    node = cluster.zookeeper.nodes[TopicPartitionStateZNode.path(tp(topic))]
    assert b'"isr":[2]' in node.data
    node.data = node.data.replace(b'"isr":[2]', b'"isr":[2,3]')


def stuck_move(cluster):
    """Both move from 2 to 3 and have caught up; one may not be written any more."""
    for topic in ("stuck", "well"):
        assert start_move(cluster, (3,), tp(topic)) == {tp(topic): None}
        caught_up(cluster, topic)
    cluster.zookeeper.forbidden.add(TopicZNode.path("stuck"))


def test_a_move_that_cannot_be_written_prevents_no_failover_and_no_other_move(two_topics):
    stuck_move(two_topics)
    new_controller(two_topics)
    assert two_topics.controller.is_active
    assert two_topics.assignment("well") == {0: (3,)}


def test_a_move_that_cannot_be_written_does_not_hide_a_broker_that_starts(two_topics):
    stuck_move(two_topics)
    two_topics.crash(3)
    two_topics.settle()
    for topic in ("stuck", "well"):
        caught_up(two_topics, topic)
    two_topics.start(3)
    assert two_topics.assignment("well") == {0: (3,)}
    two_topics.create_topic("next", {0: [3]}, uuid.UUID(int=3))
    two_topics.settle()
    assert two_topics.brokers[3].hosted[tp("next")] == (3, 0)


def test_a_move_that_cannot_be_written_does_not_hold_up_those_told_of_with_it(two_topics):
    for topic in ("stuck", "well"):
        assert start_move(two_topics, (3,), tp(topic)) == {tp(topic): None}
    two_topics.zookeeper.forbidden.add(TopicZNode.path("stuck"))
    states = {topic: two_topics.state(topic) for topic in ("stuck", "well")}
    request = AlterPartitionRequest(
        broker_id=2,
        broker_epoch=two_topics.brokers[2].epoch,
        topics=[
            RequestTopicData(
                topic_id=topic_id,
                partitions=[
                    RequestPartitionData(
                        partition_index=0,
                        leader_epoch=states[topic].leader_epoch,
                        new_isr_with_epochs=[BrokerState(broker_id=2), BrokerState(broker_id=3)],
                        partition_epoch=states[topic].partition_epoch,
                    )
                ],
            )
            for topic, topic_id in (("stuck", STUCK_ID), ("well", WELL_ID))
        ],
    )
    outcome(two_topics, two_topics.controller.submit(events.AlterPartitionReceived(request, 3)))
    assert two_topics.assignment("well") == {0: (3,)}


def test_a_move_that_could_not_be_written_ends_once_it_can(two_topics):
    stuck_move(two_topics)
    new_controller(two_topics)
    two_topics.zookeeper.forbidden.clear()
    two_topics.crash(3)
    two_topics.settle()
    two_topics.start(3)
    assert two_topics.assignment("stuck") == {0: (3,)}


def test_a_list_of_moves_that_cannot_be_written_holds_up_no_move(two_topics):
    wish = ReassignPartitionsZNode.encode({tp("stuck"): (3,)})
    two_topics.zookeeper.ensure(ReassignPartitionsZNode.PATH, wish)
    two_topics.settle()
    two_topics.zookeeper.forbidden.add(ReassignPartitionsZNode.PATH)
    assert start_move(two_topics, (3,), tp("well")) == {tp("well"): None}
    assert start_move(two_topics, (1,), tp("stuck")) == {tp("stuck"): None}
    alter_partition(two_topics, [2, 1], topic="stuck", topic_id=STUCK_ID)
    assert two_topics.assignment("stuck") == {0: (1,)}
    assert two_topics.brokers[3].metadata[tp("stuck")][0] == 1, "everybody has heard of it"


def test_a_topic_that_cannot_be_removed_holds_up_no_other_deletion(two_topics):
    two_topics.zookeeper.forbidden.add(TopicZNode.path("stuck"))
    for topic in ("stuck", "well"):
        two_topics.zookeeper.ensure(f"/admin/delete_topics/{topic}")
    two_topics.settle()
    assert two_topics.assignment("well") == {}
    two_topics.create_topic("next", {0: [3]}, uuid.UUID(int=3))
    new_controller(two_topics)
    two_topics.delete_topic("next")
    two_topics.settle()
    assert two_topics.assignment("next") == {}
    assert two_topics.assignment("stuck"), "it is still there"
    two_topics.zookeeper.forbidden.clear()
    two_topics.create_topic("last", {0: [3]}, uuid.UUID(int=4))
    two_topics.delete_topic("last")
    two_topics.settle()
    assert two_topics.assignment("stuck") == {}


def test_a_wish_for_elections_that_cannot_be_removed_prevents_no_failover(two_topics):
    two_topics.crash(1)
    wish = PreferredReplicaElectionZNode.encode([tp("well")])
    two_topics.zookeeper.ensure(PreferredReplicaElectionZNode.PATH, wish)
    two_topics.zookeeper.forbidden.add(PreferredReplicaElectionZNode.PATH)
    two_topics.settle()
    assert two_topics.controller.is_active


def test_a_topic_that_cannot_be_given_an_id_prevents_no_failover(cluster):
    for broker_id in (1, 2, 3):
        cluster.crash(broker_id)
    cluster.create_topic("stuck", {0: [2]})
    cluster.create_topic("well", {0: [2]})
    cluster.zookeeper.forbidden.add(TopicZNode.path("stuck"))
    cluster.start(2)
    assert cluster.controller.is_active
    assert cluster.brokers[2].hosted.keys() == {tp("stuck"), tp("well")}


@pytest.mark.parametrize("path", [TopicZNode.path("stuck"), TopicPartitionStateZNode.path(tp("stuck"))])
def test_a_znode_that_cannot_be_read_counts_as_missing(two_topics, path):
    two_topics.zookeeper.hidden.add(path)
    new_controller(two_topics)
    assert two_topics.controller.is_active
    two_topics.create_topic("next", {0: [3]}, uuid.UUID(int=3))
    two_topics.settle()
    assert two_topics.state("next").leader == 3


def test_a_registration_that_nobody_can_be_told_of_prevents_no_failover(two_topics):
    odd = b'{"version":5,"jmx_port":-1,"timestamp":"1","endpoints":["ODD://h:1"]}'
    two_topics.zookeeper.ensure(BrokerIdZNode.path(7), odd)
    two_topics.settle()
    new_controller(two_topics)
    assert two_topics.controller.is_active
    two_topics.create_topic("next", {0: [3]}, uuid.UUID(int=3))
    two_topics.settle()
    assert two_topics.brokers[3].hosted[tp("next")] == (3, 0)
